// The CUDA driver API, resolved at run time: nothing links against libcuda, so the library loads on any machine.
//
//   const Driver &cuda = driver();              // throws IKBO_NO_DEVICE, "no CUDA driver: ..." where there is none
//   check(cuda.MemAlloc(&pointer, bytes), "allocating %zu bytes", bytes);
//
// Every entry point is asked for with the version whose prototype cuda.h declares under that name, so a newer driver
// cannot hand out one with other parameters.
#pragma once

#include <cuda.h>

#include <string>

namespace ikbo {

// name, version of the prototype (major * 1000 + minor * 10) that is requested from cuGetProcAddress, C symbol
#define IKBO_CUDA_FUNCTIONS(X)                                                                                         \
    X(Init, 2000, cuInit)                                                                                              \
    X(DriverGetVersion, 2020, cuDriverGetVersion)                                                                      \
    X(GetErrorName, 6000, cuGetErrorName)                                                                              \
    X(GetErrorString, 6000, cuGetErrorString)                                                                          \
    X(DeviceGetCount, 2000, cuDeviceGetCount)                                                                          \
    X(DeviceGet, 2000, cuDeviceGet)                                                                                    \
    X(DeviceGetPCIBusId, 4010, cuDeviceGetPCIBusId)                                                                    \
    X(DeviceGetName, 2000, cuDeviceGetName)                                                                            \
    X(DeviceGetAttribute, 2000, cuDeviceGetAttribute)                                                                  \
    X(DeviceTotalMem, 3020, cuDeviceTotalMem_v2)                                                                       \
    X(DevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain)                                                          \
    X(DevicePrimaryCtxRelease, 11000, cuDevicePrimaryCtxRelease_v2)                                                    \
    X(CtxGetCurrent, 4000, cuCtxGetCurrent)                                                                            \
    X(CtxGetDevice, 2000, cuCtxGetDevice)                                                                              \
    X(CtxPushCurrent, 4000, cuCtxPushCurrent_v2)                                                                       \
    X(CtxPopCurrent, 4000, cuCtxPopCurrent_v2)                                                                         \
    X(MemAlloc, 3020, cuMemAlloc_v2)                                                                                   \
    X(MemFree, 3020, cuMemFree_v2)                                                                                     \
    X(MemHostAlloc, 2020, cuMemHostAlloc)                                                                              \
    X(MemFreeHost, 2000, cuMemFreeHost)                                                                                \
    X(MemcpyHtoD, 3020, cuMemcpyHtoD_v2)                                                                               \
    X(MemcpyDtoH, 3020, cuMemcpyDtoH_v2)                                                                               \
    X(MemcpyDtoDAsync, 3020, cuMemcpyDtoDAsync_v2)                                                                     \
    X(MemsetD8Async, 3020, cuMemsetD8Async)                                                                            \
    X(StreamCreate, 2000, cuStreamCreate)                                                                              \
    X(StreamDestroy, 4000, cuStreamDestroy_v2)                                                                         \
    X(StreamSynchronize, 2000, cuStreamSynchronize)                                                                    \
    X(PointerGetAttributes, 7000, cuPointerGetAttributes)                                                              \
    X(StreamGetCtx, 9020, cuStreamGetCtx)                                                                              \
    X(StreamIsCapturing, 10000, cuStreamIsCapturing)                                                                   \
    X(StreamBeginCapture, 10010, cuStreamBeginCapture_v2)                                                              \
    X(StreamEndCapture, 10000, cuStreamEndCapture)                                                                     \
    X(EventCreate, 2000, cuEventCreate)                                                                                \
    X(EventDestroy, 4000, cuEventDestroy_v2)                                                                           \
    X(EventRecordWithFlags, 11010, cuEventRecordWithFlags)                                                             \
    X(EventRecord, 2000, cuEventRecord)                                                                                \
    X(EventElapsedTime, 2000, cuEventElapsedTime)                                                                      \
    X(GraphInstantiate, 11040, cuGraphInstantiateWithFlags)                                                            \
    X(GraphLaunch, 10000, cuGraphLaunch)                                                                               \
    X(GraphExecDestroy, 10000, cuGraphExecDestroy)                                                                     \
    X(GraphDestroy, 10000, cuGraphDestroy)                                                                             \
    X(ModuleLoadData, 2000, cuModuleLoadData)                                                                          \
    X(ModuleUnload, 2000, cuModuleUnload)                                                                              \
    X(ModuleGetFunction, 2000, cuModuleGetFunction)                                                                    \
    X(FuncSetAttribute, 9000, cuFuncSetAttribute)                                                                      \
    X(FuncGetAttribute, 2020, cuFuncGetAttribute)                                                                      \
    X(LaunchKernelEx, 11060, cuLaunchKernelEx)                                                                         \
    X(OccupancyMaxActiveClusters, 11070, cuOccupancyMaxActiveClusters)                                                 \
    X(TensorMapEncodeTiled, 12000, cuTensorMapEncodeTiled)

struct Driver {
#define IKBO_CUDA_MEMBER(name, version, symbol) decltype(&::symbol) name = nullptr;
    IKBO_CUDA_FUNCTIONS(IKBO_CUDA_MEMBER)
#undef IKBO_CUDA_MEMBER
    int version = 0; // 13000 for CUDA 13.0
};

// Loads and initializes the driver once. Throws Error IKBO_NO_DEVICE with the reason.
const Driver &driver();

// Throws Error with what was attempted and the driver's own name and words for the failure.
__attribute__((format(printf, 2, 3))) void check(CUresult result, const char *doing, ...);

// Makes a device's primary context current for a scope; costs nothing to speak of where it is already, as it is for callers of
// PyTorch, which shares it.
class CurrentContext {
  public:
    explicit CurrentContext(CUcontext context);
    ~CurrentContext();
    CurrentContext(const CurrentContext &) = delete;
    CurrentContext &operator=(const CurrentContext &) = delete;

  private:
    bool pushed_;
};

} // namespace ikbo
