// What the host and the kernels built on split_rings.cuh agree about. Plain data, no device code.
#pragma once

#include <stdint.h>

namespace ikbo {

constexpr int kRingThreads = 384;
constexpr int kRingChunk = 64;  // rows of the input that one consumer warpgroup multiplies
constexpr int kRingBlockK = 64; // 128 bytes: one swizzle row

// How the tiles are laid over the grid; see split_rings.cuh.
struct RingWork {
    int32_t consumers;   // 2, or 1: warpgroup 1 idles, so that few chunks spread over more clusters
    int32_t groups;      // of `consumers` chunks each
    int32_t stride;      // from a cluster's group to its next; its groups are otherwise neighbours
    int32_t runs;        // clusters for each width pair and residue of the stride; further ones have nothing to do
    int32_t light_first, light_runs, light; // runs that get `light` groups fewer than others, because they start later
    int32_t width_pairs; // pairs of weight tiles; a cluster keeps one
    int32_t k_blocks;    // 64-wide blocks of K
    int32_t first_block; // K block at which warpgroup 0 starts a tile; the order is cyclic
    int32_t skew;        // how many K blocks later warpgroup 1 starts; 0 with a resident weight, as first_block
};

#ifdef __CUDACC__
#define IKBO_RING __host__ __device__
#else
#define IKBO_RING
#endif
// Where run `run` begins among the `total` groups of its residue.
IKBO_RING inline int32_t ring_begin(const RingWork &work, int32_t total, int32_t run) {
    const int64_t shared = int64_t{total} + int64_t{work.light} * work.light_runs;
    const int32_t past = run - work.light_first, lighter = past < 0 ? 0 : past < work.light_runs ? past : work.light_runs;
    return static_cast<int32_t>(shared * run / work.runs) - work.light * lighter;
}

// The K block at which a warpgroup starts a tile.
IKBO_RING inline int32_t ring_start(const RingWork &work, int32_t warpgroup) {
    return (work.first_block + work.skew * warpgroup) % work.k_blocks;
}

// Shared memory of a kernel: a ring of weight boxes (Width rows of the weight x 64 k), a ring of input boxes (64 x 64) for each
// consumer warpgroup, and the output of one tile in `Parts` buffers, which the consumer warpgroups take in turn. A shape with boxes
// of fewer rows may keep the slots of another, so that two products go through the same memory.
template <int Width, int WeightSlots, int InputSlots, int StagingBytes, int Parts>
struct RingShape {
    static constexpr int width = Width, weight_slots = WeightSlots, input_slots = InputSlots;
    static constexpr int staging_bytes = StagingBytes, parts = Parts;
    static constexpr int weight_slot = Width * kRingBlockK * 2, weight_box = weight_slot, input_box = kRingChunk * kRingBlockK * 2;
    static constexpr int inputs = WeightSlots * weight_slot;
    static constexpr int staging = inputs + InputSlots * 2 * input_box;
    static constexpr int barriers = staging + Parts * StagingBytes;
    // With the barriers and what aligning to 1024 bytes may take.
    static constexpr int bytes = barriers + 8 * (2 * WeightSlots + 4 * InputSlots + 3 * Parts) + 1024;
    static_assert(bytes <= 232448, "more than a block may have on compute capability 9.0");
};

}  // namespace ikbo
