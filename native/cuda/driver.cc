#include "driver.h"

#include <dlfcn.h>

#include <cstdarg>
#include <cstdio>

#include "error.h"

namespace ikbo {
namespace {

// Kernels are loaded by cuGetProcAddress_v2, which came with CUDA 12.0.
constexpr int oldest_driver = 12000;

std::string version_text(int version) { return text("%d.%d", version / 1000, version % 1000 / 10); }

// cuGetProcAddress wants the name without the _v2 that cuda.h maps it to.
std::string base_name(std::string symbol) {
    const auto at = symbol.rfind("_v");
    if (at != std::string::npos && at + 3 == symbol.size()) symbol.resize(at);
    return symbol;
}

Driver load() {
    // Stays loaded until the process ends: its threads and contexts do not survive an unload.
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Error{IKBO_NO_DEVICE, "no CUDA driver: libcuda.so.1 was not found"};
    const auto get_address =
        reinterpret_cast<decltype(&cuGetProcAddress_v2)>(dlsym(library, "cuGetProcAddress_v2"));
    const auto get_version = reinterpret_cast<decltype(&cuDriverGetVersion)>(dlsym(library, "cuDriverGetVersion"));
    Driver d;
    if (get_version == nullptr || get_version(&d.version) != CUDA_SUCCESS)
        throw Error{IKBO_NO_DEVICE, "no usable CUDA driver: libcuda.so.1 does not tell its version"};
    if (get_address == nullptr || d.version < oldest_driver)
        throw Error{IKBO_NO_DEVICE, "the CUDA driver is for CUDA " + version_text(d.version) + ", too old; " +
                                        version_text(oldest_driver) + " or newer is needed"};
    const auto resolve = [&](const char *symbol, int version) {
        void *address = nullptr;
        CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        const CUresult result = get_address(base_name(symbol).c_str(), &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
        if (result != CUDA_SUCCESS || address == nullptr)
            throw Error{IKBO_NO_DEVICE, text("the CUDA driver (CUDA %s) has no %s", version_text(d.version).c_str(), symbol)};
        return address;
    };
#define IKBO_CUDA_RESOLVE(name, version, symbol)                                                                       \
    d.name = reinterpret_cast<decltype(&::symbol)>(resolve(#symbol, version));
    IKBO_CUDA_FUNCTIONS(IKBO_CUDA_RESOLVE)
#undef IKBO_CUDA_RESOLVE
    const CUresult result = d.Init(0);
    if (result != CUDA_SUCCESS) {
        const char *words = nullptr;
        d.GetErrorString(result, &words);
        throw Error{IKBO_NO_DEVICE, text("the CUDA driver does not start: %s", words == nullptr ? "unknown error" : words)};
    }
    return d;
}

} // namespace

const Driver &driver() {
    static const Driver loaded = load(); // a throw leaves it unset, so the next call tries again
    return loaded;
}

void check(CUresult result, const char *doing, ...) {
    if (result == CUDA_SUCCESS) return;
    char what[512];
    va_list arguments;
    va_start(arguments, doing);
    std::vsnprintf(what, sizeof what, doing, arguments);
    va_end(arguments);
    const char *name = nullptr;
    const char *words = nullptr;
    driver().GetErrorName(result, &name);
    driver().GetErrorString(result, &words);
    fail(result == CUDA_ERROR_OUT_OF_MEMORY ? IKBO_OUT_OF_MEMORY : IKBO_DRIVER, "%s: %s (%s)", what,
         words == nullptr ? "unknown error" : words, name == nullptr ? "?" : name);
}

CurrentContext::CurrentContext(CUcontext context) {
    CUcontext current = nullptr;
    check(driver().CtxGetCurrent(&current), "asking for the current context");
    pushed_ = current != context;
    if (pushed_) check(driver().CtxPushCurrent(context), "entering the device's context");
}

CurrentContext::~CurrentContext() {
    CUcontext popped = nullptr;
    if (pushed_) (void)driver().CtxPopCurrent(&popped);
}

} // namespace ikbo
