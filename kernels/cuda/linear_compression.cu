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
// Shared memory (Rows = 224): W ring 4 x 28 KiB, E rings 2 x 5 x 8 KiB, staging 7 x 4 KiB = 220 KiB.
// Registers: 112 accumulators + 56 of the user part per consumer thread; 232 for consumers, 40 for the others.
//
// One launch, two phases through the same rings. First the user part, U times instead of B: its tiles leave their accumulators,
// rounded to T, in fragment order [chunk][row tile][register / 8][thread][8], and count up `finished`. Then the candidates; a
// tile adds the fragments in fp32 before rounding, and a cluster's first tile waits in its middle until all user tiles are
// there. Clusters wait for each other, so the launch is cooperative. Those with a user tile get fewer candidates where that helps.
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

// The matrices and chunks in them that a warpgroup's tiles have, one after the other. It divides at the start only: a division
// in each tile would delay the next products.
struct ChunkWalk {
    int matrix, chunk, matrix_step, chunk_step, chunks;

    IKBO_DEVICE ChunkWalk(const RingTiles &tiles, int warpgroup, int chunks_per_matrix) : chunks(chunks_per_matrix) {
        const int first = tiles.chunk(0, warpgroup), step = tiles.chunk(1, warpgroup) - first;
        matrix = first / chunks;
        chunk = first - matrix * chunks;
        matrix_step = step / chunks;
        chunk_step = step - matrix_step * chunks;
    }
    IKBO_DEVICE void advance() {
        matrix += matrix_step;
        chunk += chunk_step;
        if (chunk >= chunks) {
            chunk -= chunks;
            ++matrix;
        }
    }
};

// One consumer warpgroup, in both phases.
template <typename T, int Rows>
struct Consumer {
    static constexpr int kVectors = Rows / 16;  // 16-byte vectors of a thread's fragment
    using Shape = CompressionShape<Rows>;
    using Walk = RingConsumer<T, Shape, Major::MN, false>;

    const RingMemory<Shape> &memory;
    const LinearCompressionWork &work;
    int row_tile, row_tiles, warpgroup, thread;
    Walk walk;

    IKBO_DEVICE Consumer(const RingMemory<Shape> &memory, const LinearCompressionWork &work, int row_tile, int warpgroup,
                         int thread)
        : memory(memory), work(work), row_tile(row_tile), row_tiles(2 * work.candidates.width_pairs), warpgroup(warpgroup),
          thread(thread), walk{memory, work.candidates, warpgroup, thread} {}

    IKBO_DEVICE uint4 *fragment(int chunk) const {
        const int64_t tile = static_cast<int64_t>(chunk) * row_tiles + row_tile;
        return static_cast<uint4 *>(work.user_part) + tile * (kVectors * 128) + thread;
    }

    // All tiles of a phase: `prefetch(tile)` runs in the middle of one, `issued(tile)` after its last product was issued,
    // `finish(tile, d)` at its end.
    template <int LastSteps, class Prefetch, class Issued, class Finish>
    IKBO_DEVICE void phase(const RingWork &ring, const RingTiles &tiles, const Prefetch &prefetch, const Issued &issued,
                           const Finish &finish) {
        if (tiles.count == 0) return;
        if (warpgroup >= ring.consumers) return walk.skip(tiles.count * ring.k_blocks);
        const int start = ring_start(ring, warpgroup);
        walk.skip(ring.skew * warpgroup);
#pragma unroll 1
        for (int tile = 0; tile < tiles.count; ++tile) {
            float d[Rows / 2];
            walk.template tile<LastSteps>(d, ring.k_blocks - 1 - start, start, [&] { prefetch(tile); },
                                             [&] { issued(tile); });
            finish(tile, d);
        }
        walk.skip(ring.skew * (1 - warpgroup));
    }

    IKBO_DEVICE void users(const RingTiles &tiles) {
        phase<kRingBlockK / kStepK>(work.users, tiles, [](int) {}, [](int) {}, [&](int tile, const float (&d)[Rows / 2]) {
            const int chunk = tiles.chunk(tile, warpgroup);
            if (chunk < work.user_count * work.chunks) {
                uint4 *to = fragment(chunk);
#pragma unroll
                for (int v = 0; v < kVectors; ++v) {
                    to[v * 128] = {pack<T>(d[8 * v], d[8 * v + 1]), pack<T>(d[8 * v + 2], d[8 * v + 3]),
                                   pack<T>(d[8 * v + 4], d[8 * v + 5]), pack<T>(d[8 * v + 6], d[8 * v + 7])};
                }
            }
            walk.announce(work.finished);
        });
    }

    template <int LastSteps>
    IKBO_DEVICE void candidates(const RingTiles &tiles) {
        const int lane = thread % 32, warp = thread / 32;
        ChunkWalk next(tiles, warpgroup, work.chunks);
        const auto user_of_next = [&] { return work.user_of[min(next.matrix, work.batch - 1)]; };
        int next_user = user_of_next();  // read a tile ahead
        uint4 addend[kVectors];          // kept while neighbouring candidates have the same user
        int addend_chunk = -1;
        const auto prefetch = [&](int tile) {
            const int chunk = next_user * work.chunks + next.chunk;
            next.advance();
            next_user = user_of_next();
            if (tile == 0) walk.await(work.finished, work.user_tiles);
            if (chunk == addend_chunk) return;
            const uint4 *from = fragment(chunk);
#pragma unroll
            for (int v = 0; v < kVectors; ++v) addend[v] = load_global_16(from + v * 128);
            addend_chunk = chunk;
        };
        const auto issued = [&](int tile) { walk.await_staging(tile, Shape::parts - 1); };
        phase<LastSteps>(work.candidates, tiles, prefetch, issued, [&](int, float (&d)[Rows / 2]) {
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
            for (int part = 0; part < Shape::parts; ++part) {
                const uint32_t buffer = memory.staging(part);
#pragma unroll
                for (int half = 0; half < kCompressionStagedRows / 16; ++half) {
                    const int m = half * 16 + row, i = 4 * (part * (kCompressionStagedRows / 8) + half * 2);
                    store_matrix_x4_transposed(buffer + m * 128 + ((column ^ (m & 7)) << 4), pack<T>(d[i], d[i + 1]),
                                               pack<T>(d[i + 2], d[i + 3]), pack<T>(d[i + 4], d[i + 5]),
                                               pack<T>(d[i + 6], d[i + 7]));
                }
                walk.arrive_staged(part);
            }
        });
    }
};

struct Maps {
    const CUtensorMap *user_weight, *user, *weight, *candidate, *out;
};

template <typename T, int Rows, int LastSteps>
IKBO_DEVICE void run(const Maps &maps, const LinearCompressionWork &work) {
    extern __shared__ __align__(1024) uint8_t bytes[];
    using Shape = CompressionShape<Rows>;
    const RingMemory<Shape> memory{__shfl_sync(0xffffffffu, (shared_address(bytes) + 1023) & ~1023u, 0)};
    const int warpgroup = warpgroup_index(), rank = static_cast<int>(cluster_rank());
    const RingTiles users(work.users), candidates(work.candidates);
    const int row_tile = candidates.width_pair * 2 + rank;
    const auto locate = [&](int chunk) { return ChunkPlace(chunk, work.chunks); };

    if (threadIdx.x == 0) memory.init_barriers();
    cluster_sync();

    if (warpgroup == kConsumers) {
        fewer_registers<40>();
        const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * kConsumers;
        if (elect_one()) {
            if (warp == 0) {
                Ring<Shape::weight_slots> ring;
                load_weights(memory, ring, users, work.users, maps.user_weight, row_tile * Rows);
                load_weights(memory, ring, candidates, work.candidates, maps.weight, row_tile * Rows);
            } else if (warp == 1) {
                store_outputs<false>(memory, candidates, locate,
                              [&](uint32_t from, ChunkPlace at, int part) {
                                  tma_store(maps.out, from, at.column, row_tile * Rows + part * kCompressionStagedRows,
                                            at.matrix);
                              });
            } else {
                Ring<Shape::input_slots> ring;
                const auto load = [&](const RingTiles &tiles, const RingWork &phase, const CUtensorMap *input) {
                    load_inputs(3 - warp, memory, ring, tiles, phase, rank, locate,
                                [&](uint32_t to, uint32_t barrier, ChunkPlace at, int block) {
                                    tma_load_multicast(to, input, barrier, 0b11, at.column,
                                                       block * kRingBlockK + rank * (kRingBlockK / 2), at.matrix);
                                });
                };
                load(users, work.users, maps.user);
                load(candidates, work.candidates, maps.candidate);
            }
        }
        __syncwarp();
    } else {
        more_registers<232>();
        Consumer<T, Rows> consumer(memory, work, row_tile, warpgroup, static_cast<int>(threadIdx.x) % 128);
        consumer.users(users);
        consumer.template candidates<LastSteps>(candidates);
        __syncwarp();
    }
    // No block leaves while its peer may still multicast into it or arrive on its barriers.
    cluster_sync();
    // The last cluster to leave makes the counters ready for the next launch.
    const uint32_t clusters = gridDim.x / 2;
    if (threadIdx.x == 0 && rank == 0 && atomicInc(work.left, clusters - 1) == clusters - 1) *work.finished = 0;
}

}  // namespace

#define IKBO_LAST(rows, last_steps)                                                                                    \
    IKBO_KERNEL(lce_bf16_##rows##_k##last_steps, __nv_bfloat16, rows, last_steps)                                      \
    IKBO_KERNEL(lce_fp16_##rows##_k##last_steps, __half, rows, last_steps)
#define IKBO_KERNEL(name, T, rows, last_steps)                                                                         \
    extern "C" __global__ void __launch_bounds__(kRingThreads, 1)                                                      \
        name(const __grid_constant__ CUtensorMap user_weight, const __grid_constant__ CUtensorMap user,                \
             const __grid_constant__ CUtensorMap weight, const __grid_constant__ CUtensorMap candidate,                \
             const __grid_constant__ CUtensorMap out, const __grid_constant__ LinearCompressionWork work) {            \
        run<T, rows, last_steps>({&user_weight, &user, &weight, &candidate, &out}, work);                              \
    }

// Rows per tile; the K tail is cut to its length only where a step is expensive.
IKBO_LAST(32, 4)
IKBO_LAST(64, 4)
IKBO_LAST(96, 4)
IKBO_LAST(128, 4)
IKBO_LAST(160, 4)
IKBO_LAST(192, 4)
IKBO_LAST(224, 4)
IKBO_LAST(224, 1)
IKBO_LAST(224, 2)
IKBO_LAST(224, 3)
