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
constexpr int attention_consumers = 2; // warpgroups that compute, a unit each
constexpr int attention_threads = 128 * (attention_consumers + 1);
constexpr int attention_plan_threads = 1024;
constexpr int attention_mma_threads = 128;
constexpr int attention_copy_threads = 256;

// Shared memory of attention_ws.cu: rings of K and V, Q, the unit table, barriers.
constexpr int attention_unit_table = 8;
constexpr int attention_unit_bytes = attention_unit_rows * 4 + 12;
constexpr int attention_shared_bytes(int width, int keys, int stages, int q_slots) {
    return 2 * stages * keys * width * 2 + q_slots * attention_unit_rows * width * 2 + attention_unit_table * attention_unit_bytes +
           8 * (4 * stages + 2 * q_slots);
}

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
enum AttentionMap : int32_t { attention_map_repeats = 1, attention_map_index = 2, attention_map_all = 3 };

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
    int32_t chunks, pack;      // slots of a candidate, slots in a unit
    int32_t units;             // units in a full tile
    // Workspace
    int32_t *counts;           // [users + 1]: candidates of a user, then where its candidates start in `order`
    int32_t *cursor;           // [users]
    int32_t *ranked;           // [users] by descending number of keys
    int32_t *order;            // [batch] candidates by user
    AttentionTile *tiles;      // room for all: see native/cuda/attention.cc
    AttentionPlanHeader *header;
};

// Where row r of a unit comes from: slot of the unit, query and head in the slot.
constexpr int attention_no_slot = 255;
struct AttentionRow {
    uint8_t slot, query, head, reserved;
};

struct AttentionParams {
    void *out;                  // [batch, queries, heads, width]
    float *lse;                 // [batch, heads, queries] or NULL
    const AttentionTile *tiles;
    const int32_t *order;
    const AttentionPlanHeader *header;
    const int32_t *key_offsets; // NULL when dense
    int32_t keys;               // of every user when dense
    int32_t queries, heads, group;
    int32_t chunks, pack, box_queries, slot_rows;
    float scale_log2;           // scale * log2(e), not negative
    AttentionRow row[attention_unit_rows];
};

// attention_mma.cu: every candidate by itself.
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
