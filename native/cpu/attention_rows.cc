// Rows of queries against the keys of one user and head: packing, scores, online softmax, weighted values.
#include <algorithm>
#include <cmath>
#include <limits>

#include "attention_parts.h"

namespace ikbo::cpu::attention_parts {
namespace {

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

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

} // namespace

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

void attend(const State &s, const Args &a, const Task &task, const Keys &keys, const Scratch &scratch) {
    if (task.first == 0 && task.last <= few_rows) {
        attend_few_rows(s, a, task, task.last, keys, round_up(s.shape.head_width, s.kernel.b.step), scratch);
        finish_rows(s, a, task, 0, task.last, scratch);
        return;
    }
    if (keys.count > 0) pack_keys(s, keys, task.key_head, scratch);
    const int64_t block = row_strips * s.kernel.a.step;
    for (int64_t first = task.first; first < task.last; first += block) {
        const int64_t rows = std::min(block, task.last - first);
        attend_rows(s, a, task, first, rows, keys.count, scratch);
        finish_rows(s, a, task, first, rows, scratch);
    }
}

} // namespace ikbo::cpu::attention_parts
