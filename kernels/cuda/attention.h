// What the attention kernels and their host code share: the plan and the parameters. Plain data, no device code, so that
// native/cuda can include it.
//
// Words. A *slot* is what one candidate brings to one key head: `box_queries` of its query rows times the `group` of
// query heads that read this key head, at most 64 rows. A candidate with more rows has several slots (`chunks`); where a
// slot is short, a *unit* of 64 rows takes several (`pack`). A *tile* is the units of one user and one key head that one
// block, or one cluster of blocks, works on together, because they read the same K and V.
//
//   slot s of user u:   candidate order[s / chunks], query rows box_queries * (s % chunks) ...
//   unit i of a tile:   slots [first + i * pack, first + (i + 1) * pack) below first + count
//   row r of a unit:    slot r / slot_rows, query (r % slot_rows) / group, query head key_head * group + r % slot_rows % group
#pragma once

#include <cstdint>

namespace ikbo {

constexpr int attention_unit_rows = 64;
constexpr int attention_plan_threads = 1024;
constexpr int attention_mma_threads = 128;
constexpr int attention_copy_threads = 256;

// A build of attention_ws.cu.
struct AttentionBuild {
    int width;     // of a head: 64 or 128
    int keys;      // of a block
    int stages;    // blocks of K, and of V, in flight
    int q_slots;   // units in flight
    int consumers; // warpgroups that compute, a unit each
    int cluster;   // blocks that share K and V
    bool stores = false; // the loading warp that is left over stores the results; every user has keys

    constexpr int threads() const { return 128 * (consumers + 1); }
    constexpr int tile_units() const { return consumers * cluster; }
    constexpr int key_bytes() const { return keys * width * 2; }
    constexpr int q_bytes() const { return attention_unit_rows * width * 2; }
    // A unit's entry is read after its Q slot was given back, until its warpgroup gives back the next one, or, by a warp that
    // stores, the one after that.
    constexpr int unit_table() const { return q_slots + (stores ? 2 : 1) * consumers; }
    constexpr int shared_bytes() const;
};

// What the loading warp tells a warpgroup about a unit.
struct AttentionUnit {
    int32_t blocks;                         // of keys; 0: the user has none; -1: no more units
    int32_t tail;                           // keys in the first block that is taken, the last of the user, 1..keys
    int32_t slots;                          // 0: this warpgroup has no rows in the tile
    int32_t head, query;                    // of the first row of every slot
    int32_t candidate[attention_unit_rows]; // of a slot
    int32_t reserved;
};

// Rings of K and V, Q, a staging buffer for O of each warpgroup, the unit table, two barriers for each buffer.
constexpr int AttentionBuild::shared_bytes() const {
    return 2 * stages * key_bytes() + (q_slots + consumers) * q_bytes() +
           unit_table() * static_cast<int>(sizeof(AttentionUnit)) + 16 * (2 * stages + q_slots + (stores ? consumers : 0));
}

constexpr AttentionBuild attention_d128{128, 128, 2, 4, 2, 1};
constexpr AttentionBuild attention_d128_c2{128, 128, 2, 4, 2, 2};
constexpr AttentionBuild attention_d128_c2_short{128, 128, 2, 4, 2, 2, true}; // for few keys
constexpr AttentionBuild attention_d64{64, 128, 4, 6, 3, 1};
constexpr AttentionBuild attention_d64_c2{64, 128, 4, 6, 3, 2};

// user is -1 where a cut tile had no units for this part: nothing follows it for the cluster whose turn it is.
struct AttentionTile {
    int32_t user, key_head, first, count;
};

// What the plan kernel can find wrong; the numbers of the map kinds are those of ikbo.h.
enum AttentionBad : int32_t {
    attention_bad_index,        // bad_row is a candidate
    attention_bad_first_offset, // the rest: bad_row is a user
    attention_bad_descending,
    attention_bad_length,
    attention_bad_last_offset,
    attention_bad_kinds // nothing is wrong
};
enum AttentionMap : int32_t { attention_map_repeats = 1, attention_map_index = 2, attention_map_all = 3, attention_map_index_from_end = 4 };

// Written by the plan kernel.
struct AttentionPlanHeader {
    int32_t tiles;
    int32_t bad; // AttentionBad
    int32_t bad_row, reserved;
    int64_t bad_value;
};

struct AttentionPlanParams {
    const void *index;          // map kind 2: [batch] of index_bits
    const int32_t *key_offsets; // NULL when dense
    int32_t map_kind, index_bits;
    int64_t repeats;
    int32_t batch, users, keys, key_heads;
    int64_t total_keys;
    int32_t chunks, pack; // slots of a candidate, slots in a unit
    int32_t units;        // units in a full tile
    int32_t cluster, clusters; // blocks in a cluster, and how many clusters run at the same time
    // Workspace; the first three are NULL where they fit in shared memory (attention_plan_shared_bytes)
    int32_t *counts;      // [users + 1]
    int32_t *cursor;      // [users]
    int32_t *ranked;      // [users]
    int32_t *order;       // [batch] candidates by user
    AttentionTile *tiles; // room for all: see native/cuda/attention_planned.cc
    AttentionPlanHeader *header;
    int32_t trap; // on what is wrong: nobody reads the header before the plan is used
};

// Where row r of a unit comes from: slot of the unit, query and head in the slot.
constexpr int attention_no_slot = 255;
struct AttentionRow {
    uint8_t slot, query, head, reserved;
};

// Shared memory beyond the plan's own 4 KB for the arrays above, or 0: they are too long and lie in memory.
constexpr int attention_plan_most_shared_bytes = 200 * 1024;
constexpr int64_t attention_plan_shared_bytes(int64_t users, bool ragged) {
    const int64_t bytes = 4 * ((ragged ? 3 : 2) * users + 1);
    return bytes <= attention_plan_most_shared_bytes ? bytes : 0;
}

struct AttentionParams {
    float *lse; // [batch, heads, queries] or NULL
    const AttentionTile *tiles;
    const int32_t *order;
    const int32_t *key_offsets; // NULL when dense
    const AttentionPlanHeader *header; // read where tile_count is negative: the host does not know it
    int32_t tile_count;
    int32_t keys; // of every user when dense
    int32_t queries, heads, group;
    int32_t chunks, pack, box_queries, slot_rows;
    float scale_log2; // scale * log2(e), not negative
    AttentionRow row[attention_unit_rows];
};

// attention_mma.cu and attention_wgmma.cu: every candidate by itself.
constexpr int attention_single_keys = 128;
constexpr int attention_single_shared_bytes(int width) { return (attention_unit_rows + 2 * attention_single_keys) * width * 2 + 24; }
template <int Width>
constexpr int attention_mma_keys = Width > 128 ? 32 : 64;
constexpr int attention_mma_shared_bytes(int width) { return (attention_unit_rows + 2 * (width > 128 ? 32 : 64)) * width * 2; }
struct AttentionLookupParams {
    const void *q, *k, *v;
    void *out;
    float *lse;                 // or NULL
    const int32_t *user_of;     // [batch]
    const int32_t *key_offsets; // NULL when dense
    int32_t keys, queries, heads, key_heads, group, width;
    int32_t box_queries; // attention_wgmma.cu: query rows of a block
    float scale;
};

// attention_copy.cu
struct AttentionCopyParams {
    const void *k, *v;
    void *k_copy, *v_copy;
    const int32_t *user_of;      // [batch]
    const int32_t *key_offsets;  // NULL when dense
    const int32_t *copy_offsets; // [batch + 1], NULL when dense
    int64_t keys, row_bytes;
};

} // namespace ikbo
