// Linear compression, warp-specialized and persistent:
//   out[b, m, n] = sum_k W[m, k] E[b, k, n] + user_part[user_of[b], m, n]
//
// Tile: one cluster of two blocks computes 128 columns n by 2 x Rows rows m; the blocks split m. Columns come in chunks of 64
// (chunk c = b * chunks + j, so neighbours may belong to different candidates and no N is wasted); each of a block's two
// consumer warpgroups owns one chunk and computes it transposed, D[64 n x Rows m] = E^T W^T: M = 433 then costs 2 x 224 rows
// instead of 4 x 128.
//   A = E^T, MN-major: box of 64 k x 64 n, loaded half by each block and multicast to both.
//   B = W, K-major: box of Rows m x 64 k, own half of the rows only. K is padded to 64 by the packing, with zeros.
// K and N tails of E and the M tail of W are zero-filled by the copy engine and clipped by the stores: nothing outside a
// candidate's own matrix is ever multiplied, and the output is contiguous.
//
// The pipeline is that of split_rings.cuh with input = E^T, W streaming. The block with the K tail (LastSteps steps of 16)
// lies mid-tile, since the K loop is cyclic. With skew the order of summation depends on the warpgroup; the host allows it
// only where that is a function of the column alone, so a candidate's result never depends on its position in the batch.
// Shared memory (Rows = 224): W ring 4 x 28 KiB, E ring 6 x 16 KiB, staging 2 x 2 x 4 KiB = 225.5 KiB.
// Registers: 112 accumulators + 56 of the user part per consumer thread; 232 for consumers, 40 for the others.
//
// The user part is the same kernel with Users = true: it leaves its accumulators, rounded to T, in fragment order
// [chunk][row tile][register / 8][thread][8], which the candidate launch adds in fp32 before rounding. The candidate launch
// starts while the user launch still runs on other multiprocessors, and waits for it before its first read.
#include "linear_compression.h"

#include "split_rings.cuh"

namespace {

using namespace ikbo;
using namespace ptx;

// Where a chunk's first column lies in a batch of matrices.
struct ChunkPlace {
    int matrix, column;
    IKBO_DEVICE ChunkPlace(int chunk, int chunks_per_matrix)
        : matrix(chunk / chunks_per_matrix), column((chunk - matrix * chunks_per_matrix) * kRingChunk) {}
};

template <typename T, int Rows, int LastSteps, bool Users>
IKBO_DEVICE void consume(const RingMemory<CompressionShape<Rows>> &memory, const RingTiles &tiles,
                         const LinearCompressionWork &work, int row_tile, int warpgroup, int thread) {
    constexpr int kVectors = Rows / 16;  // 16-byte vectors of a thread's fragment
    const int lane = thread % 32, warp = thread / 32;
    RingConsumer<T, CompressionShape<Rows>, Major::MN, false> consumer{memory, work.ring, warpgroup, thread};
    Ring<CompressionShape<Rows>::stagings> staging;

    const int start = (work.ring.first_block + work.ring.skew * warpgroup) % work.ring.k_blocks;
    const int before = work.ring.k_blocks - 1 - start, after = start;
    const auto fragment = [&](int chunk) {
        const int64_t tile = static_cast<int64_t>(chunk) * (2 * work.ring.width_pairs) + row_tile;
        return static_cast<uint4 *>(work.user_part) + tile * (kVectors * 128) + thread;
    };
    const auto user_of = [&](int tile) {
        return work.user_of[min(tiles.chunk(tile, warpgroup) / work.chunks, work.batch - 1)];
    };

    if (Users && warpgroup >= work.ring.consumers) {
        consumer.skip(tiles.count * work.ring.k_blocks);
        return;
    }
    consumer.skip(work.ring.skew * warpgroup);
    int next_user = Users ? 0 : user_of(0);  // read a tile ahead
    uint4 addend[Users ? 1 : kVectors];      // kept while neighbouring candidates have the same user
    int addend_chunk = -1;
#pragma unroll 1
    for (int tile = 0; tile < tiles.count; ++tile) {
        const int chunk = tiles.chunk(tile, warpgroup);
        float d[Rows / 2];
        const int user_chunk = Users ? 0 : next_user * work.chunks + chunk % work.chunks;
        if (!Users) next_user = user_of(min(tile + 1, tiles.count - 1));

        consumer.template tile<LastSteps>(
            d, before, after,
            [&] {
                if constexpr (!Users) {
                    if (tile == 0) wait_for_previous_grid();
                    if (user_chunk != addend_chunk) {
                        const uint4 *from = fragment(user_chunk);
#pragma unroll
                        for (int v = 0; v < kVectors; ++v) addend[v] = load_global_16(from + v * 128);
                        addend_chunk = user_chunk;
                    }
                }
            },
            [] {});

        if constexpr (Users) {
            if (chunk < work.batch * work.chunks) {
                uint4 *to = fragment(chunk);
#pragma unroll
                for (int v = 0; v < kVectors; ++v) {
                    to[v * 128] = {pack<T>(d[8 * v], d[8 * v + 1]), pack<T>(d[8 * v + 2], d[8 * v + 3]),
                                   pack<T>(d[8 * v + 4], d[8 * v + 5]), pack<T>(d[8 * v + 6], d[8 * v + 7])};
                }
            }
        } else {
#pragma unroll
            for (int v = 0; v < kVectors; ++v) {
                const uint32_t words[4] = {addend[v].x, addend[v].y, addend[v].z, addend[v].w};
#pragma unroll
                for (int i = 0; i < 4; ++i) {
                    const float2 user = unpack<T>(words[i]);
                    d[8 * v + 2 * i] += user.x;
                    d[8 * v + 2 * i + 1] += user.y;
                }
            }
            // The fragment is D[n, m]; transposing 8 x 8 matrices gives rows m of 64 n, swizzled as the store expects.
            const int column = 2 * warp + ((lane >> 3) & 1);
            const int row = (lane & 7) + 8 * (lane >> 4);
#pragma unroll
            for (int part = 0; part < Rows / kCompressionStagedRows; ++part, staging.advance()) {
                const uint32_t buffer = memory.staging(warpgroup, staging.slot);
                barrier_wait(memory.staging_free(warpgroup, staging.slot), staging.parity ^ 1);
#pragma unroll
                for (int half = 0; half < kCompressionStagedRows / 16; ++half) {
                    const int m = half * 16 + row, i = 4 * (part * (kCompressionStagedRows / 8) + half * 2);
                    store_matrix_x4_transposed(buffer + m * 128 + ((column ^ (m & 7)) << 4), pack<T>(d[i], d[i + 1]),
                                               pack<T>(d[i + 2], d[i + 3]), pack<T>(d[i + 4], d[i + 5]),
                                               pack<T>(d[i + 6], d[i + 7]));
                }
                fence_shared_for_copies();
                barrier_arrive(memory.staged(warpgroup, staging.slot));
            }
        }
    }
    consumer.skip(work.ring.skew * (1 - warpgroup));
}

template <typename T, int Rows, int LastSteps, bool Users>
IKBO_DEVICE void run(const CUtensorMap *weight, const CUtensorMap *input, const CUtensorMap *output,
                     const LinearCompressionWork &work) {
    extern __shared__ __align__(1024) uint8_t bytes[];
    const RingMemory<CompressionShape<Rows>> memory{(shared_address(bytes) + 1023) & ~1023u};
    const int warpgroup = warpgroup_index(), rank = static_cast<int>(cluster_rank());
    const RingTiles tiles(work.ring);
    const int row_tile = tiles.width_pair * 2 + rank;
    const auto locate = [&](int chunk) { return ChunkPlace(chunk, work.chunks); };

    if (Users) let_next_grid_start();
    if (threadIdx.x == 0) memory.template init_barriers<false>();
    cluster_sync();

    if (warpgroup == kConsumers) {
        fewer_registers<40>();
        const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * kConsumers;
        if (elect_one()) {
            if (warp == 0) {
                load_weights<CompressionShape<Rows>, false>(memory, tiles, work.ring, weight, row_tile * Rows);
            } else if (warp == 3) {
                load_inputs(memory, tiles, work.ring, rank, locate,
                            [&](uint32_t to, uint32_t barrier, ChunkPlace at, int block) {
                                tma_load_multicast(to, input, barrier, 0b11, at.column,
                                                   block * kRingBlockK + rank * (kRingBlockK / 2), at.matrix);
                            });
            } else if (!Users) {
                store_outputs(memory, tiles, warp - 1, Rows / kCompressionStagedRows, locate,
                              [&](uint32_t from, ChunkPlace at, int part) {
                                  tma_store(output, from, at.column, row_tile * Rows + part * kCompressionStagedRows,
                                            at.matrix);
                              });
            }
        }
        __syncwarp();
    } else {
        more_registers<232>();
        consume<T, Rows, LastSteps, Users>(memory, tiles, work, row_tile, warpgroup,
                                           static_cast<int>(threadIdx.x) % 128);
        __syncwarp();
    }
    // No block leaves while its peer may still multicast into it or arrive on its barriers.
    cluster_sync();
}

}  // namespace

#define IKBO_KERNEL(name, T, rows, last_steps, users)                                                                  \
    extern "C" __global__ void __launch_bounds__(kRingThreads, 1)                                                      \
        name(const __grid_constant__ CUtensorMap weight, const __grid_constant__ CUtensorMap input,                    \
             const __grid_constant__ CUtensorMap output, const LinearCompressionWork work) {                           \
        run<T, rows, last_steps, users>(&weight, &input, &output, work);                                               \
    }
#define IKBO_ROWS(rows)                                                                                                \
    IKBO_KERNEL(lce_users_bf16_##rows, __nv_bfloat16, rows, 4, true)                                                   \
    IKBO_KERNEL(lce_users_fp16_##rows, __half, rows, 4, true)                                                          \
    IKBO_KERNEL(lce_bf16_##rows##_k4, __nv_bfloat16, rows, 4, false)                                                   \
    IKBO_KERNEL(lce_fp16_##rows##_k4, __half, rows, 4, false)
#define IKBO_LAST(rows, last_steps)                                                                                    \
    IKBO_KERNEL(lce_bf16_##rows##_k##last_steps, __nv_bfloat16, rows, last_steps, false)                               \
    IKBO_KERNEL(lce_fp16_##rows##_k##last_steps, __half, rows, last_steps, false)

// Rows per tile; the K tail is cut to its length only where a step is expensive.
IKBO_ROWS(32)
IKBO_ROWS(64)
IKBO_ROWS(96)
IKBO_ROWS(128)
IKBO_ROWS(160)
IKBO_ROWS(192)
IKBO_ROWS(224)
IKBO_LAST(224, 1)
IKBO_LAST(224, 2)
IKBO_LAST(224, 3)
