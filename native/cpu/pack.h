// Packing of operands into strips (see Layout) and the blocked loop over micro-kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "simd.h"

namespace ikbo::cpu {

// Memory aligned to a cache line; uninitialized.
class Buffer {
  public:
    Buffer() = default;
    explicit Buffer(std::size_t bytes);
    template <class T> T *as() const { return static_cast<T *>(memory_.get()); }
    std::size_t bytes() const { return bytes_; }

  private:
    struct Free {
        void operator()(void *memory) const { std::free(memory); }
    };
    std::unique_ptr<void, Free> memory_;
    std::size_t bytes_ = 0;
};

inline int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }
inline int64_t divide_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit; }

std::size_t element_bytes(int32_t dtype);
std::size_t packed_bytes(const Kernel &kernel, Layout layout, int64_t count, int64_t depth);

// Where packed vectors go: strips of `layout` whose depth is `total` (a multiple of kernel.depth_unit).
struct Strips {
    const Simd &simd;
    const Kernel &kernel;
    Layout layout;
    int64_t total;
    void *memory;
};

// `count` vectors that are contiguous along depth, wherever each lies; fills depth [at, at + depth). Vectors beyond the
// count up to a full strip become zero.
void pack_vectors(const Strips &to, int32_t dtype, const void *const *vectors, int64_t count, int64_t at, int64_t depth);

// The same for a matrix [depth, count] whose rows are contiguous along count, `stride` elements apart.
void pack_columns(const Strips &to, int32_t dtype, const void *from, int64_t stride, int64_t count, int64_t at, int64_t depth);

// Zeroes depth [at, total) of the strips that hold `count` vectors.
void pack_zeros(const Strips &to, int64_t count, int64_t at);

// c += a b over whole strips. `a` and `b` point at the first strip's first used depth; strips are `total` deep.
struct Operand {
    const void *memory;
    int64_t strips, total;
};
void multiply(const Kernel &kernel, Operand a, Operand b, int64_t depth, float *c, int64_t stride);

} // namespace ikbo::cpu
