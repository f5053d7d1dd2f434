#include "binding.h"

namespace ikbo::node {

Napi::Function Device::define(Napi::Env env) {
    return DefineClass(env, "Device", {InstanceMethod<&Device::describe>("describe")});
}

// new Device(ordinal): -1 is the CPU.
Device::Device(const Napi::CallbackInfo &info) : ObjectWrap(info) {
    ikbo_device *opened = nullptr;
    check(info.Env(), ikbo_device_open(static_cast<int32_t>(integer_argument(info, 0)), &opened));
    handle_ = DeviceHandle(opened, DeviceCloser{});
}

Napi::Value Device::describe(const Napi::CallbackInfo &info) {
    ikbo_device_info described;
    check(info.Env(), ikbo_device_describe(handle_.get(), &described));
    Napi::Object result = Napi::Object::New(info.Env());
    const auto number = [&](int64_t value) { return Napi::Number::New(info.Env(), static_cast<double>(value)); };
    result.Set("name", described.name);
    result.Set("detail", described.detail);
    result.Set("busId", ikbo_device_bus_id(handle_.get()));
    result.Set("ordinal", number(described.ordinal));
    result.Set("capability", number(described.capability));
    result.Set("units", number(described.units));
    result.Set("memoryBytes", number(described.memory_bytes));
    result.Set("cacheBytes", number(described.cache_bytes));
    return result;
}

} // namespace ikbo::node
