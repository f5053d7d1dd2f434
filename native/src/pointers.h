// The pointers among an operator's arguments, one after another with their names: each is checked before a kernel gets it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "error.h"
#include "ikbo.h"
#include "validate.h"

namespace ikbo {

struct Pointer {
    std::size_t place; // the same for the same argument of every call, below most_pointers
    const char *what;
    int32_t block; // -1 where the operator has no blocks
    const void *address;
    bool needed; // false: the kernels do not touch it

    std::string name() const { return block < 0 ? what : text("%s of block %d", what, block); }
};

constexpr std::size_t most_pointers = 2 * IKBO_MAX_BLOCKS + 3;

template <class Visit> void each_pointer(const ikbo_concat_linear_shape &s, const ikbo_concat_linear_args &a, Visit visit) {
    const bool any = s.rows > 0 && s.outputs > 0;
    int64_t width = 0;
    std::size_t place = 3;
    for (int32_t i = 0; i < s.blocks; ++i) {
        const auto &block = s.block[i];
        width += block.width;
        visit(Pointer{place++, "x", i, a.x[i], any && block.width > 0 && block.source_rows > 0});
        visit(Pointer{place++, "index", i, a.index[i], s.rows > 0 && has_index(block.map_kind)});
    }
    visit(Pointer{0, "weight", -1, a.weight, any && width > 0});
    visit(Pointer{1, "bias", -1, a.bias, any && s.has_bias});
    visit(Pointer{2, "out", -1, a.out, any});
}

template <class Visit> void each_pointer(const ikbo_linear_compression_shape &s, const ikbo_linear_compression_args &a, Visit visit) {
    const bool any = s.batch > 0 && s.outputs > 0 && s.columns > 0;
    visit(Pointer{0, "user", -1, a.user, any && s.users > 0 && s.user_width > 0});
    visit(Pointer{1, "candidate", -1, a.candidate, any && s.candidate_width > 0});
    visit(Pointer{2, "index", -1, a.index, s.batch > 0 && has_index(s.map_kind)});
    visit(Pointer{3, "weight", -1, a.weight, any && s.user_width + s.candidate_width > 0});
    visit(Pointer{4, "out", -1, a.out, any});
}

template <class Visit> void each_pointer(const ikbo_attention_shape &s, const ikbo_attention_args &a, Visit visit) {
    const bool rows = s.batch > 0 && s.queries > 0 && s.heads > 0;
    const bool any = rows && s.head_width > 0;
    const bool keys = any && (s.ragged ? s.total_keys > 0 : s.users > 0 && s.keys > 0);
    visit(Pointer{0, "q", -1, a.q, any});
    visit(Pointer{1, "k", -1, a.k, keys});
    visit(Pointer{2, "v", -1, a.v, keys});
    visit(Pointer{3, "key_offsets", -1, a.key_offsets, s.ragged != 0});
    visit(Pointer{4, "index", -1, a.index, s.batch > 0 && has_index(s.map_kind)});
    visit(Pointer{5, "out", -1, a.out, any});
    visit(Pointer{6, "lse", -1, a.lse, rows && s.want_lse});
}

} // namespace ikbo
