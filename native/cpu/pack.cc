#include "pack.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace ikbo::cpu {
namespace {

constexpr std::size_t line = 64;
constexpr int64_t depth_block_bytes = 1024; // of one vector: a strip of b stays in the first-level cache
constexpr int64_t pack_chunk = 128;

std::size_t packed_element(const Kernel &kernel) { return kernel.bf16 ? 2 : 4; }

int64_t offset(Layout layout, int64_t vector, int64_t k) {
    return k / layout.group * layout.step * layout.group + vector * layout.group + k % layout.group;
}

// Scatters vector `i` of a strip, a group of its depth at a time.
template <int64_t group, class T>
void scatter_groups(const T *values, int64_t step, int64_t i, int64_t at, int64_t count, T *strip) {
    T *to = strip + at * step + i * group;
    int64_t k = 0;
    for (; k + group <= count; k += group) std::memcpy(to + k * step, values + k, group * sizeof(T));
    for (int64_t j = k; j < count; ++j) to[k * step + j - k] = values[j];
}

template <class T> void scatter(const T *values, Layout layout, int64_t i, int64_t at, int64_t count, T *strip) {
    if (layout.group == 1) return scatter_groups<1>(values, layout.step, i, at, count, strip);
    if (layout.group == 2 && at % 2 == 0) return scatter_groups<2>(values, layout.step, i, at, count, strip);
    if (layout.group == 32 && at % 32 == 0) return scatter_groups<32>(values, layout.step, i, at, count, strip);
    for (int64_t k = 0; k < count; ++k) strip[offset(layout, i, at + k)] = values[k];
}

// Places element k of the first `count` vectors of a strip; the others become zero.
template <class T> void place_row(const T *values, Layout layout, int64_t k, int64_t count, T *strip) {
    if (layout.group == 1) {
        std::memcpy(strip + k * layout.step, values, static_cast<std::size_t>(count) * sizeof(T));
        std::fill(strip + k * layout.step + count, strip + (k + 1) * layout.step, T{});
        return;
    }
    T *to = strip + offset(layout, 0, k);
    for (int64_t i = 0; i < count; ++i) to[i * layout.group] = values[i];
    for (int64_t i = count; i < layout.step; ++i) to[i * layout.group] = T{};
}

// Reads `count` elements as packed elements: widened to fp32, or rounded to bf16.
const float *convert(const Simd &simd, int32_t dtype, const std::byte *from, float *temporary, int64_t count) {
    if (dtype == IKBO_FP32) return reinterpret_cast<const float *>(from);
    simd.widen(dtype, from, temporary, count);
    return temporary;
}

const uint16_t *convert(const Simd &simd, int32_t dtype, const std::byte *from, uint16_t *temporary, int64_t count) {
    if (dtype == IKBO_BF16) return reinterpret_cast<const uint16_t *>(from);
    simd.narrow(IKBO_BF16, reinterpret_cast<const float *>(from), temporary, count);
    return temporary;
}

template <class T>
void pack_vectors_as(const Strips &to, int32_t dtype, const void *const *vectors, int64_t count, int64_t at, int64_t depth) {
    const Layout layout = to.layout;
    const auto size = static_cast<int64_t>(element_bytes(dtype));
    T temporary[pack_chunk];
    constexpr T zeros[pack_chunk] = {};
    for (int64_t first = 0; first < count; first += layout.step) {
        T *strip = static_cast<T *>(to.memory) + first * to.total;
        for (int64_t k = 0; k < depth; k += pack_chunk) {
            const int64_t n = std::min(pack_chunk, depth - k);
            for (int64_t i = 0; i < layout.step; ++i) {
                const T *values = zeros;
                if (first + i < count)
                    values = convert(to.simd, dtype, static_cast<const std::byte *>(vectors[first + i]) + k * size, temporary, n);
                scatter(values, layout, i, at + k, n, strip);
            }
        }
    }
}

template <class T>
void pack_columns_as(const Strips &to, int32_t dtype, const void *from, int64_t stride, int64_t count, int64_t at, int64_t depth) {
    const Layout layout = to.layout;
    const auto size = static_cast<int64_t>(element_bytes(dtype));
    T temporary[64];
    for (int64_t first = 0; first < count; first += layout.step) {
        T *strip = static_cast<T *>(to.memory) + first * to.total;
        const int64_t n = std::min<int64_t>(layout.step, count - first);
        for (int64_t k = 0; k < depth; ++k) {
            const auto *row = static_cast<const std::byte *>(from) + (k * stride + first) * size;
            place_row(convert(to.simd, dtype, row, temporary, n), layout, at + k, n, strip);
        }
    }
}

template <class T> void pack_zeros_as(const Strips &to, int64_t count, int64_t at) {
    constexpr T zeros[64] = {};
    for (int64_t first = 0; first < count; first += to.layout.step)
        for (int64_t k = at; k < to.total; ++k)
            place_row(zeros, to.layout, k, to.layout.step, static_cast<T *>(to.memory) + first * to.total);
}

} // namespace

Buffer::Buffer(std::size_t bytes) : bytes_(bytes) {
    memory_.reset(std::aligned_alloc(line, (std::max<std::size_t>(bytes, 1) + line - 1) / line * line));
    if (!memory_) throw std::bad_alloc();
}

std::size_t element_bytes(int32_t dtype) { return dtype == IKBO_FP32 ? 4 : 2; }

std::size_t packed_bytes(const Kernel &kernel, Layout layout, int64_t count, int64_t depth) {
    return static_cast<std::size_t>(round_up(count, layout.step) * round_up(depth, kernel.depth_unit)) * packed_element(kernel);
}

void pack_vectors(const Strips &to, int32_t dtype, const void *const *vectors, int64_t count, int64_t at, int64_t depth) {
    if (to.kernel.bf16) pack_vectors_as<uint16_t>(to, dtype, vectors, count, at, depth);
    else pack_vectors_as<float>(to, dtype, vectors, count, at, depth);
}

void pack_columns(const Strips &to, int32_t dtype, const void *from, int64_t stride, int64_t count, int64_t at, int64_t depth) {
    if (to.kernel.bf16) pack_columns_as<uint16_t>(to, dtype, from, stride, count, at, depth);
    else pack_columns_as<float>(to, dtype, from, stride, count, at, depth);
}

void pack_zeros(const Strips &to, int64_t count, int64_t at) {
    if (to.kernel.bf16) pack_zeros_as<uint16_t>(to, count, at);
    else pack_zeros_as<float>(to, count, at);
}

void multiply(const Kernel &kernel, Operand a, Operand b, int64_t depth, float *c, int64_t stride) {
    const auto size = static_cast<int64_t>(packed_element(kernel));
    const auto *a_bytes = static_cast<const std::byte *>(a.memory);
    const auto *b_bytes = static_cast<const std::byte *>(b.memory);
    const int64_t depth_block = depth_block_bytes / size;
    if (kernel.enter != nullptr) kernel.enter();
    for (int64_t k = 0; k < depth; k += depth_block) {
        const int64_t n = std::min(depth_block, depth - k);
        for (int64_t j = 0; j < b.strips; ++j)
            for (int64_t i = 0; i < a.strips; ++i)
                kernel.multiply(n, a_bytes + (i * a.total + k) * kernel.a.step * size,
                                b_bytes + (j * b.total + k) * kernel.b.step * size,
                                c + i * kernel.a.step * stride + j * kernel.b.step, stride);
    }
}

} // namespace ikbo::cpu
