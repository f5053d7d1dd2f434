// out[b, q, h] = softmax(scale Q K[u(b)]^T) V[u(b)], with an online softmax over blocks of keys.
//   stage 0  writes K and V for every candidate, then attends
//   stage 1  attends candidate by candidate and looks K and V up in the user's rows: nothing is copied, but each
//            candidate packs its user's keys again
//   stage 3  gathers the candidates of a user, so that K and V are packed once for all of them
#include <algorithm>
#include <numeric>

#include "attention_parts.h"
#include "operators.h"

namespace ikbo::cpu {
namespace {

using namespace attention_parts;

constexpr int64_t rows_to_share = 256; // a user's rows are split over threads only into parts of at least this many

bool copies(const State &s) { return s.stage == IKBO_STAGE_MATERIALIZED && s.shape.map_kind != IKBO_MAP_NONE; }

struct KeyRange {
    int64_t first, count;
};

KeyRange keys_of(const State &s, const Args &a, int64_t user) {
    if (!s.shape.ragged) return {user * s.shape.keys, s.shape.keys};
    return {a.key_offsets[user], int64_t{a.key_offsets[user + 1]} - a.key_offsets[user]};
}

// Groups the candidates: by user (counting sort, stable) in stage 3, else each on its own.
void make_groups(State &s, const Map &map) {
    const Shape &shape = s.shape;
    s.groups.clear();
    s.order.resize(static_cast<std::size_t>(shape.batch));
    if (s.stage != IKBO_STAGE_FUSED) {
        std::iota(s.order.begin(), s.order.end(), int64_t{0});
        for (int64_t b = 0; b < shape.batch; ++b)
            s.groups.push_back({copies(s) ? b : source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, b), b, b + 1});
        return;
    }
    std::vector<int64_t> start(static_cast<std::size_t>(shape.users) + 1);
    const auto user_of = [&](int64_t b) {
        return static_cast<std::size_t>(source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, b));
    };
    for (int64_t b = 0; b < shape.batch; ++b) ++start[user_of(b) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    for (std::size_t u = 0; u + 1 < start.size(); ++u)
        if (start[u] < start[u + 1]) s.groups.push_back({static_cast<int64_t>(u), start[u], start[u + 1]});
    for (int64_t b = 0; b < shape.batch; ++b) s.order[static_cast<std::size_t>(start[user_of(b)]++)] = b;
}

void make_tasks(State &s) {
    const Shape &shape = s.shape;
    s.tasks.clear();
    const auto pairs = static_cast<int64_t>(s.groups.size()) * shape.key_heads;
    const int64_t wanted = pairs == 0 ? 1 : divide_up(4 * int64_t{thread_count()}, pairs);
    for (std::size_t g = 0; g < s.groups.size(); ++g) {
        const int64_t rows = (s.groups[g].last - s.groups[g].first) * shape.queries * group_size(shape);
        const int64_t parts = std::clamp<int64_t>(rows / rows_to_share, 1, wanted);
        const int64_t each = divide_up(rows, parts);
        for (int64_t head = 0; head < shape.key_heads; ++head)
            for (int64_t first = 0; first < rows; first += each)
                s.tasks.push_back({static_cast<int64_t>(g), head, first, std::min(rows, first + each)});
    }
}

void prepare(State &s, const Args &a) {
    const Shape &shape = s.shape;
    check_index("keys and values", shape.map_kind, a.index, shape.index_bits, shape.batch, shape.users);
    if (shape.ragged) check_key_offsets(a.key_offsets, shape);
    if (shape.batch == 0 || shape.queries == 0 || shape.heads == 0) return;
    const Map map{shape.map_kind, shape.repeats, a.index, shape.index_bits, shape.users};
    make_groups(s, map);
    make_tasks(s);
    if (!copies(s)) return;
    s.copied_offsets.assign(1, 0);
    for (int64_t b = 0; b < shape.batch; ++b)
        s.copied_offsets.push_back(s.copied_offsets.back() +
                                   keys_of(s, a, source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, b)).count);
    const auto bytes = static_cast<std::size_t>(s.copied_offsets.back() * shape.key_heads * shape.head_width) * element_bytes(shape.dtype);
    if (s.copied_keys.bytes() != bytes) {
        s.copied_keys = Buffer(bytes);
        s.copied_values = Buffer(bytes);
    }
}

void copy_keys(const State &s, const Args &a) {
    const Shape &shape = s.shape;
    const auto row = static_cast<std::size_t>(shape.key_heads * shape.head_width) * element_bytes(shape.dtype);
    const Map map{shape.map_kind, shape.repeats, a.index, shape.index_bits, shape.users};
    parallel_for(shape.batch, [&](int64_t b, int32_t) {
        const KeyRange from = keys_of(s, a, source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, b));
        const auto to = static_cast<std::size_t>(s.copied_offsets[static_cast<std::size_t>(b)]) * row;
        const auto at = static_cast<std::size_t>(from.first) * row, bytes = static_cast<std::size_t>(from.count) * row;
        if (bytes == 0) return;
        std::memcpy(s.copied_keys.as<std::byte>() + to, static_cast<const std::byte *>(a.k) + at, bytes);
        std::memcpy(s.copied_values.as<std::byte>() + to, static_cast<const std::byte *>(a.v) + at, bytes);
    });
}

Keys find_keys(const State &s, const Args &a, int64_t user) {
    KeyRange range{};
    const void *k = a.k, *v = a.v;
    if (copies(s)) {
        const auto b = static_cast<std::size_t>(user);
        range = {s.copied_offsets[b], s.copied_offsets[b + 1] - s.copied_offsets[b]};
        k = s.copied_keys.as<void>();
        v = s.copied_values.as<void>();
    } else {
        range = keys_of(s, a, user);
    }
    const int64_t row = s.shape.key_heads * s.shape.head_width * static_cast<int64_t>(element_bytes(s.shape.dtype));
    if (range.count == 0) return {nullptr, nullptr, 0};
    return {static_cast<const std::byte *>(k) + range.first * row, static_cast<const std::byte *>(v) + range.first * row, range.count};
}

void run(const State &s, const Args &a) {
    if (s.shape.batch == 0 || s.shape.queries == 0 || s.shape.heads == 0) return;
    if (copies(s)) copy_keys(s, a);
    parallel_for(static_cast<int64_t>(s.tasks.size()), [&](int64_t t, int32_t thread) {
        const Task &task = s.tasks[static_cast<std::size_t>(t)];
        Scratch scratch;
        carve(s, s.scratch.as<std::byte>() + s.scratch_each * static_cast<std::size_t>(thread), scratch);
        attend(s, a, task, find_keys(s, a, s.groups[static_cast<std::size_t>(task.group)].user), scratch);
    });
}

} // namespace

Operator<Args> attention(const Shape &shape) {
    const auto state = std::make_shared<State>(shape);
    Scratch unused;
    state->scratch_each = carve(*state, nullptr, unused);
    state->scratch = Buffer(state->scratch_each * static_cast<std::size_t>(thread_count()));
    return {[state](const Args &a, void *) { prepare(*state, a); }, [state](const Args &a, void *) { run(*state, a); },
            [state] { return state->scratch.bytes() + state->copied_keys.bytes() + state->copied_values.bytes(); },
            [state] { return std::string("cpu ") + state->kernel.name; }};
}

} // namespace ikbo::cpu
