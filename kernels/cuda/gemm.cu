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

// Fetches tiles of `Rows` rows by `Chunks` x 8 elements from a matrix with `rows` rows of `width` elements, zeros outside.
// A thread's chunks lie in one column of chunks, a fixed number of rows apart.
template <bool Aligned, int Threads, int Rows, int Chunks>
struct Fetcher {
    static constexpr int rows_apart = Threads / Chunks;
    static_assert(Threads % Chunks == 0 && Rows % rows_apart == 0 && rows_apart % 8 == 0,
                  "the swizzle repeats every 8 rows");
    const uint16_t *matrix;
    int64_t stride;
    int rows, width, granule;

    IKBO_DEVICE void fetch(uint32_t tile, int first_row, int first_column) const {
        const int thread = threadIdx.x, chunk = thread % Chunks;
        const int column = first_column + chunk * 8, valid = width - column;
        int row = first_row + thread / Chunks;
        const uint16_t *from = matrix + row * stride + column;
        uint32_t to = tile + swizzled<Chunks>(thread / Chunks, chunk);
#pragma unroll
        for (int i = 0; i < Rows / rows_apart; ++i) {
            const bool inside = row < rows && valid > 0;
            fetch_chunk<Aligned>(to, inside ? from : matrix, inside ? valid : 0, granule);
            row += rows_apart;
            from += rows_apart * stride;
            to += rows_apart * Chunks * 16;
        }
    }
};

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

    const Fetcher<Aligned, S::threads, S::rows, a_chunks> fetch_a{a, work.a_row, work.m, work.k, work.a_granule};
    const Fetcher<Aligned, S::threads, TransposedB ? S::columns : S::depth, b_chunks> fetch_b{
        b, work.b_row, TransposedB ? work.n : work.k, TransposedB ? work.k : work.n, work.b_granule};
    const auto fetch = [&](int block, int slot) {
        const int k0 = block * S::depth;
        const uint32_t stage = base + slot * (S::a_bytes + S::b_bytes);
        fetch_a.fetch(stage, m0, k0);
        fetch_b.fetch(stage + S::a_bytes, TransposedB ? n0 : k0, TransposedB ? k0 : n0);
    };

    constexpr int groups_m = S::warp_rows / 16, groups_n = S::warp_columns / 8, steps = S::depth / 16;
    // Where this lane's rows of the 8 x 8 matrices lie in a stage. Going 16 rows on keeps the swizzle, and going 2 chunks on
    // is an exclusive or, because the low bits of the chunk are free.
    const int a_row = warp_m + lane % 16, b_row = TransposedB ? warp_n + lane % 8 + 8 * (lane / 16) : lane % 16;
    uint32_t a_at[steps], b_at[TransposedB ? steps : groups_n / 2];
#pragma unroll
    for (int step = 0; step < steps; ++step) a_at[step] = swizzled<a_chunks>(a_row, 2 * step + lane / 16);
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof b_at / sizeof b_at[0]); ++i) {
        const int chunk = TransposedB ? 2 * i + (lane / 8) % 2 : warp_n / 8 + 2 * i + lane / 16;
        b_at[i] = S::a_bytes + swizzled<b_chunks>(b_row, chunk);
    }

    float d[groups_m][groups_n][4] = {};
    const int blocks = (work.k + S::depth - 1) / S::depth;
#pragma unroll
    for (int i = 0; i < S::stages - 1; ++i) {
        if (i < blocks) fetch(i, i);
        copy_commit();
    }
    int slot = 0, refill = S::stages - 1;
    for (int block = 0; block < blocks; ++block) {
        copy_wait<S::stages - 2>();
        __syncthreads();  // block is here, and everybody is done with the stage that is refilled next
        if (block + S::stages - 1 < blocks) fetch(block + S::stages - 1, refill);
        copy_commit();
        const uint32_t stage = base + slot * (S::a_bytes + S::b_bytes);
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            uint32_t fa[groups_m][4], fb[groups_n / 2][4];
#pragma unroll
            for (int i = 0; i < groups_m; ++i) load_matrix_x4(stage + a_at[step] + i * 16 * a_chunks * 16, fa[i]);
#pragma unroll
            for (int j = 0; j < groups_n / 2; ++j) {
                if constexpr (TransposedB) {
                    load_matrix_x4(stage + b_at[step] + j * 16 * b_chunks * 16, fb[j]);
                } else {
                    load_matrix_x4_transposed(stage + b_at[j] + step * 16 * b_chunks * 16, fb[j]);
                }
            }
#pragma unroll
            for (int i = 0; i < groups_m; ++i)
#pragma unroll
                for (int j = 0; j < groups_n; ++j)
                    mma_16x8x16<T>(d[i][j], fa[i], fb[j / 2][2 * (j % 2)], fb[j / 2][2 * (j % 2) + 1]);
        }
        slot = slot + 1 == S::stages ? 0 : slot + 1;
        refill = refill + 1 == S::stages ? 0 : refill + 1;
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
                const float *row = static_cast<const float *>(addend.rows) + source * addend.stride +
                                   (work.addend_per_matrix ? m * work.c_row : 0);
                const bool pairs = reinterpret_cast<uintptr_t>(row) % 8 == 0;
#pragma unroll
                for (int j = 0; j < groups_n; ++j) {
                    const int n = n0 + warp_n + 8 * j + 2 * (lane % 4);
                    float2 value = {0.0f, 0.0f};
                    if (pairs && n + 1 < work.n) {
                        value = *reinterpret_cast<const float2 *>(row + n);
                    } else {
                        if (n < work.n) value.x = row[n];
                        if (n + 1 < work.n) value.y = row[n + 1];
                    }
                    d[i][j][2 * h] += value.x;
                    d[i][j][2 * h + 1] += value.y;
                }
            }
#pragma unroll
            for (int j = 0; j < groups_n; ++j) {
                const int n = n0 + warp_n + 8 * j + 2 * (lane % 4);
                if (n >= work.n) continue;
                const bool both = n + 1 < work.n;
                const float x = ikbo::activate(d[i][j][2 * h] + bias_at<T>(work, n), epilogue.activation);
                const float y =
                    both ? ikbo::activate(d[i][j][2 * h + 1] + bias_at<T>(work, n + 1), epilogue.activation) : 0.0f;
                int column = n;
                // Only in the small kernels: the large ones lost 10 % to the choice.
                if constexpr (std::is_same_v<S, Small>) column = work.interleaved ? ikbo::interleaved_column(n) : n;
                const int64_t at = z * work.c_matrix + m * work.c_row + column;
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
    extern "C" __global__ void __launch_bounds__(Size::threads, 2) name(const __grid_constant__ GemmWork work) {       \
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
