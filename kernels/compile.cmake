# Compiles one .cu file to an image (cubin or fatbin) and refuses code that would run slowly without saying so:
#   cmake -DNVCC=nvcc -DSOURCE=x.cu -DOUTPUT=x.fatbin "-DTARGETS=90a" [-DDEFINES=IKBO_SPIN_LIMIT=1000000] -P compile.cmake
# TARGETS: 90a gives Hopper's own machine code; 80 also embeds PTX, which newer drivers compile for newer cards.
# The compiler's resource report lands beside the output (.log). Spilled registers and serialized wgmma (C75xx) are errors.
set(flags -std=c++20 -O3 -fatbin -I${CMAKE_CURRENT_LIST_DIR}/cuda -Werror all-warnings -Xptxas -v -Xfatbin -compress-all)
foreach(target IN LISTS TARGETS)
  if(target STREQUAL "80")
    list(APPEND flags -gencode=arch=compute_80,code=[sm_80,compute_80])
  else()
    list(APPEND flags -gencode=arch=compute_${target},code=sm_${target})
  endif()
endforeach()
foreach(define IN LISTS DEFINES)
  list(APPEND flags -D${define})
endforeach()

execute_process(COMMAND ${NVCC} ${flags} ${SOURCE} -o ${OUTPUT} RESULT_VARIABLE result OUTPUT_VARIABLE report ERROR_VARIABLE report)
file(WRITE ${OUTPUT}.log "${report}")
if(NOT result EQUAL 0)
  message(FATAL_ERROR "${SOURCE} does not compile:\n${report}")
endif()
string(REGEX MATCHALL "[^\n]*(C75[0-9][0-9]|[1-9][0-9]* bytes spill)[^\n]*" faults "${report}")
if(faults AND NOT DEFINES)  # instrumented builds may spill
  file(REMOVE ${OUTPUT})
  list(JOIN faults "\n  " faults)
  message(FATAL_ERROR "${SOURCE}: spilled registers or serialized wgmma (full report in ${OUTPUT}.log):\n  ${faults}")
endif()
