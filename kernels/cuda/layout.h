// Launch parameters shared by the host and layout.cu. Plain data, no device code.
#pragma once

#include <stdint.h>

namespace ikbo {

constexpr int kMaxBlocks = 64;

// Columns [from_column, from_column + width) of a matrix, copied to columns [0, padded) of another, zeros from `width` on.
struct PackWork {
    const void *from;
    void *to;
    int64_t rows, from_stride, to_stride, width, padded;
};

// The replica as users write it: to[r, ...] = the blocks' rows side by side, each `width` elements.
// Linear compression: a "row" is a candidate, a block a [K, N] matrix, width = K * N.
struct GatherWork {
    struct Block {
        const void *rows;
        const int32_t *row_of; // null: the row itself
        int64_t stride, width;
    } block[kMaxBlocks];
    void *to;
    int64_t rows, to_stride;
    int32_t blocks;
};

// to[r, n] = activation(to[r, n] (if it counts) + sum of rows looked up + bias[n]), each rounded as separate operators do.
struct GatherAddWork {
    struct Source {
        const void *rows;
        const int32_t *row_of; // null: the row itself
        int64_t stride;
    } source[kMaxBlocks];
    const void *bias;
    void *to;
    int64_t rows, to_stride, width;
    int32_t sources, activation;
};

// to[i] = parts[0][i] + parts[1][i] + ..., in this order and in fp32, then rounded; `elements` is a multiple of 4.
struct SumPartsWork {
    const float *parts;
    void *to;
    int64_t elements;
    int32_t splits;
};

// to[row] = the source row of output row `row`, in 32 bits: index[row], or row / repeats where there is no index. An index
// that names no row of the source becomes row 0 and sets *fault; without a fault to set it stops the kernel by a trap.
struct MapRowsWork {
    const void *index; // null: none
    int32_t *to, *fault;
    int64_t rows, source_rows, repeats;
    int32_t index_bits, from_end; // from_end: negative entries count from the end of the source
};

}  // namespace ikbo
