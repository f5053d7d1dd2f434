// The portable product (sm_80 and newer): C[z, m, n] = activation(sum_k A[z, m, k] B[z, k, n] + addends + bias).
//
// mma.sync m16n8k16 with fp32 accumulators; operands arrive by cp.async in a ring of stages; fragments are loaded a step of 16
// ahead of the products that use them. Two tiles:
//   large  128 x 128 x 64, 4 warps of 64 x 64, 3 stages x 32 KiB = 96 KiB, 234 registers, 2 blocks a multiprocessor on sm_90
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

// A thread's share of the tiles along K of one operand: chunks of 8 elements in one column of chunks, a fixed number of rows
// apart. Everything that does not change along K is worked out once: the loop only advances a pointer.
template <bool Aligned, int Threads, int Rows, int Chunks, bool DepthInRow>
struct Fetcher {
    static constexpr int rows_apart = Threads / Chunks, count = Rows / rows_apart;
    static constexpr int depth = DepthInRow ? Chunks * 8 : Rows;
    static_assert(Threads % Chunks == 0 && Rows % rows_apart == 0 && rows_apart % 8 == 0,
                  "the swizzle repeats every 8 rows");
    const uint16_t *from;
    int64_t gap, step;
    uint32_t to;
    int at, granule;   // `at`: where the first chunk lies along K
    int inside;        // elements across K from the first chunk to the matrix's end; rows count 8
    bool valid[count]; // whether a chunk has any
    bool whole;        // chunks are inside or outside, none lies across the edge

    // `first` of `extent` rows (DepthInRow) or columns of the matrix are those of the tile.
    IKBO_DEVICE Fetcher(const uint16_t *matrix, int64_t stride, int first, int extent, int granule) : granule(granule) {
        const int thread = static_cast<int>(threadIdx.x), row = thread / Chunks, column = thread % Chunks * 8;
        to = swizzled<Chunks>(row, thread % Chunks);
        gap = rows_apart * stride;
        at = DepthInRow ? column : row;
        step = DepthInRow ? depth : depth * stride;
        from = matrix + (DepthInRow ? first + row : row) * stride + (DepthInRow ? column : first + column);
        inside = DepthInRow ? 8 * (extent - first - row) : extent - first - column;
        whole = DepthInRow || inside >= 8 || inside <= 0;
#pragma unroll
        for (int i = 0; i < count; ++i) valid[i] = (DepthInRow ? inside - 8 * i * rows_apart : inside) > 0;
    }
    // The next tile, of which `left` elements along K exist.
    IKBO_DEVICE void fetch(uint32_t tile, int left) {
        const uint32_t target = tile + to;
        if (Aligned && whole && left >= depth) {
#pragma unroll
            for (int i = 0; i < count; ++i)
                copy_16_or_zeros(target + i * rows_apart * Chunks * 16, from + i * gap, !valid[i]);
        } else {
#pragma unroll 1
            for (int i = 0; i < count; ++i) {
                const int across = DepthInRow ? inside - 8 * i * rows_apart : inside;
                const int along = DepthInRow ? left - at : 8 * (left - at - i * rows_apart);
                fetch_chunk<Aligned>(target + i * rows_apart * Chunks * 16, from + i * gap,
                                     max(0, min(8, min(across, along))), granule);
            }
        }
        from += step;
    }
};

// Lane k of a quad has pair q of its own four where it had pair k of lane q: a row's 32 columns become four runs of 16 bytes.
IKBO_DEVICE void transpose_quad(uint32_t *words, int lane) {
#pragma unroll
    for (int bit = 1; bit <= 2; bit *= 2) {
        const bool high = (lane & bit) != 0;
#pragma unroll
        for (int p = 0; p < 4; ++p) {
            if (p & bit) continue;
            const uint32_t sent = high ? words[p] : words[p + bit];
            const uint32_t received = __shfl_xor_sync(0xffffffffu, sent, bit);
            (high ? words[p] : words[p + bit]) = received;
        }
    }
}

// A thread's values of one row of C: pairs of neighbours, 8 columns apart; `columns` of the row exist from `values[0]` on.
template <typename T, int Groups, bool Small>
struct RowOfC {
    float values[Groups][2];
    int columns;

    IKBO_DEVICE void add(const float *row) {
        const bool pairs = reinterpret_cast<uintptr_t>(row) % 8 == 0;
        if (pairs && columns > 8 * (Groups - 1) + 1) {
#pragma unroll
            for (int j = 0; j < Groups; ++j) {
                const float2 pair = *reinterpret_cast<const float2 *>(row + 8 * j);
                values[j][0] += pair.x;
                values[j][1] += pair.y;
            }
        } else {
#pragma unroll
            for (int j = 0; j < Groups; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) values[j][e] += 8 * j + e < columns ? row[8 * j + e] : 0.0f;
        }
    }
    IKBO_DEVICE void add_bias(const T *bias) {
#pragma unroll
        for (int j = 0; j < Groups; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) values[j][e] += 8 * j + e < columns ? static_cast<float>(bias[8 * j + e]) : 0.0f;
    }
    IKBO_DEVICE void activate(int kind) {
#pragma unroll
        for (int j = 0; j < Groups; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) values[j][e] = ikbo::activate(values[j][e], kind);
    }
    IKBO_DEVICE void store_wide(float *to) const {
#pragma unroll
        for (int j = 0; j < Groups; ++j) {
            if (8 * j + 1 < columns && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
                *reinterpret_cast<float2 *>(to + 8 * j) = {values[j][0], values[j][1]};
            } else {
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    if (8 * j + e < columns) to[8 * j + e] = values[j][e];
            }
        }
    }
    // Runs of 16 bytes. `to` is where the quad's columns begin; all lanes take part, also those that do not write.
    IKBO_DEVICE void store_runs(T *to, int lane, bool writes) const {
#pragma unroll
        for (int j = 0; j < Groups; j += 4) {
            uint32_t words[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) words[i] = pack<T>(values[j + i][0], values[j + i][1]);
            transpose_quad(words, lane);
            if (writes) *reinterpret_cast<uint4 *>(to + 8 * j + lane % 4 * 8) = {words[0], words[1], words[2], words[3]};
        }
    }
    // Element by element; `first` is the column of values[0], `interleaved` the order of interleave.h.
    IKBO_DEVICE void store_elements(T *row, int first, bool interleaved) const {
#pragma unroll
        for (int j = 0; j < Groups; ++j) {
            const int column = Small && interleaved ? ikbo::interleaved_column(first + 8 * j) : first + 8 * j;
#pragma unroll
            for (int e = 0; e < 2; ++e)
                if (8 * j + e < columns) row[column + e] = static_cast<T>(values[j][e]);
        }
    }
};

template <typename T, typename S, bool TransposedB, bool Aligned>
IKBO_DEVICE void run(const GemmWork &work) {
    extern __shared__ __align__(128) uint8_t memory[];
#if __CUDA_ARCH__ >= 900
    let_next_grid_start();
#endif
    constexpr int a_chunks = S::depth / 8, b_chunks = (TransposedB ? S::depth : S::columns) / 8;
    constexpr int stage_bytes = S::a_bytes + S::b_bytes;
    constexpr bool small = std::is_same_v<S, Small>;
    const uint32_t base = shared_address(memory), end = base + S::stages * stage_bytes;

    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int warp_m = warp % (S::rows / S::warp_rows) * S::warp_rows;
    const int warp_n = warp / (S::rows / S::warp_rows) * S::warp_columns;

    const int tiles_m = (work.m + S::rows - 1) / S::rows, tiles_n = (work.n + S::columns - 1) / S::columns;
    const int tiles = tiles_m * tiles_n;
    const int z = blockIdx.x / tiles, tile = blockIdx.x % tiles;
    const int m0 = tile / tiles_n * S::rows, n0 = tile % tiles_n * S::columns;
    const uint16_t *a = static_cast<const uint16_t *>(work.a) + z * work.a_matrix;
    const uint16_t *b = static_cast<const uint16_t *>(work.b) + z * work.b_matrix;

    Fetcher<Aligned, S::threads, S::rows, a_chunks, true> fetch_a(a, work.a_row, m0, work.m, work.a_granule);
    Fetcher<Aligned, S::threads, TransposedB ? S::columns : S::depth, b_chunks, TransposedB> fetch_b(
        b, work.b_row, n0, work.n, work.b_granule);
    int left = work.k;  // along K, of what is still to be fetched
    const auto fetch = [&](uint32_t stage) {
        if (left > 0) {
            fetch_a.fetch(stage, left);
            fetch_b.fetch(stage + S::a_bytes, left);
            left -= S::depth;
        }
        copy_commit();
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
    uint32_t fa[2][groups_m][4], fb[2][groups_n / 2][4];  // of one step, and of the step after it
    const bool multiplies = m0 + warp_m < work.m && n0 + warp_n < work.n;  // else the warp only helps with the copies
    const auto load = [&](int to, uint32_t stage, int step) {
#pragma unroll
        for (int j = 0; j < groups_n / 2; ++j) {
            if constexpr (TransposedB) {
                load_matrix_x4(stage + b_at[step] + j * 16 * b_chunks * 16, fb[to][j]);
            } else {
                load_matrix_x4_transposed(stage + b_at[j] + step * 16 * b_chunks * 16, fb[to][j]);
            }
        }
#pragma unroll
        for (int i = 0; i < groups_m; ++i) load_matrix_x4(stage + a_at[step] + i * 16 * a_chunks * 16, fa[to][i]);
    };
#pragma unroll
    for (int i = 0; i < S::stages - 1; ++i) fetch(base + i * stage_bytes);
    copy_wait<S::stages - 2>();
    __syncthreads();
    uint32_t stage = base, refill = end - stage_bytes;
    if (multiplies) load(0, stage, 0);
    static_assert(steps % 2 == 0, "a stage begins with the first pair of fragments");
#pragma unroll 1
    for (int left_blocks = (work.k + S::depth - 1) / S::depth; left_blocks > 0; --left_blocks) {
        const uint32_t next = stage + stage_bytes == end ? base : stage + stage_bytes;
        fetch(refill);  // everybody was done with it at the barrier of the block before
        refill = stage;
#pragma unroll
        for (int step = 0; step < steps; ++step) {
            if (step == steps - 1) {
                copy_wait<S::stages - 2>();
                __syncthreads();
            }
            if (!multiplies) continue;
            load((step + 1) % 2, step == steps - 1 ? next : stage, (step + 1) % steps);
#pragma unroll
            for (int i = 0; i < groups_m; ++i)
#pragma unroll
                for (int j = 0; j < groups_n; ++j)
                    mma_16x8x16<T>(d[i][j], fa[step % 2][i], fb[step % 2][j / 2][2 * (j % 2)],
                                   fb[step % 2][j / 2][2 * (j % 2) + 1]);
        }
        stage = next;
    }
    if (!multiplies) return;

    const ikbo::Epilogue &epilogue = work.epilogue;
#if __CUDA_ARCH__ >= 900
    if (epilogue.addends > 0) wait_for_previous_grid();  // which may have computed them
#endif
    const int first = n0 + warp_n + 2 * (lane % 4);
    const bool runs = groups_n % 4 == 0 && n0 + warp_n + S::warp_columns <= work.n && work.c_row % 8 == 0 &&
                      work.c_matrix % 8 == 0 && reinterpret_cast<uintptr_t>(work.c) % 16 == 0 && !work.interleaved;
#pragma unroll
    for (int i = 0; i < groups_m; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int row_m = m0 + warp_m + 16 * i + 8 * h + lane / 4, m = min(row_m, work.m - 1);
            RowOfC<T, groups_n, small> row;
            row.columns = work.n - first;
#pragma unroll
            for (int j = 0; j < groups_n; ++j) {
                row.values[j][0] = d[i][j][2 * h];
                row.values[j][1] = d[i][j][2 * h + 1];
            }
#pragma unroll 1
            for (int s = 0; s < epilogue.addends; ++s) {
                const ikbo::Addend &addend = epilogue.addend[s];
                const int64_t source = addend.row_of == nullptr ? 0 : addend.row_of[work.addend_per_matrix ? z : m];
                row.add(static_cast<const float *>(addend.rows) + source * addend.stride +
                        (work.addend_per_matrix ? m * work.c_row : 0) + first);
            }
            if (epilogue.bias != nullptr) row.add_bias(static_cast<const T *>(epilogue.bias) + first);
            if (epilogue.activation != 0) row.activate(epilogue.activation);
            const int64_t at = z * work.c_matrix + m * work.c_row;
            const bool writes = row_m < work.m;
            if (work.wide) {
                if (writes) row.store_wide(static_cast<float *>(work.c) + at + first);
            } else if (runs) {
                row.store_runs(static_cast<T *>(work.c) + at + n0 + warp_n, lane, writes);
            } else if (writes) {
                row.store_elements(static_cast<T *>(work.c) + at, first, work.interleaved);
            }
        }
    }
}

}  // namespace

// nn: B contiguous in n; nt: B contiguous in k.
#define IKBO_KERNEL(name, T, Size, transposed, aligned)                                                                \
    extern "C" __global__ void __launch_bounds__(Size::threads, Size::residents)                                       \
        name(const __grid_constant__ GemmWork work) {                                                                  \
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
