// What happens to an accumulator of a linear layer before it is rounded: launch parameters, plain data.
#pragma once

#include <stdint.h>

namespace ikbo {

constexpr int kMaxAddends = 64;

// Rows computed elsewhere (one per source row, not one per output row), added by lookup.
struct Addend {
    const void *rows; // fp32 in gemm.cu; in concat_linear.cu the operands' type, interleaved
    const int32_t *row_of; // for each output row (or matrix of the batch), its row in `rows`; null: row 0
    int64_t stride;        // between the rows that row_of counts, in elements
};

struct Epilogue {
    Addend addend[kMaxAddends];
    int32_t addends;
    int32_t activation; // ikbo_activation
    const void *bias;   // [columns] in the operands' type, or null
};

}  // namespace ikbo
