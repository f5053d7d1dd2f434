#include "validate.h"

#include <cmath>

#include "error.h"

namespace ikbo {
namespace {

// Sizes are products of at most four factors; keeping every total below 2^46 elements keeps byte counts in range.
constexpr int64_t max_elements = int64_t{1} << 46;

void check_size(const char *what, int64_t value) {
    if (value < 0) fail(IKBO_INVALID, "%s is %lld; a size cannot be negative", what, static_cast<long long>(value));
    if (value > max_elements) fail(IKBO_INVALID, "%s is %lld, more than can be addressed", what, static_cast<long long>(value));
}

void check_total(const char *what, std::initializer_list<int64_t> factors) {
    int64_t total = 1;
    for (int64_t factor : factors) {
        if (factor == 0) return;
        if (total > max_elements / factor) fail(IKBO_INVALID, "%s has more elements than can be addressed", what);
        total *= factor;
    }
}

void check_choice(const char *what, int32_t value, int32_t last) {
    if (value < 0 || value > last) fail(IKBO_INVALID, "%s is %d; known values are 0 to %d", what, value, last);
}

void check_stage(int32_t stage) {
    if (stage != IKBO_STAGE_BEST) check_choice("stage", stage, IKBO_STAGE_WARP_SPECIALIZED);
}

void check_stride(const char *what, int64_t stride, int64_t width) {
    check_size(what, stride);
    if (stride < width)
        fail(IKBO_INVALID, "%s is %lld, less than the row's %lld elements", what, static_cast<long long>(stride),
             static_cast<long long>(width));
}

void check_map(const char *what, int32_t kind, int32_t bits, int64_t repeats, int64_t rows, int64_t source_rows) {
    const auto r = static_cast<long long>(rows);
    const auto s = static_cast<long long>(source_rows);
    check_choice("map kind", kind, IKBO_MAP_INDEX_FROM_END);
    if (kind == IKBO_MAP_NONE && source_rows != rows)
        fail(IKBO_INVALID, "%s has %lld rows and no map, but the output has %lld", what, s, r);
    if (kind == IKBO_MAP_REPEATS) {
        if (repeats < 1) fail(IKBO_INVALID, "%s repeats each row %lld times; at least 1", what, static_cast<long long>(repeats));
        check_total(what, {source_rows, repeats});
        if (source_rows * repeats != rows)
            fail(IKBO_INVALID, "%s has %lld rows repeated %lld times, which is not the output's %lld", what, s,
                 static_cast<long long>(repeats), r);
    }
    if (has_index(kind) && bits != 32 && bits != 64)
        fail(IKBO_INVALID, "%s has an index of %d bits; 32 or 64", what, bits);
    if (kind == IKBO_MAP_ALL && source_rows < 1 && rows > 0)
        fail(IKBO_INVALID, "%s is expanded to %lld rows but has none", what, r);
}

int64_t index_at(const void *index, int32_t bits, int64_t row) {
    return bits == 64 ? static_cast<const int64_t *>(index)[row] : static_cast<const int32_t *>(index)[row];
}

} // namespace

void validate(const ikbo_concat_linear_shape &s) {
    check_choice("dtype", s.dtype, IKBO_BF16);
    check_choice("activation", s.activation, IKBO_SILU);
    check_stage(s.stage);
    if (s.blocks < 1 || s.blocks > IKBO_MAX_BLOCKS)
        fail(IKBO_INVALID, "%d blocks; 1 to %d", s.blocks, IKBO_MAX_BLOCKS);
    check_size("rows", s.rows);
    check_size("outputs", s.outputs);
    int64_t width = 0;
    for (int32_t i = 0; i < s.blocks; ++i) {
        const auto &block = s.block[i];
        const std::string name = text("block %d", i);
        check_size((name + " source rows").c_str(), block.source_rows);
        check_size((name + " width").c_str(), block.width);
        check_stride((name + " row stride").c_str(), block.row_stride, block.width);
        check_total(name.c_str(), {block.source_rows, block.row_stride});
        check_map(name.c_str(), block.map_kind, block.index_bits, block.repeats, s.rows, block.source_rows);
        width += block.width;
        check_size("sum of the widths", width);
    }
    check_stride("weight stride", s.weight_stride, width);
    check_stride("output stride", s.out_stride, s.outputs);
    check_total("weight", {s.outputs, s.weight_stride});
    check_total("output", {s.rows, s.out_stride});
    check_total("concatenation", {s.rows, width});
}

void validate(const ikbo_linear_compression_shape &s) {
    check_choice("dtype", s.dtype, IKBO_BF16);
    check_stage(s.stage);
    check_size("batch", s.batch);
    check_size("users", s.users);
    check_size("outputs", s.outputs);
    check_size("columns", s.columns);
    check_size("user width", s.user_width);
    check_size("candidate width", s.candidate_width);
    check_map("user", s.map_kind, s.index_bits, s.repeats, s.batch, s.users);
    check_stride("weight stride", s.weight_stride, s.user_width + s.candidate_width);
    check_total("weight", {s.outputs, s.weight_stride});
    check_total("user", {s.users, s.user_width, s.columns});
    check_total("candidate", {s.batch, s.candidate_width, s.columns});
    check_total("output", {s.batch, s.outputs, s.columns});
    check_total("concatenation", {s.batch, s.user_width + s.candidate_width, s.columns});
}

void validate(const ikbo_attention_shape &s) {
    check_choice("dtype", s.dtype, IKBO_BF16);
    check_stage(s.stage);
    check_size("batch", s.batch);
    check_size("users", s.users);
    check_size("queries", s.queries);
    check_size("heads", s.heads);
    check_size("key heads", s.key_heads);
    check_size("head width", s.head_width);
    check_size("keys", s.keys);
    check_size("total keys", s.total_keys);
    check_map("keys and values", s.map_kind, s.index_bits, s.repeats, s.batch, s.users);
    if (s.heads > 0 && (s.key_heads < 1 || s.heads % s.key_heads != 0))
        fail(IKBO_INVALID, "%lld key heads do not divide %lld heads", static_cast<long long>(s.key_heads),
             static_cast<long long>(s.heads));
    if (!std::isfinite(s.scale)) fail(IKBO_INVALID, "the scale is not a finite number");
    if (!s.ragged && s.total_keys != 0) fail(IKBO_INVALID, "total_keys is for ragged keys; 0 when dense");
    check_total("queries", {s.batch, s.queries, s.heads, s.head_width});
    if (s.ragged) check_total("keys", {s.total_keys, s.key_heads, s.head_width});
    else check_total("keys", {s.users, s.keys, s.key_heads, s.head_width});
    check_total("copied keys", {s.batch, s.keys, s.key_heads, s.head_width});
}

void check_index(const char *what, int32_t kind, const void *index, int32_t bits, int64_t rows, int64_t source_rows) {
    if (!has_index(kind)) return;
    const int64_t least = kind == IKBO_MAP_INDEX_FROM_END ? -source_rows : 0;
    for (int64_t row = 0; row < rows; ++row) {
        const int64_t value = index_at(index, bits, row);
        if (value < least || value >= source_rows)
            fail(IKBO_BAD_INDEX, "the index of %s names row %lld at position %lld, but its source has %lld rows", what,
                 static_cast<long long>(value), static_cast<long long>(row), static_cast<long long>(source_rows));
    }
}

void check_key_offsets(const int32_t *offsets, const ikbo_attention_shape &s) {
    if (offsets[0] != 0) fail(IKBO_INVALID, "key_offsets starts with %d; it must start with 0", offsets[0]);
    for (int64_t u = 0; u < s.users; ++u) {
        const int64_t length = int64_t{offsets[u + 1]} - offsets[u];
        if (length < 0) fail(IKBO_INVALID, "key_offsets descends at user %lld", static_cast<long long>(u));
        if (length > s.keys)
            fail(IKBO_INVALID, "user %lld has %lld keys, more than the longest user's %lld", static_cast<long long>(u),
                 static_cast<long long>(length), static_cast<long long>(s.keys));
    }
    if (offsets[s.users] != s.total_keys)
        fail(IKBO_INVALID, "key_offsets ends with %d, but there are %lld rows of keys", offsets[s.users],
             static_cast<long long>(s.total_keys));
}

int64_t source_row(int32_t kind, int64_t repeats, const void *index, int32_t bits, int64_t source_rows, int64_t row) {
    switch (kind) {
    case IKBO_MAP_REPEATS: return row / repeats;
    case IKBO_MAP_INDEX: return index_at(index, bits, row);
    case IKBO_MAP_INDEX_FROM_END: {
        const int64_t value = index_at(index, bits, row);
        return value < 0 ? value + source_rows : value;
    }
    case IKBO_MAP_ALL: return 0;
    default: return row;
    }
}

} // namespace ikbo
