// Checks that hold for every backend: shapes that contradict themselves, indices out of range.
#pragma once

#include "ikbo.h"

namespace ikbo {

void validate(const ikbo_concat_linear_shape &shape);
void validate(const ikbo_linear_compression_shape &shape);
void validate(const ikbo_attention_shape &shape);

inline bool has_index(int32_t map_kind) { return map_kind == IKBO_MAP_INDEX || map_kind == IKBO_MAP_INDEX_FROM_END; }

// Where a map has an index, host memory of [rows] of `bits`: throws IKBO_BAD_INDEX with the first offending position and value.
void check_index(const char *what, int32_t kind, const void *index, int32_t bits, int64_t rows, int64_t source_rows);

// `offsets` is host memory: [users + 1].
void check_key_offsets(const int32_t *offsets, const ikbo_attention_shape &shape);

// Row of the source that feeds `row`; `index` is host memory and its value is trusted (see check_index).
int64_t source_row(int32_t kind, int64_t repeats, const void *index, int32_t bits, int64_t source_rows, int64_t row);

} // namespace ikbo
