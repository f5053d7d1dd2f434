// The loading warps of attention_ws.cu, its layout of shared memory, and the walk over the tiles.
#pragma once

#include "attention.h"
#include "wgmma.cuh"

namespace ikbo {

// Offsets in shared memory. A block of keys, and a unit of Q, is one or two halves of 64 columns: rows of 128 bytes, swizzled.
template <AttentionBuild B>
struct AttentionShared {
    static constexpr int halves = B.width / 64;
    static constexpr int key_half = B.keys * 128, q_half = attention_unit_rows * 128;
    static constexpr int key_bytes = B.key_bytes(), q_bytes = B.q_bytes(), unit_table = B.unit_table();
    static constexpr int k = 0;
    static constexpr int v = k + B.stages * key_bytes;
    static constexpr int q = v + B.stages * key_bytes;
    static constexpr int o = q + B.q_slots * q_bytes;
    static constexpr int units = o + B.consumers * q_bytes;
    static constexpr int k_full = units + unit_table * static_cast<int>(sizeof(AttentionUnit));
    static constexpr int k_empty = k_full + 8 * B.stages;
    static constexpr int v_full = k_empty + 8 * B.stages, v_empty = v_full + 8 * B.stages;
    static constexpr int q_full = v_empty + 8 * B.stages, q_empty = q_full + 8 * B.q_slots;
    // Of each warpgroup's O, where a warp of its own stores it: it is in the staging buffer; it has left it.
    static constexpr int staged = q_empty + 8 * B.q_slots, stored = staged + 8 * B.consumers;
    static_assert(staged + (B.stores ? 16 * B.consumers : 0) == B.shared_bytes() && B.shared_bytes() <= 227 * 1024);
    static_assert(key_bytes % 1024 == 0 && B.keys / B.cluster % 8 == 0);
};

// The tile that a cluster works on as its `turn`-th; every role walks the list in the same way. user is -1 past its end.
template <AttentionBuild B>
IKBO_DEVICE AttentionTile tile_at(const AttentionParams &p, int turn) {
    const int index = (turn * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)) / B.cluster;
    if (index >= (p.tile_count < 0 ? __ldg(&p.header->tiles) : p.tile_count)) return {-1, 0, 0, 0};
    const int4 t = __ldg(reinterpret_cast<const int4 *>(p.tiles + index));
    return {t.x, t.y, t.z, t.w};
}

// The rows of a unit from its staging buffer, which this thread may read (fence_shared_for_copies).
template <AttentionBuild B>
IKBO_DEVICE void store_unit(const CUtensorMap *map, const AttentionParams &p, const AttentionUnit &unit, uint32_t staging) {
    using Smem = AttentionShared<B>;
    const int slots = unit.slots;
#pragma unroll 1
    for (int s = 0; s < slots; ++s)
#pragma unroll
        for (int h = 0; h < Smem::halves; ++h)
            ptx::tma_store(map, staging + h * Smem::q_half + s * p.slot_rows * 128, 64 * h, unit.head, unit.query,
                           unit.candidate[s]);
    ptx::copies_commit();
}

struct KeyRange {
    int start, count;
};
IKBO_DEVICE KeyRange key_range(const AttentionParams &p, int user) {
    if (p.key_offsets == nullptr) return {0, p.keys};
    const int start = __ldg(p.key_offsets + user);
    return {start, __ldg(p.key_offsets + user + 1) - start};
}

template <AttentionBuild B>
IKBO_DEVICE int block_rank() {
    return B.cluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
}

// K or V blocks of all tiles, last block of a tile first. Each block of the cluster loads its share of the keys for all.
template <AttentionBuild B>
IKBO_DEVICE void load_keys(const CUtensorMap *map, const AttentionParams &p, uint32_t buffers, uint32_t full, uint32_t empty) {
    using Smem = AttentionShared<B>;
    constexpr int share = B.keys / B.cluster;
    const int rank = block_rank<B>();
    ptx::Ring<B.stages> ring;
    for (int turn = 0;; ++turn) {
        const AttentionTile tile = tile_at<B>(p, turn);
        if (tile.user < 0) return;
        const KeyRange keys = key_range(p, tile.user);
        const int user = p.key_offsets == nullptr ? tile.user : 0;
#pragma unroll 1
        for (int j = (keys.count + B.keys - 1) / B.keys - 1; j >= 0; --j) {
            const uint32_t barrier = full + 8 * ring.slot;
            ptx::barrier_wait(empty + 8 * ring.slot, ring.parity ^ 1);
            ptx::fall_behind();
            if (ptx::elect_one()) {
                ptx::barrier_arrive_expect(barrier, Smem::key_bytes);
                const int row = keys.start + j * B.keys + rank * share;
                const uint32_t to = buffers + ring.slot * Smem::key_bytes + rank * share * 128;
#pragma unroll
                for (int h = 0; h < Smem::halves; ++h) {
                    if constexpr (B.cluster > 1)
                        ptx::tma_load_multicast(to + h * Smem::key_half, map, barrier, (1 << B.cluster) - 1, 64 * h,
                                                tile.key_head, row, user);
                    else ptx::tma_load(to + h * Smem::key_half, map, barrier, 64 * h, tile.key_head, row, user);
                }
            }
            __syncwarp();
            ring.advance();
        }
    }
}

// Units of this block, one for each warpgroup of every tile in turn, then one end mark for each. Q by the copy engine, one box
// for each slot; the table by ordinary stores.
template <AttentionBuild B>
IKBO_DEVICE void load_units(const CUtensorMap *map, const AttentionParams &p, AttentionUnit *units, uint32_t buffers,
                            uint32_t full, uint32_t empty) {
    using Smem = AttentionShared<B>;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int rank = block_rank<B>();
    AttentionTile tile;
#pragma unroll 1
    for (int sequence = 0;; ++sequence) {
        const int w = sequence % B.consumers;
        if (w == 0) tile = tile_at<B>(p, sequence / B.consumers);
        const bool end = tile.user < 0;
        const int keys = end ? 0 : key_range(p, tile.user).count;
        const int first = tile.first + (w * B.cluster + rank) * p.pack;
        const int slots = end ? 0 : min(max(tile.first + tile.count - first, 0), p.pack);
        const int q_slot = sequence % B.q_slots;
        ptx::barrier_wait(empty + 8 * q_slot, sequence / B.q_slots % 2 ^ 1);
        ptx::fall_behind();
        AttentionUnit &unit = units[sequence % Smem::unit_table];
        const int head = tile.key_head * p.group, query = first % p.chunks * p.box_queries;
#pragma unroll 1
        for (int s = lane; s < slots; s += 32) unit.candidate[s] = __ldg(p.order + (first + s) / p.chunks);
        if (lane == 0) {
            unit.blocks = end ? -1 : (keys + B.keys - 1) / B.keys;
            unit.tail = (keys + B.keys - 1) % B.keys + 1;
            unit.slots = slots;
            unit.head = head;
            unit.query = query;
        }
        __syncwarp();
        if (ptx::elect_one()) {
            const int boxes = keys > 0 ? slots : 0;
            const uint32_t to = buffers + q_slot * Smem::q_bytes, barrier = full + 8 * q_slot;
            ptx::barrier_arrive_expect(barrier, boxes * p.slot_rows * 128 * Smem::halves);
#pragma unroll 1
            for (int s = 0; s < boxes; ++s)
#pragma unroll
                for (int h = 0; h < Smem::halves; ++h)
                    ptx::tma_load(to + h * Smem::q_half + s * p.slot_rows * 128, map, barrier, 64 * h, head, query,
                                  unit.candidate[s]);
        }
        __syncwarp();
        if (end && w == B.consumers - 1) return;
    }
}

// Results of this block's units in their order, staged by the warpgroups. One thread.
template <AttentionBuild B>
IKBO_DEVICE void store_units(const CUtensorMap *map, const AttentionParams &p, const AttentionUnit *units, uint32_t shared) {
    using Smem = AttentionShared<B>;
#pragma unroll 1
    for (int number = 0;; ++number) {
        const int w = number % B.consumers;
        ptx::barrier_wait(shared + Smem::staged + 8 * w, number / B.consumers % 2);
        ptx::fall_behind();
        const AttentionUnit &unit = units[number % Smem::unit_table];
        if (unit.blocks < 0) {
            if (w == B.consumers - 1) break;
            continue;
        }
        ptx::fence_shared_for_copies();
        store_unit<B>(map, p, unit, shared + Smem::o + w * Smem::q_bytes);
        ptx::copies_read<0>();
        ptx::barrier_arrive(shared + Smem::stored + 8 * w);
    }
    ptx::copies_written<0>();
}

} // namespace ikbo
