// out[b, q, h] = softmax(scale Q K[u(b)]^T) V[u(b)], with an online softmax over blocks of keys.
//   stage 0  writes K and V for every candidate, then attends
//   stage 1  attends candidate by candidate and looks K and V up in the user's rows: nothing is copied, but each
//            candidate packs its user's keys again
//   stage 3  gathers the candidates of a user, so that K and V are packed once for all of them
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "operators.h"
#include "stage.h"

namespace ikbo::cpu {
namespace {

using Shape = ikbo_attention_shape;
using Args = ikbo_attention_args;

constexpr int64_t key_block = 256; // keys per step of the online softmax; a multiple of every strip
constexpr int64_t row_strips = 8;  // strips of query rows that go through the keys together
constexpr int64_t rows_to_share = 256; // a user's rows are split over threads only into parts of at least this many
constexpr int64_t few_rows = 4;        // so few rows read the keys once and directly: packing them would cost more

// Candidates order[first .. last) attend to the same keys.
struct Group {
    int64_t user, first, last;
};

// A thread's share of a group: rows [first, last) of its (candidate, query, head in group) rows for one key head.
struct Task {
    int64_t group, key_head, first, last;
};

// Pieces of one thread's scratch, for the largest user.
struct Scratch {
    void *keys, *values, *rows, *weights;
    float *scores, *sums, *maximum, *total;
    const void **vectors;
};

struct State {
    Shape shape;
    int32_t stage;
    const Simd &simd = cpu::simd();
    const Kernel &kernel = kernel_for(simd, shape.dtype);
    std::vector<Group> groups;
    std::vector<int64_t> order;
    std::vector<Task> tasks;
    std::vector<int64_t> copied_offsets; // stage 0: first row of each candidate's copy, B + 1
    Buffer copied_keys, copied_values, scratch;
    std::size_t scratch_each = 0;

    explicit State(const Shape &s) : shape(s), stage(stage_of(s.stage)) {}
};

bool copies(const State &s) { return s.stage == IKBO_STAGE_MATERIALIZED && s.shape.map_kind != IKBO_MAP_NONE; }

struct KeyRange {
    int64_t first, count;
};

KeyRange keys_of(const State &s, const Args &a, int64_t user) {
    if (!s.shape.ragged) return {user * s.shape.keys, s.shape.keys};
    return {a.key_offsets[user], int64_t{a.key_offsets[user + 1]} - a.key_offsets[user]};
}

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t carve(const State &s, std::byte *memory, Scratch &out) {
    const Kernel &kernel = s.kernel;
    const int64_t rows = row_strips * kernel.a.step, width = s.shape.head_width;
    const int64_t keys = round_up(s.shape.keys, key_block);
    std::size_t used = 0;
    const auto take = [&](std::size_t bytes) {
        std::byte *piece = memory == nullptr ? nullptr : memory + used;
        used += aligned(bytes);
        return piece;
    };
    const auto least = static_cast<std::size_t>(few_rows * width) * 4; // attend_few_rows keeps its rows here
    out.keys = take(std::max(least, packed_bytes(kernel, kernel.b, keys, width)));
    out.values = take(std::max(least, packed_bytes(kernel, kernel.b, width, keys)));
    out.rows = take(packed_bytes(kernel, kernel.a, rows, width));
    out.weights = take(packed_bytes(kernel, kernel.a, rows, key_block));
    out.scores = reinterpret_cast<float *>(take(static_cast<std::size_t>(rows * key_block) * 4));
    out.sums = reinterpret_cast<float *>(take(static_cast<std::size_t>(rows * round_up(width, kernel.b.step)) * 4));
    out.maximum = reinterpret_cast<float *>(take(static_cast<std::size_t>(rows) * 4));
    out.total = reinterpret_cast<float *>(take(static_cast<std::size_t>(rows) * 4));
    out.vectors = reinterpret_cast<const void **>(take(static_cast<std::size_t>(std::max(rows, keys)) * sizeof(void *)));
    return used;
}

int64_t group_size(const Shape &shape) { return shape.heads / shape.key_heads; }

// Groups the candidates: by user (counting sort, stable) in stage 3, else each on its own.
void make_groups(State &s, const Map &map) {
    const Shape &shape = s.shape;
    s.groups.clear();
    s.order.resize(static_cast<std::size_t>(shape.batch));
    if (s.stage != IKBO_STAGE_FUSED) {
        std::iota(s.order.begin(), s.order.end(), int64_t{0});
        for (int64_t b = 0; b < shape.batch; ++b)
            s.groups.push_back({copies(s) ? b : source_row(map.kind, map.repeats, map.index, map.bits, b), b, b + 1});
        return;
    }
    std::vector<int64_t> start(static_cast<std::size_t>(shape.users) + 1);
    const auto user_of = [&](int64_t b) {
        return static_cast<std::size_t>(source_row(map.kind, map.repeats, map.index, map.bits, b));
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
    if (shape.map_kind == IKBO_MAP_INDEX) check_index("keys and values", a.index, shape.index_bits, shape.batch, shape.users);
    if (shape.ragged) check_key_offsets(a.key_offsets, shape);
    if (shape.batch == 0 || shape.queries == 0 || shape.heads == 0) return;
    const Map map{shape.map_kind, shape.repeats, a.index, shape.index_bits};
    make_groups(s, map);
    make_tasks(s);
    if (!copies(s)) return;
    s.copied_offsets.assign(1, 0);
    for (int64_t b = 0; b < shape.batch; ++b)
        s.copied_offsets.push_back(s.copied_offsets.back() +
                                   keys_of(s, a, source_row(map.kind, map.repeats, map.index, map.bits, b)).count);
    const auto bytes = static_cast<std::size_t>(s.copied_offsets.back() * shape.key_heads * shape.head_width) * element_bytes(shape.dtype);
    if (s.copied_keys.bytes() != bytes) {
        s.copied_keys = Buffer(bytes);
        s.copied_values = Buffer(bytes);
    }
}

void copy_keys(const State &s, const Args &a) {
    const Shape &shape = s.shape;
    const auto row = static_cast<std::size_t>(shape.key_heads * shape.head_width) * element_bytes(shape.dtype);
    const Map map{shape.map_kind, shape.repeats, a.index, shape.index_bits};
    parallel_for(shape.batch, [&](int64_t b, int32_t) {
        const KeyRange from = keys_of(s, a, source_row(map.kind, map.repeats, map.index, map.bits, b));
        const auto to = static_cast<std::size_t>(s.copied_offsets[static_cast<std::size_t>(b)]) * row;
        const auto at = static_cast<std::size_t>(from.first) * row, bytes = static_cast<std::size_t>(from.count) * row;
        if (bytes == 0) return;
        std::memcpy(s.copied_keys.as<std::byte>() + to, static_cast<const std::byte *>(a.k) + at, bytes);
        std::memcpy(s.copied_values.as<std::byte>() + to, static_cast<const std::byte *>(a.v) + at, bytes);
    });
}

struct Keys {
    const void *k, *v; // first row of this user, key head 0
    int64_t count;
};

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

// Index of row `i` of a task in [B, Q, H].
int64_t row_index(const State &s, const Group &group, int64_t key_head, int64_t i) {
    const Shape &shape = s.shape;
    const int64_t heads = group_size(shape), each = shape.queries * heads;
    const int64_t b = s.order[static_cast<std::size_t>(group.first + i / each)], q = i % each / heads;
    return (b * shape.queries + q) * shape.heads + key_head * heads + i % heads;
}

void pack_keys(const State &s, const Keys &keys, int64_t key_head, const Scratch &scratch) {
    const Shape &shape = s.shape;
    const Kernel &kernel = s.kernel;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const int64_t stride = shape.key_heads * shape.head_width, at = key_head * shape.head_width;
    for (int64_t i = 0; i < keys.count; ++i)
        scratch.vectors[i] = static_cast<const std::byte *>(keys.k) + (i * stride + at) * bytes;
    const int64_t depth = round_up(shape.head_width, kernel.depth_unit);
    const Strips k{s.simd, kernel, kernel.b, depth, scratch.keys};
    pack_vectors(k, shape.dtype, scratch.vectors, keys.count, 0, shape.head_width);
    pack_zeros(k, keys.count, shape.head_width);
    const Strips v{s.simd, kernel, kernel.b, round_up(keys.count, kernel.depth_unit), scratch.values};
    pack_columns(v, shape.dtype, static_cast<const std::byte *>(keys.v) + at * bytes, stride, shape.head_width, 0, keys.count);
    pack_zeros(v, shape.head_width, keys.count);
}

void start_rows(const Scratch &scratch, int64_t rows, int64_t sums) {
    std::fill(scratch.sums, scratch.sums + sums, 0.0f);
    std::fill(scratch.maximum, scratch.maximum + rows, -std::numeric_limits<float>::infinity());
    std::fill(scratch.total, scratch.total + rows, 0.0f);
}

// What packing does to the weights where operands are packed as bf16, so that a row's result does not depend on its group.
void round_weights(const State &s, float *weights, int64_t count, uint16_t *temporary) {
    s.simd.narrow(IKBO_BF16, weights, temporary, count);
    s.simd.widen(IKBO_BF16, temporary, weights, count);
}

// The same as attend_rows for few rows, without packing: a dot product and a scaled addition per key.
void attend_few_rows(const State &s, const Args &a, const Task &task, int64_t rows, const Keys &keys, int64_t sums_stride,
                     const Scratch &scratch) {
    const Shape &shape = s.shape;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const int64_t width = shape.head_width, stride = shape.key_heads * width, at = task.key_head * width;
    auto *q = static_cast<float *>(scratch.keys); // the packing areas are free
    auto *widened = static_cast<float *>(scratch.values);
    const auto row_of = [&](const void *base, int64_t key) -> const float * {
        const auto *from = static_cast<const std::byte *>(base) + (key * stride + at) * bytes;
        if (shape.dtype == IKBO_FP32) return reinterpret_cast<const float *>(from);
        s.simd.widen(shape.dtype, from, widened, width);
        return widened;
    };
    const Group &group = s.groups[static_cast<std::size_t>(task.group)];
    for (int64_t i = 0; i < rows; ++i)
        s.simd.widen(shape.dtype, static_cast<const std::byte *>(a.q) + row_index(s, group, task.key_head, i) * width * bytes,
                     q + i * width, width);
    start_rows(scratch, rows, rows * sums_stride);
    for (int64_t first = 0; first < keys.count; first += key_block) {
        const int64_t count = std::min(key_block, keys.count - first);
        for (int64_t key = 0; key < count; ++key) {
            const float *k = row_of(keys.k, first + key);
            for (int64_t i = 0; i < rows; ++i) scratch.scores[i * key_block + key] = s.simd.dot(q + i * width, k, width);
        }
        for (int64_t i = 0; i < rows; ++i) {
            const float factor = s.simd.softmax(scratch.scores + i * key_block, count, count, shape.scale, scratch.maximum + i,
                                                scratch.total + i);
            if (first > 0) s.simd.scale(factor, scratch.sums + i * sums_stride, width);
            if (s.kernel.bf16) round_weights(s, scratch.scores + i * key_block, count, static_cast<uint16_t *>(scratch.weights));
        }
        for (int64_t key = 0; key < count; ++key) {
            const float *v = row_of(keys.v, first + key);
            for (int64_t i = 0; i < rows; ++i)
                s.simd.add_scaled(scratch.scores[i * key_block + key], v, scratch.sums + i * sums_stride, width);
        }
    }
}

// Rows [first, first + rows) of a task against all keys; leaves sums, maximum and total.
void attend_rows(const State &s, const Args &a, const Task &task, int64_t first, int64_t rows, int64_t keys, const Scratch &scratch) {
    const Shape &shape = s.shape;
    const Kernel &kernel = s.kernel;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const Group &group = s.groups[static_cast<std::size_t>(task.group)];
    for (int64_t i = 0; i < rows; ++i)
        scratch.vectors[i] = static_cast<const std::byte *>(a.q) + row_index(s, group, task.key_head, first + i) * shape.head_width * bytes;
    const int64_t depth = round_up(shape.head_width, kernel.depth_unit), value_depth = round_up(keys, kernel.depth_unit);
    const Strips q{s.simd, kernel, kernel.a, depth, scratch.rows};
    pack_vectors(q, shape.dtype, scratch.vectors, rows, 0, shape.head_width);
    pack_zeros(q, rows, shape.head_width);

    const int64_t strips = divide_up(rows, kernel.a.step), padded_rows = strips * kernel.a.step;
    const int64_t width = round_up(shape.head_width, kernel.b.step);
    start_rows(scratch, rows, padded_rows * width);
    const int64_t element = kernel.bf16 ? 2 : 4;
    for (int64_t key = 0; key < keys; key += key_block) {
        const int64_t count = std::min(key_block, keys - key), padded = round_up(count, kernel.depth_unit);
        const auto *k = static_cast<const std::byte *>(scratch.keys) + key * depth * element;
        const auto *v = static_cast<const std::byte *>(scratch.values) + key * kernel.b.step * element;
        std::fill(scratch.scores, scratch.scores + padded_rows * key_block, 0.0f);
        multiply(kernel, {scratch.rows, strips, depth}, {k, divide_up(count, kernel.b.step), depth}, depth, scratch.scores, key_block);
        for (int64_t i = 0; i < rows; ++i) {
            float *row = scratch.scores + i * key_block;
            const float factor = s.simd.softmax(row, count, key_block, shape.scale, scratch.maximum + i, scratch.total + i);
            if (key > 0) s.simd.scale(factor, scratch.sums + i * width, width);
            scratch.vectors[i] = row;
        }
        const Strips p{s.simd, kernel, kernel.a, padded, scratch.weights};
        pack_vectors(p, IKBO_FP32, scratch.vectors, rows, 0, padded);
        multiply(kernel, {scratch.weights, strips, padded}, {v, divide_up(shape.head_width, kernel.b.step), value_depth}, padded,
                 scratch.sums, width);
    }
}

void finish_rows(const State &s, const Args &a, const Task &task, int64_t first, int64_t rows, const Scratch &scratch) {
    const Shape &shape = s.shape;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const int64_t width = round_up(shape.head_width, s.kernel.b.step);
    const Group &group = s.groups[static_cast<std::size_t>(task.group)];
    for (int64_t i = 0; i < rows; ++i) {
        const int64_t row = row_index(s, group, task.key_head, first + i);
        const bool empty = scratch.total[i] == 0;
        float *sums = scratch.sums + i * width;
        s.simd.scale(empty ? 0 : 1 / scratch.total[i], sums, shape.head_width);
        s.simd.narrow(shape.dtype, sums, static_cast<std::byte *>(a.out) + row * shape.head_width * bytes, shape.head_width);
        if (!shape.want_lse) continue;
        const int64_t b = row / (shape.queries * shape.heads), q = row / shape.heads % shape.queries, h = row % shape.heads;
        a.lse[(b * shape.heads + h) * shape.queries + q] = scratch.maximum[i] + std::log(scratch.total[i]);
    }
}

void run(const State &s, const Args &a) {
    if (s.shape.batch == 0 || s.shape.queries == 0 || s.shape.heads == 0) return;
    if (copies(s)) copy_keys(s, a);
    const int64_t block = row_strips * s.kernel.a.step;
    parallel_for(static_cast<int64_t>(s.tasks.size()), [&](int64_t t, int32_t thread) {
        const Task &task = s.tasks[static_cast<std::size_t>(t)];
        Scratch scratch;
        carve(s, s.scratch.as<std::byte>() + s.scratch_each * static_cast<std::size_t>(thread), scratch);
        const Keys keys = find_keys(s, a, s.groups[static_cast<std::size_t>(task.group)].user);
        if (task.first == 0 && task.last <= few_rows) {
            attend_few_rows(s, a, task, task.last, keys, round_up(s.shape.head_width, s.kernel.b.step), scratch);
            finish_rows(s, a, task, 0, task.last, scratch);
            return;
        }
        if (keys.count > 0) pack_keys(s, keys, task.key_head, scratch);
        for (int64_t first = task.first; first < task.last; first += block) {
            const int64_t rows = std::min(block, task.last - first);
            attend_rows(s, a, task, first, rows, keys.count, scratch);
            finish_rows(s, a, task, first, rows, scratch);
        }
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
