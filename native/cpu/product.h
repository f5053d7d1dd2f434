// The two products that the operators are made of. Both read replicated sources through a map while packing and start
// their accumulators from addends, so neither needs a replica in memory.
#pragma once

#include <vector>

#include "pack.h"

namespace ikbo::cpu {

struct Map {
    int32_t kind = IKBO_MAP_NONE;
    int64_t repeats = 0;
    const void *index = nullptr;
    int32_t bits = 0;
    int64_t source_rows = 0;
};

// One piece of the contracted axis: rows (or matrices) `stride` elements apart, `width` of them contracted.
struct Source {
    const void *data;
    int64_t stride, width;
    Map map;
};

// fp32 results of another product that start the accumulators: item map(b) of [items, width of an item].
struct Addend {
    const float *data;
    Map map;
};

// A weight packed for one side of the multiply, made of column ranges of a [outputs, stride] matrix.
struct Weight {
    Buffer packed;
    int64_t depth = 0; // unpadded
};
struct Columns {
    int64_t first, width;
};
Weight pack_weight(const Simd &simd, const Kernel &kernel, Layout layout, int32_t dtype, const void *weight, int64_t outputs,
                   int64_t stride, const std::vector<Columns> &columns);

// out[b, m] = act(sum over sources of x[map(b), :] W[m, :] + addends[map(b), m] + bias[m])
struct RowProduct {
    const Simd &simd;
    int32_t dtype;
    int64_t rows, outputs;
    const Weight &weight; // packed in kernel.b's layout
    std::vector<Source> sources;
    std::vector<Addend> addends;
    const float *bias; // or null
    int32_t activation;
    int32_t out_dtype;
    void *out;
    int64_t out_stride;
};

// out[b, m, n] = sum over sources of W[m, :] x[map(b), :, n] + addends[map(b), m, n]
struct ColumnProduct {
    const Simd &simd;
    int32_t dtype;
    int64_t batch, outputs, columns;
    const Weight &weight; // packed in kernel.a's layout
    std::vector<Source> sources; // stride: elements of one matrix [width, columns]
    std::vector<Addend> addends;
    int32_t out_dtype;
    void *out; // [batch, outputs, columns]
};

// Scratch is one piece for each thread; the sizes depend on shapes alone.
std::size_t row_scratch_bytes(const Simd &simd, int32_t dtype, int64_t rows, int64_t outputs, int64_t depth);
std::size_t column_scratch_bytes(const Simd &simd, int32_t dtype, int64_t outputs, int64_t depth);
void multiply_rows(const RowProduct &product, void *scratch);
void multiply_columns(const ColumnProduct &product, void *scratch);

void activate(int32_t activation, float *row, int64_t count);

} // namespace ikbo::cpu
