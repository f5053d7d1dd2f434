// The portable product (sm_80 and newer): C[z, m, n] = activation(sum_k A[z, m, k] B[z, k, n] + addends + bias).
//
// mma.sync m16n8k16 with fp32 accumulators; operands arrive by cp.async in a ring of stages. Two tiles:
//   large  128 x 128 x 32, 8 warps of 64 x 32, 4 stages x 16 KiB = 64 KiB, 2 blocks a multiprocessor
//   small   32 x  64 x 64, 4 warps of 16 x 32, 6 stages x 12 KiB = 72 KiB: few rows, long K (the user part)
// Any m, n, k: tails are zero-filled on the way in and not written on the way out. Rows that are not 16-byte aligned arrive in
// pieces of 4 bytes (cp.async) or 2 (through registers).
// Shared memory rows are swizzled in 16-byte chunks so that ldmatrix and the copies are free of bank conflicts.
#include "gemm.h"

#include "activation.cuh"
#include "ptx.cuh"

namespace {

using namespace ptx;
using ikbo::GemmWork;

using Large = ikbo::LargeGemmTile;
using Small = ikbo::SmallGemmTile;

// Offset of 16-byte chunk `chunk` in row `row` of a tile whose rows have Chunks chunks.
template <int Chunks>
IKBO_DEVICE int swizzled(int row, int chunk) {
    const int mask = Chunks == 4 ? (row >> 1) & 3 : row & 7;
    return (row * Chunks + (chunk ^ mask)) * 16;
}

// Eight elements to shared memory: those past `valid` become zero; nothing is read past them.
template <bool Aligned>
IKBO_DEVICE void fetch_chunk(uint32_t to, const uint16_t *from, int valid, int granule) {
    valid = max(0, min(8, valid));
    if (Aligned || granule == 16) {
        copy_16(to, from, valid * 2);
    } else if (granule == 4) {
#pragma unroll
        for (int i = 0; i < 4; ++i) copy_4(to + 4 * i, from + 2 * i, max(0, min(4, 2 * valid - 4 * i)));
    } else {
        uint32_t words[4] = {};
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const uint32_t element = i < valid ? from[i] : 0;
            words[i / 2] |= element << (16 * (i & 1));
        }
        store_shared_16(to, {words[0], words[1], words[2], words[3]});
    }
}

// A tile of `Rows` rows by `Chunks` x 8 elements, from a matrix with `rows` rows of `width` elements, zero outside.
template <bool Aligned, int Threads, int Rows, int Chunks>
IKBO_DEVICE void fetch_tile(uint32_t to, const uint16_t *matrix, int64_t stride, int first_row, int rows, int first, int width,
                            int granule) {
    static_assert(Rows * Chunks % Threads == 0);
#pragma unroll
    for (int i = 0; i < Rows * Chunks / Threads; ++i) {
        const int item = i * Threads + static_cast<int>(threadIdx.x);
        const int row = item / Chunks, chunk = item % Chunks;
        const int column = first + chunk * 8;
        const bool inside = first_row + row < rows && column < width;
        const uint16_t *from = inside ? matrix + (first_row + row) * stride + column : matrix;
        fetch_chunk<Aligned>(to + swizzled<Chunks>(row, chunk), from, inside ? width - column : 0, granule);
    }
}

template <typename T>
IKBO_DEVICE float bias_at(const GemmWork &work, int n) {
    return work.epilogue.bias == nullptr ? 0.0f : static_cast<float>(static_cast<const T *>(work.epilogue.bias)[n]);
}

template <typename T, typename S, bool TransposedB, bool Aligned>
IKBO_DEVICE void run(const GemmWork &work) {
    extern __shared__ __align__(128) uint8_t memory[];
#if __CUDA_ARCH__ >= 900
    let_next_grid_start();
#endif
    const uint32_t base = shared_address(memory);
    constexpr int a_chunks = S::depth / 8, b_chunks = (TransposedB ? S::depth : S::columns) / 8;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % (S::rows / S::warp_rows) * S::warp_rows;
    const int warp_n = warp / (S::rows / S::warp_rows) * S::warp_columns;

    const int tiles_m = (work.m + S::rows - 1) / S::rows, tiles_n = (work.n + S::columns - 1) / S::columns;
    const int tiles = tiles_m * tiles_n;
    const int z = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int m0 = tile / tiles_n * S::rows, n0 = tile % tiles_n * S::columns;
    const uint16_t *a = static_cast<const uint16_t *>(work.a) + z * work.a_matrix;
    const uint16_t *b = static_cast<const uint16_t *>(work.b) + z * work.b_matrix;

    const auto fetch = [&](int block) {
        const int k0 = block * S::depth;
        const uint32_t stage = base + block % S::stages * (S::a_bytes + S::b_bytes);
        fetch_tile<Aligned, S::threads, S::rows, a_chunks>(stage, a, work.a_row, m0, work.m, k0, work.k, work.a_granule);
        if constexpr (TransposedB) {
            fetch_tile<Aligned, S::threads, S::columns, b_chunks>(stage + S::a_bytes, b, work.b_row, n0, work.n, k0, work.k,
                                                                  work.b_granule);
        } else {
            fetch_tile<Aligned, S::threads, S::depth, b_chunks>(stage + S::a_bytes, b, work.b_row, k0, work.k, n0, work.n,
                                                                work.b_granule);
        }
    };

    constexpr int groups_m = S::warp_rows / 16, groups_n = S::warp_columns / 8;
    float d[groups_m][groups_n][4] = {};
    const int blocks = (work.k + S::depth - 1) / S::depth;
#pragma unroll
    for (int i = 0; i < S::stages - 1; ++i) {
        if (i < blocks) fetch(i);
        copy_commit();
    }
    for (int block = 0; block < blocks; ++block) {
        copy_wait<S::stages - 2>();
        __syncthreads();  // block is here, and everybody is done with the stage that is refilled next
        if (block + S::stages - 1 < blocks) fetch(block + S::stages - 1);
        copy_commit();
        const uint32_t stage_a = base + block % S::stages * (S::a_bytes + S::b_bytes), stage_b = stage_a + S::a_bytes;
#pragma unroll
        for (int step = 0; step < S::depth / 16; ++step) {
            uint32_t fa[groups_m][4], fb[groups_n / 2][4];
#pragma unroll
            for (int i = 0; i < groups_m; ++i)
                load_matrix_x4(stage_a + swizzled<a_chunks>(warp_m + 16 * i + lane % 16, 2 * step + lane / 16), fa[i]);
#pragma unroll
            for (int j = 0; j < groups_n / 2; ++j) {
                if constexpr (TransposedB) {
                    const int n = warp_n + 16 * j + lane % 8 + 8 * (lane / 16);
                    load_matrix_x4(stage_b + swizzled<b_chunks>(n, 2 * step + (lane / 8) % 2), fb[j]);
                } else {
                    const int n = warp_n / 8 + 2 * j + lane / 16;
                    load_matrix_x4_transposed(stage_b + swizzled<b_chunks>(16 * step + lane % 16, n), fb[j]);
                }
            }
#pragma unroll
            for (int i = 0; i < groups_m; ++i)
#pragma unroll
                for (int j = 0; j < groups_n; ++j)
                    mma_16x8x16<T>(d[i][j], fa[i], fb[j / 2][2 * (j % 2)], fb[j / 2][2 * (j % 2) + 1]);
        }
    }

    const ikbo::Epilogue &epilogue = work.epilogue;
#pragma unroll
    for (int i = 0; i < groups_m; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int m = m0 + warp_m + 16 * i + 8 * h + lane / 4;
            if (m >= work.m) continue;
            for (int s = 0; s < epilogue.addends; ++s) {
                const ikbo::Addend &addend = epilogue.addend[s];
                const int64_t source = addend.row_of == nullptr ? 0 : addend.row_of[work.addend_per_matrix ? z : m];
                const float *row = addend.rows + source * addend.stride + (work.addend_per_matrix ? m * work.c_row : 0);
#pragma unroll
                for (int j = 0; j < groups_n; ++j) {
                    const int n = n0 + warp_n + 8 * j + 2 * (lane % 4);
                    if (n < work.n) d[i][j][2 * h] += row[n];
                    if (n + 1 < work.n) d[i][j][2 * h + 1] += row[n + 1];
                }
            }
#pragma unroll
            for (int j = 0; j < groups_n; ++j) {
                const int n = n0 + warp_n + 8 * j + 2 * (lane % 4);
                if (n >= work.n) continue;
                const bool both = n + 1 < work.n;
                const float x = ikbo::activate(d[i][j][2 * h] + bias_at<T>(work, n), epilogue.activation);
                const float y = both ? ikbo::activate(d[i][j][2 * h + 1] + bias_at<T>(work, n + 1), epilogue.activation) : 0.0f;
                const int64_t at = z * work.c_matrix + m * work.c_row + n;
                if (work.wide) {
                    float *c = static_cast<float *>(work.c) + at;
                    c[0] = x;
                    if (both) c[1] = y;
                } else if (both && at % 2 == 0 && reinterpret_cast<uintptr_t>(work.c) % 4 == 0) {
                    *reinterpret_cast<uint32_t *>(static_cast<T *>(work.c) + at) = pack<T>(x, y);
                } else {
                    T *c = static_cast<T *>(work.c) + at;
                    c[0] = static_cast<T>(x);
                    if (both) c[1] = static_cast<T>(y);
                }
            }
        }
    }
}

}  // namespace

// nn: B contiguous in n; nt: B contiguous in k.
#define IKBO_KERNEL(name, T, Size, transposed, aligned)                                                                \
    extern "C" __global__ void __launch_bounds__(Size::threads, 2) name(const __grid_constant__ GemmWork work) {          \
        run<T, Size, transposed, aligned>(work);                                                                       \
    }
#define IKBO_FORMS(type, T)                                                                                            \
    IKBO_KERNEL(gemm_nn_##type, T, Large, false, true)                                                                 \
    IKBO_KERNEL(gemm_nn_##type##_unaligned, T, Large, false, false)                                                    \
    IKBO_KERNEL(gemm_nt_##type, T, Large, true, true)                                                                  \
    IKBO_KERNEL(gemm_nt_##type##_unaligned, T, Large, true, false)                                                     \
    IKBO_KERNEL(gemm_nn_##type##_small, T, Small, false, true)                                                         \
    IKBO_KERNEL(gemm_nn_##type##_small_unaligned, T, Small, false, false)                                              \
    IKBO_KERNEL(gemm_nt_##type##_small, T, Small, true, true)                                                          \
    IKBO_KERNEL(gemm_nt_##type##_small_unaligned, T, Small, true, false)

IKBO_FORMS(bf16, __nv_bfloat16)
IKBO_FORMS(fp16, __half)
