// The pipeline that linear_compression.cu and concat_linear.cu share: a persistent product of many small input tiles with one
// weight, for a cluster of two blocks.
//
// Input tiles ("chunks") are 64 rows of D; each of a block's two consumer warpgroups multiplies one chunk with the block's tile
// of the weight (Width rows of it, the columns of D). The two blocks of a cluster hold neighbouring weight tiles and take the
// same chunks: each loads half of every input box and multicasts it to both. A cluster keeps its pair of weight tiles for
// good, so the stream of weight boxes repeats and both warpgroups share it.
//
// Roles: warpgroups 0 and 1 consume; warp 8 loads the weight, warps 10 and 11 the inputs of warpgroups 1 and 0, warp 9 stores
// what both staged. Weight and inputs have rings of their own, because a slot of the one is worth more than a slot of the other.
//
// Each warpgroup has an input ring of its own, which fills with its next tile during its epilogue.
// Streaming weight: both warpgroups take every box of W. Warpgroup 1 runs `skew` K blocks behind warpgroup 0, so that one
// multiplies during the other's epilogue, as far as the weight ring goes; the K loop is cyclic, and warpgroup 1 starts a tile
// at another block than warpgroup 0 (it sums in another order).
// Resident weight: K fits the weight ring and is loaded once, and the two take strict turns at the tensor cores. Both start at
// block 0.
//
// Two products may follow each other through the same rings (the users' before the candidates'): everybody keeps its position.
#pragma once

#include "split_rings.h"
#include "wgmma.cuh"

namespace ikbo {

constexpr int kConsumers = 2;
constexpr int kStepK = 16;

// `base` comes out of a shuffle: the compiler then keeps it, and what follows from it, in uniform registers instead of reading it
// anew in each K block.
template <class S>
struct RingMemory {
    uint32_t base;

    IKBO_DEVICE uint32_t weight(int slot) const { return base + slot * S::weight_slot; }
    IKBO_DEVICE uint32_t input(int slot, int warpgroup) const {
        return base + S::inputs + (slot * kConsumers + warpgroup) * S::input_box;
    }
    IKBO_DEVICE uint32_t staging(int part) const { return base + S::staging + part * S::staging_bytes; }
    IKBO_DEVICE uint32_t weight_full(int slot) const { return base + S::barriers + 8 * slot; }
    IKBO_DEVICE uint32_t weight_free(int slot) const { return weight_full(S::weight_slots + slot); }
    IKBO_DEVICE uint32_t input_full(int warpgroup, int slot) const {
        return weight_full(2 * S::weight_slots + warpgroup * S::input_slots + slot);
    }
    IKBO_DEVICE uint32_t input_free(int warpgroup, int slot) const { return input_full(kConsumers + warpgroup, slot); }
    IKBO_DEVICE uint32_t staged(int part) const { return input_full(2 * kConsumers, part); }
    // This part of the warpgroup's last tile has left its staging buffer: the other one may fill it.
    IKBO_DEVICE uint32_t stored(int warpgroup, int part) const { return staged(S::parts * (1 + warpgroup) + part); }

    IKBO_DEVICE void init_barriers() const {
        using namespace ptx;
        for (int slot = 0; slot < S::weight_slots; ++slot) {
            barrier_init(weight_full(slot), 1);
            barrier_init(weight_free(slot), kConsumers);
        }
        // A box is overwritten in both blocks at once, so both must have freed it.
        for (int w = 0; w < kConsumers; ++w) {
            for (int slot = 0; slot < S::input_slots; ++slot) {
                barrier_init(input_full(w, slot), 1);
                barrier_init(input_free(w, slot), 2);
            }
        }
        for (int part = 0; part < S::parts; ++part) {
            barrier_init(staged(part), 4);  // warps
            for (int w = 0; w < kConsumers; ++w) barrier_init(stored(w, part), 1);
        }
        fence_barrier_init();
    }
};

// The tiles of this cluster: `count` groups of chunks, all for one pair of weight tiles. Clusters take runs of neighbouring
// groups that are equal modulo `stride`, so that what a tile looks up is often what the tile before it looked up.
struct RingTiles {
    int width_pair, first, stride, count, consumers;

    IKBO_DEVICE explicit RingTiles(const RingWork &work) : stride(work.stride), consumers(work.consumers) {
        const int cluster = static_cast<int>(blockIdx.x) / 2;
        width_pair = cluster % work.width_pairs;
        const int set = cluster / work.width_pairs, residue = set % stride, run = set / stride;
        const int total = (work.groups - residue + stride - 1) / stride;
        const int begin = run < work.runs ? ring_begin(work, total, run) : 0;
        first = residue + begin * stride;
        count = run < work.runs ? ring_begin(work, total, run + 1) - begin : 0;
    }
    IKBO_DEVICE int chunk(int tile, int warpgroup) const { return (first + tile * stride) * consumers + warpgroup; }
};

// `steps` boxes of the weight's rows from `row` on, from K block work.first_block on and around.
template <class S>
IKBO_DEVICE void load_weight_boxes(const RingMemory<S> &memory, ptx::Ring<S::weight_slots> &ring, int steps,
                                   const RingWork &work, const CUtensorMap *weight, int row, int k_start) {
    using namespace ptx;
    int block = work.first_block;
    for (int step = 0; step < steps; ++step, ring.advance()) {
        fall_behind();
        barrier_wait(memory.weight_free(ring.slot), ring.parity ^ 1);
        barrier_arrive_expect(memory.weight_full(ring.slot), S::weight_box);
        tma_load(memory.weight(ring.slot), weight, memory.weight_full(ring.slot), k_start + block * kRingBlockK, row);
        if (++block == work.k_blocks) block = 0;
    }
}
// For all tiles of a streaming weight.
template <class S>
IKBO_DEVICE void load_weights(const RingMemory<S> &memory, ptx::Ring<S::weight_slots> &ring, const RingTiles &tiles,
                              const RingWork &work, const CUtensorMap *weight, int row, int k_start = 0) {
    const int steps = tiles.count == 0 ? 0 : tiles.count * work.k_blocks + work.skew;
    load_weight_boxes(memory, ring, steps, work, weight, row, k_start);
}

// One warpgroup's input boxes. The ring is the caller's: a kernel may stream another product through it afterwards.
// `locate(chunk)` says where a chunk lies; `issue(to, barrier, place, block)` starts the multicast of this block's half of an
// input box (4 KiB).
template <class S, class Locate, class Issue>
IKBO_DEVICE void load_inputs(int warpgroup, const RingMemory<S> &memory, ptx::Ring<S::input_slots> &ring,
                             const RingTiles &tiles, const RingWork &work, int rank, const Locate &locate,
                             const Issue &issue) {
    using namespace ptx;
    if (warpgroup >= work.consumers) return;
    int block = ring_start(work, warpgroup);
    for (int tile = 0; tile < tiles.count; ++tile) {
        const auto place = locate(tiles.chunk(tile, warpgroup));
        for (int step = 0; step < work.k_blocks; ++step, ring.advance()) {
            const uint32_t full = memory.input_full(warpgroup, ring.slot);
            fall_behind();
            barrier_wait(memory.input_free(warpgroup, ring.slot), ring.parity ^ 1);
            barrier_arrive_expect(full, S::input_box);
            issue(memory.input(ring.slot, warpgroup) + rank * (S::input_box / 2), full, place, block);
            if (++block == work.k_blocks) block = 0;
        }
    }
}

// Stores what the warpgroups stage, tile by tile, warpgroup 0 first: `store(from, place, part)` starts the copy of one part.
// The fence stands here and not in the 128 threads that wrote: there it made each wait for its writes to shared memory, part by
// part. It lies on the path from those writes (released by their arrival, acquired by the wait) to the copy.
// EachPart: tells of each part when it has left, else only of the last one.
template <bool EachPart, class S, class Locate, class Store>
IKBO_DEVICE void store_outputs(const RingMemory<S> &memory, const RingTiles &tiles, const Locate &locate,
                               const Store &store) {
    using namespace ptx;
    for (int tile = 0; tile < tiles.count; ++tile) {
        for (int w = 0; w < kConsumers; ++w) {
            const auto place = locate(tiles.chunk(tile, w));
            for (int part = 0; part < S::parts; ++part) {
                barrier_wait(memory.staged(part), w);  // two phases a tile
                fall_behind();
                fence_shared_for_copies();
                store(memory.staging(part), place, part);
                copies_commit();
                if (EachPart && part > 0) {
                    copies_read<1>();
                    barrier_arrive(memory.stored(w, part - 1));
                }
            }
            copies_read<0>();
            barrier_arrive(memory.stored(w, S::parts - 1));
        }
    }
    copies_written<0>();
}

// One consumer warpgroup's walk through the rings. A is the majorness of the input boxes: K (rows of 64 k) or MN (rows of 64
// chunk rows); the weight is K-major. Before a
// resident weight, another one may stream through the same slots.
template <typename T, class S, ptx::Major A, bool Resident>
struct RingConsumer {
    const RingMemory<S> &memory;
    const RingWork &work;
    int warpgroup, thread;
    ptx::Ring<S::weight_slots> weights = {};
    ptx::Ring<S::input_slots> inputs = {};
    ptx::Ring<S::weight_slots> first_weight = weights;  // where block 0 of a resident weight lies
    int weight_block = 0;                               // of a resident weight
    int used_weight = 0, used_input = 0;                // slots of the block whose products are still in flight

    IKBO_DEVICE void wait() const {
        ptx::fall_behind();
        ptx::barrier_wait(memory.weight_full(weights.slot), weights.parity);
        ptx::barrier_wait(memory.input_full(warpgroup, inputs.slot), inputs.parity);
    }
    IKBO_DEVICE void release_used() const {
        if (thread < 2) {
            ptx::barrier_arrive_at(memory.input_free(warpgroup, used_input), thread);
        } else if (!Resident && thread == 2) {
            ptx::barrier_arrive(memory.weight_free(used_weight));
        }
    }
    IKBO_DEVICE void advance() {
        used_weight = weights.slot;
        used_input = inputs.slot;
        weights.advance();
        if constexpr (Resident) {
            if (++weight_block == work.k_blocks) {
                weight_block = 0;
                weights = first_weight;
            }
        }
        inputs.advance();
    }
    // Named barriers: one for each warpgroup's turn, one for each warpgroup alone.
    static constexpr int kTurnBarrier = 1, kTurnThreads = 128 * kConsumers, kGroupBarrier = kTurnBarrier + kConsumers;
    // The warps of this warpgroup wait for each other.
    IKBO_DEVICE void meet() const { ptx::named_barrier_sync(kGroupBarrier + warpgroup, 128); }
    // Boxes of a streaming weight that only the other warpgroup uses, before the first or after the last tile. No product keeps
    // the warps together here: a slot released before every warp has seen it full could be full again, one lap on, and the late
    // warp would wait for a phase that nobody completes.
    IKBO_DEVICE void skip(int blocks) {
        for (int i = 0; i < blocks; ++i, weights.advance()) {
            ptx::fall_behind();
            ptx::barrier_wait(memory.weight_full(weights.slot), weights.parity);
            meet();
            if (thread == 2) ptx::barrier_arrive(memory.weight_free(weights.slot));
        }
    }
    // Waits until that part of the other warpgroup's tile before this one has left its staging buffer.
    IKBO_DEVICE void await_staging(int tile, int part) const {
        const int other = warpgroup ^ 1;
        ptx::fall_behind();
        ptx::barrier_wait(memory.stored(other, part), (tile ^ other) & 1);
    }
    // This warp has written its share of a part. One arrival a warp: 32 of them would be carried out one after the other.
    IKBO_DEVICE void arrive_staged(int part) const {
        __syncwarp();
        if (thread % 32 == 0) ptx::barrier_arrive(memory.staged(part));
    }
    // Waits until other blocks have counted `counter` up to `count`, and sees what they wrote before.
    IKBO_DEVICE void await(const uint32_t *counter, uint32_t count) const {
        if (thread == 0) ptx::await_count(counter, count);
        meet();
    }
    // Counts `counter` up by one when all of this warpgroup have written.
    IKBO_DEVICE void announce(uint32_t *counter) const {
        meet();
        if (thread == 0) ptx::add_release(counter, 1);
    }
    // Turns at the tensor cores (resident weight): warpgroup 1 opens the first turn of warpgroup 0.
    IKBO_DEVICE void await_turn() const { ptx::named_barrier_sync(kTurnBarrier + warpgroup, kTurnThreads); }
    IKBO_DEVICE void pass_turn() const { ptx::named_barrier_arrive(kTurnBarrier + (warpgroup ^ 1), kTurnThreads); }
    // Issues one block; on return the block before it has completed.
    template <int Steps>
    IKBO_DEVICE void multiply(float (&d)[S::width / 2], bool accumulate) {
        using namespace ptx;
        constexpr int a_step = A == Major::K ? kStepK * 2 : kStepK * kRingChunk * 2;
        wait();
        const uint64_t a = swizzled_descriptor(memory.input(inputs.slot, warpgroup));
        const uint64_t b = swizzled_descriptor(memory.weight(weights.slot));
        wgmma_fence();
#pragma unroll
        for (int step = 0; step < Steps; ++step) {
            wgmma_ss<T, S::width, A, Major::K>(d, a + step * descriptor_step(a_step),
                                               b + step * descriptor_step(kStepK * 2), accumulate || step != 0);
        }
        wgmma_commit();
        wgmma_wait<1>();
    }
    // One tile: `before` full blocks, `prefetch()`, a block of LastSteps steps of 16, `after` full blocks. `issued()` runs when
    // the last product has been issued. On return d is complete.
    template <int LastSteps, class Prefetch, class Issued>
    IKBO_DEVICE void tile(float (&d)[S::width / 2], int before, int after, const Prefetch &prefetch,
                          const Issued &issued) {
#pragma unroll 1
        for (int i = 0; i < before; ++i) {
            multiply<kRingBlockK / kStepK>(d, i != 0);
            if (i != 0) release_used();
            advance();
        }
        prefetch();
        multiply<LastSteps>(d, before != 0);
        if (before != 0) release_used();
        advance();
#pragma unroll 1
        for (int i = 0; i < after; ++i) {
            multiply<kRingBlockK / kStepK>(d, true);
            release_used();
            advance();
        }
        issued();
        ptx::wgmma_wait<0>();
        release_used();
        ptx::pin(d);
    }
};

}  // namespace ikbo
