#include "describe.h"

#include "error.h"

namespace ikbo {
namespace {

const char *name_of(int32_t dtype) { return dtype == IKBO_FP32 ? "fp32" : dtype == IKBO_FP16 ? "fp16" : "bf16"; }

long long number(int64_t value) { return static_cast<long long>(value); }

} // namespace

std::string describe(const ikbo_concat_linear_shape &s) {
    static constexpr const char *maps[] = {"", " by repeats", " by index", " for all", " by index"};
    std::string blocks;
    for (int32_t i = 0; i < s.blocks; ++i) {
        const auto &block = s.block[i];
        blocks += text("%s%lld", i == 0 ? "" : " + ", number(block.width));
        if (block.map_kind != IKBO_MAP_NONE) blocks += text(" (%lld%s)", number(block.source_rows), maps[block.map_kind]);
    }
    return text("concat-linear %s, %lld rows of %s to %lld", name_of(s.dtype), number(s.rows), blocks.c_str(), number(s.outputs));
}

std::string describe(const ikbo_linear_compression_shape &s) {
    return text("linear compression %s, B %lld, U %lld, M %lld, N %lld, Ku %lld, Kc %lld", name_of(s.dtype), number(s.batch),
                number(s.users), number(s.outputs), number(s.columns), number(s.user_width), number(s.candidate_width));
}

std::string describe(const ikbo_attention_shape &s) {
    return text("attention %s, B %lld, U %lld, Q %lld, H %lld/%lld, D %lld, S %lld%s", name_of(s.dtype), number(s.batch),
                number(s.users), number(s.queries), number(s.heads), number(s.key_heads), number(s.head_width), number(s.keys),
                s.ragged ? " at most" : "");
}

} // namespace ikbo
