#include "binding.h"

#include <cstdlib>

#if defined(__linux__)
#include <csignal>
#include <sys/prctl.h>
#endif

namespace ikbo::node {

void check(Napi::Env env, ikbo_status status) {
    if (status == IKBO_OK) return;
    Napi::Error error = Napi::Error::New(env, ikbo_last_error());
    error.Set("status", Napi::Number::New(env, status));
    throw error;
}

Napi::Object object_argument(const Napi::CallbackInfo &info, std::size_t i) {
    if (!info[i].IsObject()) throw Napi::TypeError::New(info.Env(), "argument " + std::to_string(i) + " must be an object");
    return info[i].As<Napi::Object>();
}

int64_t integer(const Napi::Object &object, const char *key, int64_t otherwise) {
    const Napi::Value value = object.Get(key);
    if (value.IsUndefined()) return otherwise;
    if (!value.IsNumber()) throw Napi::TypeError::New(object.Env(), std::string(key) + " must be a number");
    return value.As<Napi::Number>().Int64Value();
}

int64_t integer_argument(const Napi::CallbackInfo &info, std::size_t i) {
    if (!info[i].IsNumber()) throw Napi::TypeError::New(info.Env(), "argument " + std::to_string(i) + " must be a number");
    return info[i].As<Napi::Number>().Int64Value();
}

DeviceHandle device_argument(const Napi::CallbackInfo &info, std::size_t i) {
    return Device::Unwrap(object_argument(info, i))->handle();
}

Memory *memory_of(const Napi::Value &value, const char *what) {
    if (!value.IsObject()) throw Napi::TypeError::New(value.Env(), std::string(what) + " must be a Memory");
    Memory *memory = Memory::Unwrap(value.As<Napi::Object>());
    if (memory->data() == nullptr) throw Napi::Error::New(value.Env(), std::string(what) + " was freed");
    return memory;
}

int32_t dtype_of(const Napi::Value &value) {
    const std::string name = value.IsString() ? value.As<Napi::String>().Utf8Value() : "";
    if (name == "fp32") return IKBO_FP32;
    if (name == "fp16") return IKBO_FP16;
    if (name == "bf16") return IKBO_BF16;
    throw Napi::TypeError::New(value.Env(), "there is no data type '" + name + "'");
}

namespace {

// { count, note }: the note says why there is none.
Napi::Value cuda_devices(const Napi::CallbackInfo &info) {
    Napi::Object result = Napi::Object::New(info.Env());
    result.Set("count", Napi::Number::New(info.Env(), ikbo_cuda_device_count()));
    result.Set("note", Napi::String::New(info.Env(), ikbo_last_error()));
    return result;
}

// Asks the kernel to end this process with its parent, even while a kernel hangs and no JavaScript runs.
Napi::Value die_with_parent(const Napi::CallbackInfo &info) {
#if defined(__linux__)
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    return info.Env().Undefined();
}

// For tests of the host: what a fault in a kernel looks like from outside.
Napi::Value crash(const Napi::CallbackInfo &) { std::abort(); }

Napi::Object initialize(Napi::Env env, Napi::Object exports) {
    exports.Set("version", Napi::String::New(env, ikbo_version()));
    exports.Set("Device", Device::define(env));
    exports.Set("Memory", Memory::define(env));
    exports.Set("Operation", Operation::define(env));
    exports.Set("Recording", Recording::define(env));
    exports.Set("cudaDevices", Napi::Function::New(env, cuda_devices));
    exports.Set("dieWithParent", Napi::Function::New(env, die_with_parent));
    exports.Set("crash", Napi::Function::New(env, crash));
    exports.Set("reference", Napi::Function::New(env, reference));
    return exports;
}

} // namespace
} // namespace ikbo::node

using ikbo::node::initialize;
NODE_API_MODULE(ikbo, initialize)
