// How the Hopper kernels of attention cut the query rows of a candidate, and how the copy engine sees the operands.
#pragma once

#include <algorithm>

#include "attention.h"
#include "context.h"
#include "ikbo.h"

namespace ikbo {

// Units of 64 rows: see kernels/cuda/attention.h.
struct AttentionUnits {
    int64_t group, box_queries, slot_rows, chunks, pack;

    explicit AttentionUnits(const ikbo_attention_shape &s)
        : group(s.heads / s.key_heads),
          box_queries(std::clamp<int64_t>(attention_unit_rows / group, 1, s.queries)),
          slot_rows(box_queries * group),
          chunks((s.queries + box_queries - 1) / box_queries),
          pack(chunks > 1 ? 1 : std::max<int64_t>(1, attention_unit_rows / slot_rows)) {}
};

struct AttentionMaps {
    CUtensorMap q, k, v, out;

    // Boxes: a slot's rows of q and out; `box_keys` keys of one key head.
    AttentionMaps(const ikbo_attention_shape &s, const AttentionUnits &units, const ikbo_attention_args &args, int box_keys) {
        const auto size = [](int64_t value) { return static_cast<uint64_t>(value); };
        const int64_t row = s.heads * s.head_width, key_row = s.key_heads * s.head_width;
        const TensorShape rows{s.dtype,
                               {size(s.head_width), size(s.heads), size(s.queries), size(s.batch)},
                               {size(s.head_width), size(row), size(s.queries * row)},
                               {64, static_cast<uint32_t>(units.group), static_cast<uint32_t>(units.box_queries), 1}};
        q = tensor_map(rows, args.q, "q");
        out = tensor_map(rows, args.out, "out");
        k = v = q; // never read when there are no keys
        const int64_t keys = s.ragged ? s.total_keys : s.keys, users = s.ragged ? 1 : s.users;
        if (keys == 0) return;
        const TensorShape blocks{s.dtype,
                                 {size(s.head_width), size(s.key_heads), size(keys), size(users)},
                                 {size(s.head_width), size(key_row), size(keys * key_row)},
                                 {64, 1, static_cast<uint32_t>(box_keys), 1}};
        k = tensor_map(blocks, args.k, "k");
        v = tensor_map(blocks, args.v, "v");
    }
};

} // namespace ikbo
