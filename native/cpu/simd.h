// What an instruction set contributes: one multiply micro-kernel per element type and a few row operations. Everything
// else (packing, blocking, the operators) is the same code for all, so every arm of a benchmark shares it.
#pragma once

#include <cstdint>

#include "ikbo.h"

namespace ikbo::cpu {

// A packed operand is cut into strips of `step` vectors; a strip is [depth / group][step][group] elements.
struct Layout {
    int32_t step, group;
};

struct Kernel {
    const char *name;
    Layout a, b;
    int32_t depth_unit; // packed depth is a multiple of it; the rest is zero
    bool bf16;          // packed elements are bf16, else fp32
    void (*enter)();    // called by a thread before it multiplies, or null
    // c[i * stride + j] += sum_k a[i, k] b[j, k] for a.step x b.step; accumulates in fp32.
    void (*multiply)(int64_t depth, const void *a, const void *b, float *c, int64_t stride);
};

struct Simd {
    const char *name;
    Kernel fp32, bf16; // for operands of type fp32 and fp16, and of type bf16
    void (*widen)(int32_t dtype, const void *from, float *to, int64_t count);
    void (*narrow)(int32_t dtype, const float *from, void *to, int64_t count); // rounds to nearest even, keeps NaN
    void (*add)(const float *from, float *to, int64_t count);
    void (*scale)(float factor, float *row, int64_t count);
    float (*dot)(const float *a, const float *b, int64_t count);
    void (*add_scaled)(float factor, const float *from, float *to, int64_t count);
    // One row of an online softmax: scores become exp(scale * score - max) with the running maximum, entries from
    // `count` to `padded` become 0, sum is carried over. Returns the factor for what was accumulated before.
    float (*softmax)(float *scores, int64_t count, int64_t padded, float scale, float *maximum, float *sum);
};

// The best set of this processor; IKBO_SIMD=portable|avx2|avx512|amx asks for another that it has.
const Simd &simd();
// All sets that this processor has, best first.
int32_t simd_count();
const Simd &simd_at(int32_t i);

inline const Kernel &kernel_for(const Simd &s, int32_t dtype) { return dtype == IKBO_BF16 ? s.bf16 : s.fp32; }

} // namespace ikbo::cpu
