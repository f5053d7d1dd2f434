// Pieces of attention on a warpgroup's 64 rows. Per thread: two rows, h = 0 and 1 (rows lane / 4 and + 8 of the warp's 16), in
// accumulator order (wgmma.cuh): the scores of `2 * Count` keys, or as many columns of O.
#pragma once

#include "attention.h"
#include "wgmma.cuh"

namespace ikbo {

constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.69314718055994531f;

IKBO_DEVICE float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
IKBO_DEVICE float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Scores of keys from `tail` on become -inf; `thread` counts in the warpgroup.
template <int Count>
IKBO_DEVICE void mask_scores(float (&s)[Count], int tail, int thread) {
    const int mine = tail - thread % 4 * 2;
#pragma unroll
    for (int i = 0; i < Count; ++i)
        if (i / 4 * 8 + i % 2 >= mine) s[i] = -INFINITY;
}

template <int Count>
IKBO_DEVICE float row_max(const float (&s)[Count], int h) {
    float a = s[2 * h], b = s[2 * h + 1];
#pragma unroll
    for (int i = 4; i < Count; i += 4) {
        a = fmaxf(a, s[i + 2 * h]);
        b = fmaxf(b, s[i + 2 * h + 1]);
    }
    return quad_max(fmaxf(a, b));
}

// s becomes 2^(scale s - reference); returns this thread's share of the sums.
template <int Count>
IKBO_DEVICE void exponentials(float (&s)[Count], float scale, const float (&reference)[2], float (&sum)[2]) {
    float even[2] = {0, 0}, odd[2] = {0, 0};
#pragma unroll
    for (int i = 0; i < Count; i += 2) {
        const int h = i / 2 % 2;
        s[i] = ptx::ex2(fmaf(s[i], scale, -reference[h]));
        s[i + 1] = ptx::ex2(fmaf(s[i + 1], scale, -reference[h]));
        even[h] += s[i];
        odd[h] += s[i + 1];
    }
    sum[0] = even[0] + odd[0];
    sum[1] = even[1] + odd[1];
}

// Accumulators become the operand A of the next product, 16 keys a fragment.
template <typename T, int Count>
IKBO_DEVICE void pack_fragments(const float (&s)[Count], uint32_t (&fragment)[Count / 8][4]) {
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) {
        uint32_t &word = fragment[i / 4][i % 4];
        word = ptx::pack<T>(s[2 * i], s[2 * i + 1]);
        asm volatile("" : "+r"(word)::"memory"); // here, not between the products
    }
}

template <int Count>
IKBO_DEVICE void scale_row(float (&o)[Count], int h, float factor) {
#pragma unroll
    for (int i = 0; i < Count; i += 4) {
        o[i + 2 * h] *= factor;
        o[i + 2 * h + 1] *= factor;
    }
}

// O times the rows' weights into 64 rows of shared memory, swizzled, a half of 64 columns every 8 KB. Not visible to copies yet: that takes
// a fence, by every thread before the barrier behind which one stores, or by that one thread behind it.
template <typename T, int Count>
IKBO_DEVICE void stage_rows(const float (&o)[Count], const float (&weight)[2], uint32_t staging, int thread) {
    const int row = thread / 32 * 16 + thread % 16, half_chunk = thread / 16 % 2;
#pragma unroll
    for (int c = 0; c < Count / 8; ++c) { // 16 columns: two groups of 8
        uint32_t word[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            word[i] = ptx::pack<T>(o[8 * c + 2 * i] * weight[i % 2], o[8 * c + 2 * i + 1] * weight[i % 2]);
        ptx::store_matrix_x4(
            staging + c / 4 * attention_unit_rows * 128 + row * 128 + ((c % 4 * 2 + half_chunk) ^ row % 8) * 16, word[0],
            word[1], word[2], word[3]);
    }
}

// Zeros in the rows of a block of V from `tail` on, which are another user's: their probability is 0, but 0 * NaN is NaN.
// Visible to products once all threads have passed a barrier.
template <int Keys, int Halves>
IKBO_DEVICE void clear_rows(uint32_t block, int tail, int thread) {
#pragma unroll 1
    for (int i = tail * 8 + thread; i < Keys * 8; i += 128)
#pragma unroll
        for (int h = 0; h < Halves; ++h)
            asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(block + h * Keys * 128 + i * 16), "r"(0) : "memory");
    ptx::fence_shared_for_copies();
}

} // namespace ikbo
