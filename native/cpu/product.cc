#include "product.h"

#include <algorithm>
#include <cmath>

#include "threads.h"
#include "validate.h"

namespace ikbo::cpu {
namespace {

constexpr int64_t cache_bytes = 256 << 10; // for a packed block of rows: well inside a second-level cache
constexpr int64_t widest_tile = 512;
constexpr std::size_t line = 64;

std::size_t aligned(std::size_t bytes) { return (bytes + line - 1) / line * line; }

int64_t padded(const Kernel &kernel, int64_t depth) { return round_up(depth, kernel.depth_unit); }

const std::byte *at(const void *base, int64_t element, int32_t dtype) {
    return static_cast<const std::byte *>(base) + element * static_cast<int64_t>(element_bytes(dtype));
}

std::byte *at(void *base, int64_t element, int32_t dtype) {
    return static_cast<std::byte *>(base) + element * static_cast<int64_t>(element_bytes(dtype));
}

int64_t row_of(const Map &map, int64_t row) { return source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, row); }

struct Tile {
    int64_t rows, outputs;
};

// Rows that fit the cache by outputs that fit a tile, made smaller until every thread has work.
Tile row_tile(const Kernel &kernel, int64_t rows, int64_t outputs, int64_t depth) {
    const int64_t row_bytes = std::max<int64_t>(1, padded(kernel, depth) * (kernel.bf16 ? 2 : 4));
    const int64_t strips = std::clamp<int64_t>(cache_bytes / row_bytes / kernel.a.step, 1, 8);
    Tile tile{strips * kernel.a.step, round_up(std::clamp<int64_t>(outputs, 1, widest_tile), kernel.b.step)};
    const auto tasks = [&] { return divide_up(rows, tile.rows) * divide_up(outputs, tile.outputs); };
    const int64_t wanted = thread_count() == 1 ? 1 : 4 * int64_t{thread_count()};
    while (tasks() < wanted && tile.outputs > 4 * kernel.b.step) tile.outputs = round_up(tile.outputs / 2, kernel.b.step);
    while (tasks() < wanted && tile.rows > kernel.a.step) tile.rows = round_up(tile.rows / 2, kernel.a.step);
    return tile;
}

std::size_t row_scratch(const Kernel &kernel, const Tile &tile, int64_t depth) {
    return aligned(packed_bytes(kernel, kernel.a, tile.rows, depth)) +
           aligned(static_cast<std::size_t>(tile.rows * tile.outputs) * 4) +
           aligned(static_cast<std::size_t>(tile.rows) * sizeof(void *));
}

constexpr int64_t column_strips = 2;    // strips of columns that are packed together
constexpr int64_t column_outputs = 512; // outputs whose accumulators are kept at a time

} // namespace

Weight pack_weight(const Simd &simd, const Kernel &kernel, Layout layout, int32_t dtype, const void *weight, int64_t outputs,
                   int64_t stride, const std::vector<Columns> &columns) {
    Weight result;
    for (const Columns &part : columns) result.depth += part.width;
    const int64_t total = padded(kernel, result.depth);
    result.packed = Buffer(packed_bytes(kernel, layout, outputs, result.depth));
    const Strips strips{simd, kernel, layout, total, result.packed.as<void>()};
    std::vector<const void *> rows(static_cast<std::size_t>(outputs));
    int64_t depth = 0;
    for (const Columns &part : columns) {
        for (int64_t m = 0; m < outputs; ++m) rows[static_cast<std::size_t>(m)] = at(weight, m * stride + part.first, dtype);
        if (part.width > 0) pack_vectors(strips, dtype, rows.data(), outputs, depth, part.width);
        depth += part.width;
    }
    pack_zeros(strips, outputs, depth);
    return result;
}

std::size_t row_scratch_bytes(const Simd &simd, int32_t dtype, int64_t rows, int64_t outputs, int64_t depth) {
    const Kernel &kernel = kernel_for(simd, dtype);
    return row_scratch(kernel, row_tile(kernel, rows, outputs, depth), depth) * static_cast<std::size_t>(thread_count());
}

void multiply_rows(const RowProduct &p, void *scratch) {
    const Kernel &kernel = kernel_for(p.simd, p.dtype);
    const int64_t total = padded(kernel, p.weight.depth);
    const Tile tile = row_tile(kernel, p.rows, p.outputs, p.weight.depth);
    const int64_t across = divide_up(p.outputs, tile.outputs);
    const std::size_t each = row_scratch(kernel, tile, p.weight.depth);

    parallel_for(divide_up(p.rows, tile.rows) * across, [&](int64_t task, int32_t thread) {
        const int64_t first = task / across * tile.rows, rows = std::min(tile.rows, p.rows - first);
        const int64_t left = task % across * tile.outputs, outputs = std::min(tile.outputs, p.outputs - left);
        auto *memory = static_cast<std::byte *>(scratch) + each * static_cast<std::size_t>(thread);
        void *packed = memory;
        memory += aligned(packed_bytes(kernel, kernel.a, tile.rows, p.weight.depth));
        auto *sums = reinterpret_cast<float *>(memory);
        auto **vectors = reinterpret_cast<const void **>(memory + aligned(static_cast<std::size_t>(tile.rows * tile.outputs) * 4));

        const Strips strips{p.simd, kernel, kernel.a, total, packed};
        int64_t depth = 0;
        for (const Source &source : p.sources) {
            if (source.width == 0) continue;
            for (int64_t i = 0; i < rows; ++i) vectors[i] = at(source.data, row_of(source.map, first + i) * source.stride, p.dtype);
            pack_vectors(strips, p.dtype, vectors, rows, depth, source.width);
            depth += source.width;
        }
        pack_zeros(strips, rows, depth);

        const int64_t a_strips = divide_up(rows, kernel.a.step);
        std::fill(sums, sums + a_strips * kernel.a.step * tile.outputs, 0.0f);
        for (int64_t i = 0; i < rows; ++i) {
            float *row = sums + i * tile.outputs;
            if (p.bias != nullptr) p.simd.add(p.bias + left, row, outputs);
            for (const Addend &addend : p.addends)
                p.simd.add(addend.data + row_of(addend.map, first + i) * p.outputs + left, row, outputs);
        }
        const auto *weight = at(p.weight.packed.as<void>(), left * total, kernel.bf16 ? IKBO_BF16 : IKBO_FP32);
        multiply(kernel, {packed, a_strips, total}, {weight, divide_up(outputs, kernel.b.step), total}, total, sums, tile.outputs);
        for (int64_t i = 0; i < rows; ++i) {
            float *row = sums + i * tile.outputs;
            activate(p.activation, row, outputs);
            const int64_t to = (first + i) * p.out_stride + left;
            p.simd.narrow(p.out_dtype, row, at(p.out, to, p.out_dtype), outputs);
        }
    });
}

std::size_t column_scratch_bytes(const Simd &simd, int32_t dtype, int64_t outputs, int64_t depth) {
    const Kernel &kernel = kernel_for(simd, dtype);
    const int64_t columns = column_strips * kernel.b.step;
    const int64_t chunk = round_up(std::min(outputs, column_outputs), kernel.a.step);
    return (aligned(packed_bytes(kernel, kernel.b, columns, depth)) + aligned(static_cast<std::size_t>(chunk * columns) * 4)) *
           static_cast<std::size_t>(thread_count());
}

void multiply_columns(const ColumnProduct &p, void *scratch) {
    const Kernel &kernel = kernel_for(p.simd, p.dtype);
    const int64_t total = padded(kernel, p.weight.depth);
    const int64_t width = column_strips * kernel.b.step;
    const int64_t across = divide_up(p.columns, width);
    const int64_t chunk = std::max<int64_t>(1, column_outputs / kernel.a.step) * kernel.a.step;
    const std::size_t each = column_scratch_bytes(p.simd, p.dtype, p.outputs, p.weight.depth) / static_cast<std::size_t>(thread_count());

    parallel_for(p.batch * across, [&](int64_t task, int32_t thread) {
        const int64_t b = task / across, left = task % across * width, columns = std::min(width, p.columns - left);
        auto *memory = static_cast<std::byte *>(scratch) + each * static_cast<std::size_t>(thread);
        void *packed = memory;
        auto *sums = reinterpret_cast<float *>(memory + aligned(packed_bytes(kernel, kernel.b, width, p.weight.depth)));

        const Strips strips{p.simd, kernel, kernel.b, total, packed};
        int64_t depth = 0;
        for (const Source &source : p.sources) {
            if (source.width == 0) continue;
            const auto *from = at(source.data, row_of(source.map, b) * source.stride + left, p.dtype);
            pack_columns(strips, p.dtype, from, p.columns, columns, depth, source.width);
            depth += source.width;
        }
        pack_zeros(strips, columns, depth);

        for (int64_t m = 0; m < p.outputs; m += chunk) {
            const int64_t outputs = std::min(chunk, p.outputs - m), a_strips = divide_up(outputs, kernel.a.step);
            std::fill(sums, sums + a_strips * kernel.a.step * width, 0.0f);
            for (const Addend &addend : p.addends) {
                const float *from = addend.data + (row_of(addend.map, b) * p.outputs + m) * p.columns + left;
                for (int64_t i = 0; i < outputs; ++i) p.simd.add(from + i * p.columns, sums + i * width, columns);
            }
            const auto *weight = at(p.weight.packed.as<void>(), m * total, kernel.bf16 ? IKBO_BF16 : IKBO_FP32);
            multiply(kernel, {weight, a_strips, total}, {packed, divide_up(columns, kernel.b.step), total}, total, sums, width);
            for (int64_t i = 0; i < outputs; ++i) {
                const int64_t to = (b * p.outputs + m + i) * p.columns + left;
                p.simd.narrow(p.out_dtype, sums + i * width, at(p.out, to, p.out_dtype), columns);
            }
        }
    });
}

void activate(int32_t activation, float *row, int64_t count) {
    switch (activation) {
    case IKBO_RELU:
        for (int64_t i = 0; i < count; ++i) row[i] = row[i] < 0 ? 0 : row[i]; // keeps NaN
        break;
    case IKBO_GELU:
        for (int64_t i = 0; i < count; ++i) row[i] = 0.5f * row[i] * (1 + std::erf(row[i] * 0.70710678f));
        break;
    case IKBO_SILU:
        for (int64_t i = 0; i < count; ++i) row[i] = row[i] / (1 + std::exp(-row[i]));
        break;
    default: break;
    }
}

} // namespace ikbo::cpu
