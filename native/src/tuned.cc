#include "tuned.h"

#include <cctype>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <sstream>

namespace ikbo {
namespace {

std::string row_class(const char *name, int32_t dtype, std::initializer_list<int64_t> sizes) {
    std::string text = std::string(name) + (dtype == IKBO_BF16 ? " bf16" : dtype == IKBO_FP16 ? " fp16" : " fp32");
    for (const int64_t size : sizes)
        text += size < 1 ? " -" : ' ' + std::to_string(std::lround(std::log2(static_cast<double>(size))));
    return text;
}

std::string trimmed(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
    return text;
}

const char *variable(const char *name) {
    const char *value = std::getenv(name);
    return value != nullptr && value[0] == '/' ? value : nullptr; // relative paths count as unset
}

} // namespace

std::string class_of(const ikbo_concat_linear_shape &s) {
    int64_t sources = 0, mapped = 0, direct = 0;
    for (int32_t i = 0; i < s.blocks; ++i) {
        const bool maps = s.block[i].map_kind != IKBO_MAP_NONE;
        sources += maps ? s.block[i].source_rows : 0;
        (maps ? mapped : direct) += s.block[i].width;
    }
    return row_class("concat-linear", s.dtype, {s.rows, sources, mapped, direct, s.outputs});
}

std::string class_of(const ikbo_linear_compression_shape &s) {
    return row_class("linear-compression", s.dtype,
                     {s.batch, s.users, s.outputs, s.columns, s.user_width, s.candidate_width});
}

std::string class_of(const ikbo_attention_shape &s) {
    return row_class(s.ragged ? "ragged-attention" : "attention", s.dtype,
                     {s.batch, s.users, s.queries, s.heads, s.key_heads, s.head_width, s.keys});
}

void Choices::add(std::string_view text) {
    std::istringstream lines{std::string(text)};
    for (std::string line; std::getline(lines, line);) {
        const auto equals = line.find('=');
        if (line.empty() || line[0] == '#' || equals == std::string::npos) continue;
        std::istringstream values(line.substr(equals + 1));
        Choice choice;
        if (!(values >> choice.stage >> choice.tile)) continue;
        if (choice.stage < IKBO_STAGE_MATERIALIZED || choice.stage > IKBO_STAGE_WARP_SPECIALIZED || choice.tile < 0)
            continue;
        rows_.insert_or_assign(trimmed(line.substr(0, equals)), choice);
    }
}

Choice Choices::find(const std::string &shape_class) const {
    const auto row = rows_.find(shape_class);
    return row == rows_.end() ? Choice{} : row->second;
}

std::string tuned_file(std::string_view card, std::string_view driver) {
    const char *cache = variable("XDG_CACHE_HOME"), *home = variable("HOME");
    if (cache == nullptr && home == nullptr) return {};
    std::string name = std::string(card) + '-' + std::string(driver) + '-' + ikbo_version();
    for (char &c : name)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '.' && c != '-') c = '_';
    return (cache != nullptr ? std::string(cache) : std::string(home) + "/.cache") + "/ikbo-lens/tuned/" + name + ".txt";
}

Choices load_choices(std::string_view shipped, const std::string &file) {
    Choices choices(shipped);
    std::ifstream in(file, std::ios::binary);
    if (!file.empty() && in) {
        std::ostringstream text;
        text << in.rdbuf();
        choices.add(text.str());
    }
    return choices;
}

} // namespace ikbo
