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
//   row r of a unit:    slot r / slot_rows, query (r % slot_rows) / group, query head key_head * group + r % group
#pragma once

#include <cstdint>

namespace ikbo {

constexpr int attention_unit_rows = 64;

struct AttentionTile {
    int32_t user, key_head, first, count;
};

// Written by the plan kernel.
struct AttentionPlanHeader {
    int32_t tiles;
    int32_t bad_row;         // -1, or the first row (or user) that breaks a rule
    int64_t bad_value;       // its value
    int32_t bad_kind;        // 0 none, 1 index, 2 first offset, 3 descending offsets, 4 user too long, 5 last offset
    int32_t reserved;
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
    int32_t tile_capacity;
    // Workspace
    int32_t *counts;           // [users + 1]: candidates of a user, then where its candidates start in `order`
    int32_t *cursor;           // [users]
    int32_t *ranked;           // [users] by descending number of keys
    int32_t *order;            // [batch] candidates by user
    AttentionTile *tiles;      // [tile_capacity]
    AttentionPlanHeader *header;
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
};

} // namespace ikbo
