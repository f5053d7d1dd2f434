// Stands in for the CUDA backend in a build without nvcc: tells a missing driver from missing kernels.
#include <dlfcn.h>

#include "backend.h"
#include "error.h"

namespace ikbo {

int32_t cuda_device_count(std::string &why) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) {
        why = "no CUDA driver: libcuda.so.1 was not found";
        return 0;
    }
    dlclose(driver);
    why = "a CUDA driver is present, but this build has no CUDA kernels: nvcc was not found when it was built";
    return 0;
}

Backend open_cuda(int32_t) {
    std::string why;
    cuda_device_count(why);
    throw Error{IKBO_NO_DEVICE, why};
}

} // namespace ikbo
