// Memory of a device, and filling and reading it without moving it through JavaScript.
#include <algorithm>
#include <cstring>
#include <vector>

#include "../cpu/simd.h"
#include "../cpu/threads.h"
#include "binding.h"
#include "random.h"
#include "reference.h"

namespace ikbo::node {
namespace {

constexpr std::size_t piece = std::size_t{8} << 20; // bytes that are staged on the host at a time

std::size_t size_of(int32_t dtype) { return dtype == IKBO_FP32 ? 4 : 2; }

std::byte *at(const Memory &memory, std::size_t offset) { return static_cast<std::byte *>(memory.data()) + offset; }

} // namespace

Napi::Function Memory::define(Napi::Env env) {
    return DefineClass(env, "Memory",
                       {InstanceMethod<&Memory::free>("free"), InstanceMethod<&Memory::upload>("upload"),
                        InstanceMethod<&Memory::download>("download"), InstanceMethod<&Memory::fill>("fill"),
                        InstanceMethod<&Memory::normal>("normal"), InstanceMethod<&Memory::replicate>("replicate"),
                        InstanceMethod<&Memory::values>("values"), InstanceMethod<&Memory::count_bytes>("count")});
}

// new Memory(device, bytes)
Memory::Memory(const Napi::CallbackInfo &info) : ObjectWrap(info), device_(device_argument(info, 0)) {
    bytes_ = static_cast<std::size_t>(integer_argument(info, 1));
    check(info.Env(), ikbo_alloc(device_.get(), bytes_, &data_));
}

void Memory::release() {
    if (data_ != nullptr) ikbo_free(device_.get(), data_);
    data_ = nullptr;
}

Napi::Value Memory::free(const Napi::CallbackInfo &info) {
    release();
    return info.Env().Undefined();
}

// upload(buffer, offset)
Napi::Value Memory::upload(const Napi::CallbackInfo &info) {
    const auto buffer = object_argument(info, 0).As<Napi::Buffer<uint8_t>>();
    const auto offset = static_cast<std::size_t>(integer_argument(info, 1));
    if (offset + buffer.Length() > bytes_) throw Napi::RangeError::New(info.Env(), "upload past the end of the memory");
    check(info.Env(), ikbo_upload(device_.get(), at(*this, offset), buffer.Data(), buffer.Length()));
    return info.Env().Undefined();
}

// download(offset, bytes) -> Buffer
Napi::Value Memory::download(const Napi::CallbackInfo &info) {
    const auto offset = static_cast<std::size_t>(integer_argument(info, 0));
    const auto bytes = static_cast<std::size_t>(integer_argument(info, 1));
    if (offset + bytes > bytes_) throw Napi::RangeError::New(info.Env(), "download past the end of the memory");
    auto buffer = Napi::Buffer<uint8_t>::New(info.Env(), bytes);
    check(info.Env(), ikbo_download(device_.get(), buffer.Data(), at(*this, offset), bytes));
    return buffer;
}

// fill(byte)
Napi::Value Memory::fill(const Napi::CallbackInfo &info) {
    check(info.Env(), ikbo_fill(device_.get(), data_, static_cast<uint8_t>(integer_argument(info, 0)), bytes_, nullptr));
    check(info.Env(), ikbo_synchronize(device_.get(), nullptr));
    return info.Env().Undefined();
}

// normal(dtype, seed, scale): fills the whole memory
Napi::Value Memory::normal(const Napi::CallbackInfo &info) {
    const int32_t dtype = dtype_of(info[0]);
    const auto seed = static_cast<uint64_t>(integer_argument(info, 1));
    const float scale = info[2].As<Napi::Number>().FloatValue();
    const std::size_t size = size_of(dtype);
    std::vector<std::byte> staged(std::min(bytes_, piece));
    for (std::size_t first = 0; first < bytes_; first += piece) {
        const std::size_t bytes = std::min(piece, bytes_ - first);
        constexpr int64_t run = 4096;
        const auto count = static_cast<int64_t>(bytes / size);
        cpu::parallel_for((count + run - 1) / run, [&](int64_t i, int32_t) {
            float values[run];
            const uint64_t start = first / size + static_cast<uint64_t>(i * run);
            for (int64_t k = 0; k < run; k += 2) normal_pair(seed, (start + static_cast<uint64_t>(k)) / 2, values + k);
            cpu::simd().scale(scale, values, run);
            cpu::simd().narrow(dtype, values, staged.data() + static_cast<std::size_t>(i * run) * size, std::min(run, count - i * run));
        });
        check(info.Env(), ikbo_upload(device_.get(), at(*this, first), staged.data(), bytes));
    }
    return info.Env().Undefined();
}

// replicate(from, itemBytes, fromStride, toOffset, toStride, rows): item rows[i] of `from` to place i; bytes
Napi::Value Memory::replicate(const Napi::CallbackInfo &info) {
    const Memory *from = memory_of(info[0], "the source");
    const auto item = static_cast<std::size_t>(integer_argument(info, 1));
    const auto from_stride = static_cast<std::size_t>(integer_argument(info, 2));
    const auto to_offset = static_cast<std::size_t>(integer_argument(info, 3));
    const auto to_stride = static_cast<std::size_t>(integer_argument(info, 4));
    const auto rows = object_argument(info, 5).As<Napi::Int32Array>();
    const std::size_t count = rows.ElementLength();
    if (item == 0) return info.Env().Undefined();
    for (std::size_t i = 0; i < count; ++i)
        if (rows[i] < 0 || static_cast<std::size_t>(rows[i]) * from_stride + item > from->bytes_ ||
            to_offset + i * to_stride + item > bytes_)
            throw Napi::RangeError::New(info.Env(), "replicate past the end of the memory");
    for (std::size_t i = 0; i < count; ++i)
        check(info.Env(), ikbo_copy(device_.get(), at(*this, to_offset + i * to_stride),
                                    at(*from, static_cast<std::size_t>(rows[i]) * from_stride), item, nullptr));
    check(info.Env(), ikbo_synchronize(device_.get(), nullptr));
    return info.Env().Undefined();
}

// values(dtype, first, count) -> Float64Array
Napi::Value Memory::values(const Napi::CallbackInfo &info) {
    const int32_t dtype = dtype_of(info[0]);
    const auto first = static_cast<std::size_t>(integer_argument(info, 1));
    const auto count = static_cast<std::size_t>(integer_argument(info, 2));
    const std::size_t size = size_of(dtype);
    if ((first + count) * size > bytes_) throw Napi::RangeError::New(info.Env(), "values past the end of the memory");
    std::vector<std::byte> raw(count * size);
    check(info.Env(), ikbo_download(device_.get(), raw.data(), at(*this, first * size), raw.size()));
    auto result = Napi::Float64Array::New(info.Env(), count);
    for (std::size_t i = 0; i < count; ++i) result[i] = element(dtype, raw.data(), static_cast<int64_t>(i));
    return result;
}

// count(byte, elementBytes) -> elements whose every byte is `byte`: what poison is left
Napi::Value Memory::count_bytes(const Napi::CallbackInfo &info) {
    const auto byte = static_cast<int>(integer_argument(info, 0));
    const auto size = static_cast<std::size_t>(integer_argument(info, 1));
    std::vector<unsigned char> staged(std::min(bytes_, piece));
    std::vector<unsigned char> pattern(size, static_cast<unsigned char>(byte));
    int64_t found = 0;
    for (std::size_t first = 0; first < bytes_; first += piece) {
        const std::size_t bytes = std::min(piece, bytes_ - first);
        check(info.Env(), ikbo_download(device_.get(), staged.data(), at(*this, first), bytes));
        for (std::size_t i = 0; i + size <= bytes; i += size) found += std::memcmp(&staged[i], pattern.data(), size) == 0;
    }
    return Napi::Number::New(info.Env(), static_cast<double>(found));
}

} // namespace ikbo::node
