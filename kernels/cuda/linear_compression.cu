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
// Roles: warpgroups 0, 1 multiply; warps 8 (W) and 11 (E) load; warps 9, 10 store what warpgroups 0, 1 staged.
// Shared memory (Rows = 224): W ring 4 x 28 KiB, E ring 6 x 16 KiB, staging 2 x 2 x 4 KiB = 225.5 KiB.
// Registers: 112 accumulators + 56 of the user part per consumer thread; 232 for consumers, 40 for the others.
//
// The K loop is cyclic: warpgroup 1 starts `skew` blocks after warpgroup 0, so that one multiplies during the other's
// epilogue while both share one stream of W. The block with the K tail (LastSteps steps of 16) then lies mid-tile. The
// order of summation depends on the warpgroup; the host allows skew only where that is a function of the column alone, so
// a candidate's result never depends on its position in the batch.
//
// The user part is the same kernel with Users = true: it leaves its accumulators, rounded to T, in fragment order
// [chunk][row tile][register / 8][thread][8], which the candidate launch adds in fp32 before rounding. The candidate launch
// starts while the user launch still runs on other multiprocessors, and waits for it before its first read.
#include "linear_compression.h"

#include "wgmma.cuh"

namespace {

using namespace ptx;
using ikbo::LinearCompressionWork;

constexpr int kConsumers = 2;
constexpr int kChunk = ikbo::kCompressionChunk;
constexpr int kBlockK = ikbo::kCompressionBlockK;  // 128 bytes: one swizzle row
constexpr int kStepK = 16;
constexpr int kWeightSlots = 4;
constexpr int kInputSlots = 6;
constexpr int kStagedRows = ikbo::kCompressionStagedRows;
constexpr int kStagings = 2;     // buffers per warpgroup
constexpr int kInputBox = kBlockK * kChunk * 2;
constexpr int kStagingBytes = kStagedRows * kChunk * 2;

template <int Rows>
struct Shared {
    static constexpr int weight_box = Rows * kBlockK * 2;
    static constexpr int inputs = kWeightSlots * weight_box;
    static constexpr int stagings = inputs + kInputSlots * kConsumers * kInputBox;
    static constexpr int barriers = stagings + kConsumers * kStagings * kStagingBytes;
    static_assert(barriers + 8 * (2 * kWeightSlots + 2 * kInputSlots + 4 * kStagings) + 1024 <=
                  ikbo::compression_shared_bytes(Rows));

    uint32_t base;

    IKBO_DEVICE uint32_t weight(int slot) const { return base + slot * weight_box; }
    IKBO_DEVICE uint32_t input(int slot, int warpgroup) const {
        return base + inputs + (slot * kConsumers + warpgroup) * kInputBox;
    }
    IKBO_DEVICE uint32_t staging(int warpgroup, int buffer) const {
        return base + stagings + (warpgroup * kStagings + buffer) * kStagingBytes;
    }
    IKBO_DEVICE uint32_t weight_full(int slot) const { return base + barriers + 8 * slot; }
    IKBO_DEVICE uint32_t weight_free(int slot) const { return weight_full(kWeightSlots + slot); }
    IKBO_DEVICE uint32_t input_full(int slot) const { return weight_full(2 * kWeightSlots + slot); }
    IKBO_DEVICE uint32_t input_free(int slot) const { return input_full(kInputSlots + slot); }
    IKBO_DEVICE uint32_t staged(int warpgroup, int buffer) const {
        return input_full(2 * kInputSlots + warpgroup * kStagings + buffer);
    }
    IKBO_DEVICE uint32_t staging_free(int warpgroup, int buffer) const {
        return input_full(2 * kInputSlots + (kConsumers + warpgroup) * kStagings + buffer);
    }

    IKBO_DEVICE void init_barriers() const {
        for (int slot = 0; slot < kWeightSlots; ++slot) {
            barrier_init(weight_full(slot), 1);
            barrier_init(weight_free(slot), kConsumers);
        }
        for (int slot = 0; slot < kInputSlots; ++slot) {
            barrier_init(input_full(slot), 1);
            barrier_init(input_free(slot), 2 * kConsumers);  // both blocks: a box is overwritten in both at once
        }
        for (int w = 0; w < kConsumers; ++w) {
            for (int buffer = 0; buffer < kStagings; ++buffer) {
                barrier_init(staged(w, buffer), 128);
                barrier_init(staging_free(w, buffer), 1);
            }
        }
        fence_barrier_init();
    }
};

// The tiles of this cluster: `count` pairs of chunks, all for the same pair of row tiles.
struct Tiles {
    int row_pair, first, stride, count;

    IKBO_DEVICE explicit Tiles(const LinearCompressionWork &work) {
        const int clusters = static_cast<int>(gridDim.x) / 2, cluster = static_cast<int>(blockIdx.x) / 2;
        row_pair = cluster % work.row_pairs;
        first = cluster / work.row_pairs;
        stride = clusters / work.row_pairs;
        count = (work.pairs - first + stride - 1) / stride;
    }
    IKBO_DEVICE int chunk(int tile, int warpgroup) const { return (first + tile * stride) * kConsumers + warpgroup; }
};

template <int Rows>
IKBO_DEVICE void load_weights(const Shared<Rows> &shared, const Tiles &tiles, const LinearCompressionWork &work,
                              const CUtensorMap *weight, int row) {
    Ring<kWeightSlots> ring;
    int block = work.first_block;
    const int steps = tiles.count * work.k_blocks + work.skew;
    for (int step = 0; step < steps; ++step, ring.advance()) {
        barrier_wait(shared.weight_free(ring.slot), ring.parity ^ 1);
        barrier_arrive_expect(shared.weight_full(ring.slot), Shared<Rows>::weight_box);
        tma_load(shared.weight(ring.slot), weight, shared.weight_full(ring.slot), block * kBlockK, row);
        if (++block == work.k_blocks) block = 0;
    }
}

template <int Rows>
IKBO_DEVICE void load_inputs(const Shared<Rows> &shared, const Tiles &tiles, const LinearCompressionWork &work,
                             const CUtensorMap *input, int rank) {
    constexpr int half_rows = kBlockK / 2;
    Ring<kInputSlots> ring;
    int block = work.first_block;
    int tile[kConsumers] = {0, 0}, position[kConsumers] = {0, -work.skew};
    const int steps = tiles.count * work.k_blocks + work.skew;
    for (int step = 0; step < steps; ++step, ring.advance()) {
        bool active[kConsumers];
        uint32_t bytes = 0;
#pragma unroll
        for (int w = 0; w < kConsumers; ++w) {
            active[w] = position[w] >= 0 && tile[w] < tiles.count;
            bytes += active[w] ? kInputBox : 0;
        }
        barrier_wait(shared.input_free(ring.slot), ring.parity ^ 1);
        barrier_arrive_expect(shared.input_full(ring.slot), bytes);
#pragma unroll
        for (int w = 0; w < kConsumers; ++w) {
            if (active[w]) {
                const int chunk = tiles.chunk(tile[w], w), matrix = chunk / work.chunks;
                tma_load_multicast(shared.input(ring.slot, w) + rank * (kInputBox / 2), input,
                                   shared.input_full(ring.slot), 0b11, (chunk - matrix * work.chunks) * kChunk,
                                   block * kBlockK + rank * half_rows, matrix);
            }
            if (++position[w] == work.k_blocks) {
                position[w] = 0;
                ++tile[w];
            }
        }
        if (++block == work.k_blocks) block = 0;
    }
}

template <int Rows>
IKBO_DEVICE void store_outputs(const Shared<Rows> &shared, const Tiles &tiles, const LinearCompressionWork &work,
                               const CUtensorMap *output, int row, int w) {
    Ring<kStagings> ring;
    for (int tile = 0; tile < tiles.count; ++tile) {
        const int chunk = tiles.chunk(tile, w), matrix = chunk / work.chunks;
        for (int part = 0; part < Rows / kStagedRows; ++part, ring.advance()) {
            barrier_wait(shared.staged(w, ring.slot), ring.parity);
            tma_store(output, shared.staging(w, ring.slot), (chunk - matrix * work.chunks) * kChunk,
                      row + part * kStagedRows, matrix);
            copies_commit();
            copies_read<0>();
            barrier_arrive(shared.staging_free(w, ring.slot));
        }
    }
    copies_written<0>();
}

// One consumer warpgroup's walk through the two rings.
template <typename T, int Rows>
struct Consumer {
    const Shared<Rows> &shared;
    int warpgroup, thread;
    Ring<kWeightSlots> weights = {};
    Ring<kInputSlots> inputs = {};
    int used_weight = 0, used_input = 0;  // the slots of the block whose products are still in flight

    IKBO_DEVICE void wait() const {
        barrier_wait(shared.weight_full(weights.slot), weights.parity);
        barrier_wait(shared.input_full(inputs.slot), inputs.parity);
    }
    IKBO_DEVICE void release(int weight_slot, int input_slot) const {
        if (thread < 2) {
            barrier_arrive_at(shared.input_free(input_slot), thread);
        } else if (thread == 2) {
            barrier_arrive(shared.weight_free(weight_slot));
        }
    }
    IKBO_DEVICE void advance() {
        used_weight = weights.slot;
        used_input = inputs.slot;
        weights.advance();
        inputs.advance();
    }
    // Blocks that only the other warpgroup uses, before the first or after the last tile.
    IKBO_DEVICE void skip(int blocks) {
        for (int i = 0; i < blocks; ++i) {
            wait();
            release(weights.slot, inputs.slot);
            advance();
        }
    }
    // Issues one block; on return the block before it has completed.
    template <int Steps>
    IKBO_DEVICE void multiply(float (&d)[Rows / 2], bool accumulate) {
        wait();
        const uint64_t a = swizzled_descriptor(shared.input(inputs.slot, warpgroup));
        const uint64_t b = swizzled_descriptor(shared.weight(weights.slot));
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < Steps; ++step) {
            wgmma_ss<T, Rows, Major::MN, Major::K>(d, a + step * descriptor_step(kStepK * kChunk * 2),
                                                   b + step * descriptor_step(kStepK * 2), accumulate || step != 0);
        }
        wgmma_commit();
        wgmma_wait<1>();
    }
};

template <typename T, int Rows, int LastSteps, bool Users>
IKBO_DEVICE void consume(const Shared<Rows> &shared, const Tiles &tiles, const LinearCompressionWork &work, int row_tile,
                         int warpgroup, int thread) {
    constexpr int kVectors = Rows / 16;  // 16-byte vectors of a thread's fragment
    const int lane = thread % 32, warp = thread / 32;
    Consumer<T, Rows> consumer{shared, warpgroup, thread};
    Ring<kStagings> staging;

    const int start = (work.first_block + work.skew * warpgroup) % work.k_blocks;
    const int before = work.k_blocks - 1 - start, after = start;  // full blocks before and after the one with the K tail
    const auto fragment = [&](int chunk) {
        const int64_t tile = static_cast<int64_t>(chunk) * (2 * work.row_pairs) + row_tile;
        return static_cast<uint4 *>(work.user_part) + tile * (kVectors * 128) + thread;
    };

    consumer.skip(work.skew * warpgroup);
#pragma unroll 1
    for (int tile = 0; tile < tiles.count; ++tile) {
        const int chunk = tiles.chunk(tile, warpgroup);
        float d[Rows / 2];
        uint4 addend[Users ? 1 : kVectors];
        int user_chunk = 0;
        if constexpr (!Users) {
            const int candidate = min(chunk / work.chunks, work.batch - 1);
            user_chunk = work.user_of[candidate] * work.chunks + chunk % work.chunks;
        }

#pragma unroll 1
        for (int i = 0; i < before; ++i) {
            consumer.template multiply<kBlockK / kStepK>(d, i != 0);
            if (i != 0) consumer.release(consumer.used_weight, consumer.used_input);
            consumer.advance();
        }
        if constexpr (!Users) {
            if (tile == 0) wait_for_previous_grid();
            const uint4 *from = fragment(user_chunk);
#pragma unroll
            for (int v = 0; v < kVectors; ++v) addend[v] = load_global_16(from + v * 128);
        }
        consumer.template multiply<LastSteps>(d, before != 0);
        if (before != 0) consumer.release(consumer.used_weight, consumer.used_input);
        consumer.advance();
#pragma unroll 1
        for (int i = 0; i < after; ++i) {
            consumer.template multiply<kBlockK / kStepK>(d, true);
            consumer.release(consumer.used_weight, consumer.used_input);
            consumer.advance();
        }
        wgmma_wait<0>();
        consumer.release(consumer.used_weight, consumer.used_input);
        pin(d);

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
            for (int part = 0; part < Rows / kStagedRows; ++part, staging.advance()) {
                const uint32_t buffer = shared.staging(warpgroup, staging.slot);
                barrier_wait(shared.staging_free(warpgroup, staging.slot), staging.parity ^ 1);
#pragma unroll
                for (int half = 0; half < kStagedRows / 16; ++half) {
                    const int m = half * 16 + row, i = 4 * (part * (kStagedRows / 8) + half * 2);
                    store_matrix_x4_transposed(buffer + m * 128 + ((column ^ (m & 7)) << 4), pack<T>(d[i], d[i + 1]),
                                               pack<T>(d[i + 2], d[i + 3]), pack<T>(d[i + 4], d[i + 5]),
                                               pack<T>(d[i + 6], d[i + 7]));
                }
                fence_shared_for_copies();
                barrier_arrive(shared.staged(warpgroup, staging.slot));
            }
        }
    }
    consumer.skip(work.skew * (1 - warpgroup));
}

template <typename T, int Rows, int LastSteps, bool Users>
IKBO_DEVICE void run(const CUtensorMap *weight, const CUtensorMap *input, const CUtensorMap *output,
                     const LinearCompressionWork &work) {
    extern __shared__ __align__(1024) uint8_t memory[];
    const Shared<Rows> shared{(shared_address(memory) + 1023) & ~1023u};
    const int warpgroup = warpgroup_index(), rank = static_cast<int>(cluster_rank());
    const Tiles tiles(work);
    const int row_tile = tiles.row_pair * 2 + rank;

    if (Users) let_next_grid_start();
    if (threadIdx.x == 0) shared.init_barriers();
    cluster_sync();

    if (warpgroup == kConsumers) {
        fewer_registers<40>();
        const int warp = static_cast<int>(threadIdx.x) / 32 - 4 * kConsumers;
        if (elect_one()) {
            if (warp == 0) {
                load_weights(shared, tiles, work, weight, row_tile * Rows);
            } else if (warp == 3) {
                load_inputs(shared, tiles, work, input, rank);
            } else if (!Users) {
                store_outputs(shared, tiles, work, output, row_tile * Rows, warp - 1);
            }
        }
        __syncwarp();
    } else {
        more_registers<232>();
        consume<T, Rows, LastSteps, Users>(shared, tiles, work, row_tile, warpgroup,
                                           static_cast<int>(threadIdx.x) % 128);
        __syncwarp();
    }
    // No block leaves while its peer may still multicast into it or arrive on its barriers.
    cluster_sync();
}

}  // namespace

#define IKBO_KERNEL(name, T, rows, last_steps, users)                                                                  \
    extern "C" __global__ void __launch_bounds__(ikbo::kCompressionThreads, 1)                                                         \
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
