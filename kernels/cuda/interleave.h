// The order of columns in the rows that concat_linear.cu looks up.
#pragma once

#include <stdint.h>

#ifdef __CUDACC__
#define IKBO_BOTH __host__ __device__
#else
#define IKBO_BOTH
#endif

namespace ikbo {

// Within 64 columns, thread q of a quad owns the pairs 8 j + 2 q (j = 0..7) of an accumulator row. Interleaved, its eight
// pairs are neighbours: column 8 j + 2 q + e goes to 16 q + 2 j + e.
IKBO_BOTH constexpr int interleaved_column(int column) {
    const int inside = column % 64;
    return column - inside + inside % 8 / 2 * 16 + inside / 8 * 2 + inside % 2;
}

}  // namespace ikbo
