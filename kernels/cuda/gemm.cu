// The portable product (sm_80 and newer): C[z, m, n] = activation(sum_k A[z, m, k] B[z, k, n] + addends + bias).
//
// mma.sync m16n8k16 with fp32 accumulators; operands arrive by cp.async in a ring of stages; fragments are loaded a step of 16
// ahead of the products that use them. Two tiles:
//   large  128 x 128 x 64, 4 warps of 64 x 64, 3 stages x 32 KiB = 96 KiB, 255 registers, 2 blocks a multiprocessor on sm_90
//   small   32 x  64 x 64, 4 warps of 16 x 32, 6 stages x 12 KiB = 72 KiB, 86 registers: few rows, long K (the user part)
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

// The copies of a block of K are issued in so many parts, each before the products of one more row of fragments: all at once they
// hold up the first products, and spread over more they get in the way of ldmatrix.
constexpr int kParts = 2;

// Offset of 16-byte chunk `chunk` in row `row` of a tile whose rows have Chunks chunks.
template <int Chunks>
IKBO_DEVICE int swizzled(int row, int chunk) {
    const int mask = Chunks == 4 ? (row >> 1) & 3 : row & 7;
    return (row * Chunks + (chunk ^ mask)) * 16;
}

// Eight elements to shared memory: those past `valid` become zero; nothing is read past them.
IKBO_DEVICE void fetch_chunk(uint32_t to, const uint16_t *from, int valid, int granule) {
    if (granule == 16) {
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
// apart. Everything that does not change along K is worked out once: the loop only advances a pointer. What lies outside the
// matrix across K is not fetched, since nothing of it is stored; what lies past the end of K becomes zero.
// Aligned: all chunks are 16-byte copies, none lies across an edge other than that of K, and strides fit 32 bits of bytes.
template <bool Aligned, int Threads, int Rows, int Chunks, bool DepthInRow>
struct Fetcher {
    static constexpr int rows_apart = Threads / Chunks, count = Rows / rows_apart;
    static constexpr int depth = DepthInRow ? Chunks * 8 : Rows;
    static_assert(Threads % Chunks == 0 && Rows % rows_apart == 0 && rows_apart % 8 == 0,
                  "the swizzle repeats every 8 rows");
    const uint16_t *from;
    int64_t stride;
    uint32_t gap, to;  // bytes from a chunk to the next, in the matrix; where the first one goes in a tile
    int at, granule;   // `at`: where the first chunk lies along K
    int inside;        // elements across K from the first chunk to the matrix's end; rows count 8
    int live;          // chunks that lie inside across K

    // `first` of `extent` rows (DepthInRow) or columns of the matrix are those of the tile.
    IKBO_DEVICE Fetcher(const uint16_t *matrix, int64_t stride, int first, int extent, int granule)
        : stride(stride), granule(granule) {
        const int thread = static_cast<int>(threadIdx.x), row = thread / Chunks, column = thread % Chunks * 8;
        to = swizzled<Chunks>(row, thread % Chunks);
        gap = static_cast<uint32_t>(rows_apart * stride * 2);
        at = DepthInRow ? column : row;
        from = matrix + (DepthInRow ? first + row : row) * stride + (DepthInRow ? column : first + column);
        inside = DepthInRow ? 8 * (extent - first - row) : extent - first - column;
        live = DepthInRow ? (extent - first - row + rows_apart - 1) / rows_apart : inside > 0 ? count : 0;
    }
    // Chunks `begin` to `end` of the next tile, of which `left` elements along K exist. Where that is not all of it, or nothing is
    // aligned, the first of the calls for a tile fetches the whole tile.
    IKBO_DEVICE void fetch(uint32_t tile, int left, int begin, int end) const {
        const uint32_t target = tile + to;
        if (Aligned && left >= depth) {
#pragma unroll
            for (int i = begin; i < end; ++i) copy_16_if(i < live, target + i * rows_apart * Chunks * 16, source(i));
        } else if (begin == 0 && Aligned) {
#pragma unroll
            for (int i = 0; i < count; ++i)
                if (i < live) copy_16(target + i * rows_apart * Chunks * 16, source(i), 2 * valid(left, i));
        } else if (begin == 0) {
#pragma unroll 1
            for (int i = 0; i < count; ++i) {
                const int across = DepthInRow ? inside - 8 * i * rows_apart : inside;
                fetch_chunk(target + i * rows_apart * Chunks * 16, from + i * rows_apart * stride,
                            max(0, min(valid(left, i), across)), granule);
            }
        }
    }
    IKBO_DEVICE void advance() { from += DepthInRow ? depth : depth * stride; }

  private:
    // Elements of chunk i that exist along K.
    IKBO_DEVICE int valid(int left, int i) const {
        return max(0, min(8, DepthInRow ? left - at : 8 * (left - at - i * rows_apart)));
    }
    IKBO_DEVICE const void *source(int i) const {  // a single multiplication and addition
        return reinterpret_cast<const char *>(from) + static_cast<uint64_t>(gap) * static_cast<uint32_t>(i);
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

// A thread's values of one row of C: half `h` of accumulators d, pairs of neighbours 8 columns apart. `row` and `to` point at
// its first column; `columns` of the row exist from there on.
template <int Groups>
struct RowOfC {
    float (&d)[Groups][4];
    int h, columns;

    IKBO_DEVICE void add(const float *row) const {
        const bool pairs = reinterpret_cast<uintptr_t>(row) % 8 == 0;
        if (pairs && columns > 8 * (Groups - 1) + 1) {
#pragma unroll
            for (int j = 0; j < Groups; ++j) {
                const float2 pair = *reinterpret_cast<const float2 *>(row + 8 * j);
                d[j][2 * h] += pair.x;
                d[j][2 * h + 1] += pair.y;
            }
        } else {
#pragma unroll
            for (int j = 0; j < Groups; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) d[j][2 * h + e] += 8 * j + e < columns ? row[8 * j + e] : 0.0f;
        }
    }
    template <typename T>
    IKBO_DEVICE void add_bias(const T *bias) const {
#pragma unroll
        for (int j = 0; j < Groups; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e)
                d[j][2 * h + e] += 8 * j + e < columns ? static_cast<float>(bias[8 * j + e]) : 0.0f;
    }
    IKBO_DEVICE void activate(int kind) const {
#pragma unroll
        for (int j = 0; j < Groups; ++j)
#pragma unroll
            for (int e = 0; e < 2; ++e) d[j][2 * h + e] = ikbo::activate(d[j][2 * h + e], kind);
    }
    IKBO_DEVICE void store_wide(float *to) const {
#pragma unroll
        for (int j = 0; j < Groups; ++j) {
            if (8 * j + 1 < columns && reinterpret_cast<uintptr_t>(to) % 8 == 0) {
                *reinterpret_cast<float2 *>(to + 8 * j) = {d[j][2 * h], d[j][2 * h + 1]};
            } else {
#pragma unroll
                for (int e = 0; e < 2; ++e)
                    if (8 * j + e < columns) to[8 * j + e] = d[j][2 * h + e];
            }
        }
    }
    // Runs of 16 bytes. `to` is where the quad's columns begin; all lanes take part, also those that do not write.
    template <typename T>
    IKBO_DEVICE void store_runs(T *to, int lane, bool writes) const {
#pragma unroll
        for (int j = 0; j < Groups; j += 4) {
            uint32_t words[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) words[i] = pack<T>(d[j + i][2 * h], d[j + i][2 * h + 1]);
            transpose_quad(words, lane);
            if (writes) *reinterpret_cast<uint4 *>(to + 8 * j + lane % 4 * 8) = {words[0], words[1], words[2], words[3]};
        }
    }
    // Element by element; `first` is the first column, `interleaved` the order of interleave.h.
    template <bool Small, typename T>
    IKBO_DEVICE void store_elements(T *row, int first, bool interleaved) const {
#pragma unroll
        for (int j = 0; j < Groups; ++j) {
            const int column = Small && interleaved ? ikbo::interleaved_column(first + 8 * j) : first + 8 * j;
#pragma unroll
            for (int e = 0; e < 2; ++e)
                if (8 * j + e < columns) row[column + e] = static_cast<T>(d[j][2 * h + e]);
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
    const uint32_t base = shared_address(memory);

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
    constexpr int copies_a = decltype(fetch_a)::count, copies = copies_a + decltype(fetch_b)::count;
    // Part `part` of `parts` of the next tile; to be called for all parts in turn.
    const auto fetch = [&](uint32_t stage, int part, int parts) {
        if (left > 0) {
            const int begin = part * copies / parts, end = (part + 1) * copies / parts;
            if (begin < copies_a) fetch_a.fetch(stage, left, begin, min(end, copies_a));
            if (end > copies_a) fetch_b.fetch(stage + S::a_bytes, left, max(begin - copies_a, 0), end - copies_a);
            if (part == parts - 1) {
                fetch_a.advance();
                fetch_b.advance();
                left -= S::depth;
            }
        }
        if (part == parts - 1) copy_commit();
    };

    constexpr int groups_m = S::warp_rows / 16, groups_n = S::warp_columns / 8, steps = S::depth / 16;
    // Where this lane's rows of the 8 x 8 matrices lie in a stage. Going 16 rows on keeps the swizzle, and going 2 chunks on
    // is an exclusive or, because the low bits of the chunk are free.
    constexpr uint32_t two_chunks = 32;
    uint32_t a_at = base + swizzled<a_chunks>(warp_m + lane % 16, lane / 16);
    uint32_t b_at = base + S::a_bytes +
                    (TransposedB ? swizzled<b_chunks>(warp_n + lane % 8 + 8 * (lane / 16), lane / 8 % 2)
                                 : swizzled<b_chunks>(lane % 16, warp_n / 8 + lane / 16));

    float d[groups_m][groups_n][4] = {};
    uint32_t fa[2][groups_m][4], fb[2][groups_n / 2][4];  // of one step, and of the step after it
    const auto load = [&](int to, uint32_t a, uint32_t b, int step) {
#pragma unroll
        for (int j = 0; j < groups_n / 2; ++j) {
            if constexpr (TransposedB) {
                load_matrix_x4((b ^ step * two_chunks) + j * 16 * b_chunks * 16, fb[to][j]);
            } else {
                load_matrix_x4_transposed((b ^ j * two_chunks) + step * 16 * b_chunks * 16, fb[to][j]);
            }
        }
#pragma unroll
        for (int i = 0; i < groups_m; ++i) load_matrix_x4((a ^ step * two_chunks) + i * 16 * a_chunks * 16, fa[to][i]);
    };
#pragma unroll 1
    for (int i = 0; i < S::stages - 1; ++i) fetch(base + i * stage_bytes, 0, 1);
    copy_wait<S::stages - 2>();
    __syncthreads();
    constexpr int wrap = (S::stages - 1) * stage_bytes;
    static_assert(steps % 2 == 0, "a stage begins with the first pair of fragments");
    static_assert(kParts <= (steps - 1) * groups_m, "the next stage is waited for in the last step");
    uint32_t refill = base + wrap;
    int slot = 0;
    const bool multiplies = m0 + warp_m < work.m && n0 + warp_n < work.n;  // else the warp only helps with the copies
    const auto multiply = [&](int step, int i) {
#pragma unroll
        for (int j = 0; j < groups_n; ++j)
            mma_16x8x16<T>(d[i][j], fa[step % 2][i], fb[step % 2][j / 2][2 * (j % 2)], fb[step % 2][j / 2][2 * (j % 2) + 1]);
    };
    if (multiplies) load(0, a_at, b_at, 0);
    // Addresses are carried from block to block: whatever the loop could work out anew, the compiler would.
#pragma unroll 1
    for (int left_blocks = (work.k + S::depth - 1) / S::depth; left_blocks > 0; --left_blocks) {
        slot = slot == S::stages - 1 ? 0 : slot + 1;
        const uint32_t onward = slot == 0 ? -wrap : stage_bytes;
        // Everybody was done with the stage that is refilled at the last barrier.
        if (multiplies) {
#pragma unroll
            for (int step = 0; step < steps - 1; ++step) {
                load((step + 1) % 2, a_at, b_at, step + 1);
#pragma unroll
                for (int i = 0; i < groups_m; ++i) {
                    if (step * groups_m + i < kParts) fetch(refill, step * groups_m + i, kParts);
                    multiply(step, i);
                }
            }
        } else {
            fetch(refill, 0, 1);
        }
        copy_wait<S::stages - 2>();
        __syncthreads();
        a_at += onward;
        b_at += onward;
        refill += slot == 1 ? -wrap : stage_bytes;
        if (multiplies) {
            load(0, a_at, b_at, 0);
#pragma unroll
            for (int i = 0; i < groups_m; ++i) multiply(steps - 1, i);
        }
    }
    if (!multiplies) return;

    const ikbo::Epilogue &epilogue = work.epilogue;
#if __CUDA_ARCH__ >= 900
    if (epilogue.addends > 0) wait_for_previous_grid();  // which may have computed them
#endif
    const int first = n0 + warp_n + 2 * (lane % 4);
    const bool runs = groups_n % 4 == 0 && n0 + warp_n + S::warp_columns <= work.n && work.c_row % 8 == 0 &&
                      work.c_matrix % 8 == 0 && reinterpret_cast<uintptr_t>(work.c) % 16 == 0 && !work.interleaved && !work.wide;
    // One step for all rows after the other: a step that is not wanted costs one jump, and the loads of one are in flight together.
    const auto each_row = [&](const auto &body) {
#pragma unroll
        for (int i = 0; i < groups_m; ++i)
#pragma unroll
            for (int h = 0; h < 2; ++h)
                body(RowOfC<groups_n>{d[i], h, work.n - first}, m0 + warp_m + 16 * i + 8 * h + lane / 4);
    };
#pragma unroll 1
    for (int s = 0; s < epilogue.addends; ++s) {
        const ikbo::Addend &addend = epilogue.addend[s];
        const float *rows = static_cast<const float *>(addend.rows) + first;
        if (work.addend_per_matrix && addend.row_of != nullptr) rows += addend.row_of[z] * addend.stride;
        each_row([&](const auto &row, int m) {
            m = min(m, work.m - 1);
            row.add(rows + (work.addend_per_matrix      ? m * work.c_row
                            : addend.row_of != nullptr ? addend.row_of[m] * addend.stride
                                                        : 0));
        });
    }
    if (epilogue.bias != nullptr)
        each_row([&](const auto &row, int) { row.add_bias(static_cast<const T *>(epilogue.bias) + first); });
    if (epilogue.activation != 0) each_row([&](const auto &row, int) { row.activate(epilogue.activation); });

    const int64_t at = z * work.c_matrix;
    if (runs) {
        each_row([&](const auto &row, int m) {
            row.store_runs(static_cast<T *>(work.c) + at + min(m, work.m - 1) * work.c_row + n0 + warp_n, lane, m < work.m);
        });
    } else if (work.wide) {
        each_row([&](const auto &row, int m) {
            if (m < work.m) row.store_wide(static_cast<float *>(work.c) + at + m * work.c_row + first);
        });
    } else {
        each_row([&](const auto &row, int m) {
            if (m < work.m)
                row.template store_elements<small>(static_cast<T *>(work.c) + at + m * work.c_row, first, work.interleaved);
        });
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
