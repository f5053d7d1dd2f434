// Launch parameters shared by the host and gemm.cu. Plain data, no device code.
#pragma once

#include <stdint.h>

#include "epilogue.h"
#include "interleave.h"

namespace ikbo {

// A block's tile of C, its depth in k, the part of one warp, the number of buffers, and the blocks that share a multiprocessor.
template <int Rows, int Columns, int Depth, int WarpRows, int WarpColumns, int Stages, int Residents>
struct GemmTile {
    static constexpr int rows = Rows, columns = Columns, depth = Depth, stages = Stages, residents = Residents;
    static constexpr int warp_rows = WarpRows, warp_columns = WarpColumns;
    static constexpr int threads = Rows / WarpRows * (Columns / WarpColumns) * 32;
    static constexpr int a_bytes = Rows * Depth * 2, b_bytes = Columns * Depth * 2;
};
template <class Tile>
constexpr int gemm_shared_bytes() {
    return Tile::stages * (Tile::a_bytes + Tile::b_bytes);
}
using LargeGemmTile = GemmTile<128, 128, 64, 64, 64, 3, 2>;
using SmallGemmTile = GemmTile<32, 64, 64, 16, 32, 6, 2>;

// C[z, m, n] = activation(sum_k A[z, m, k] B[z, k, n] + addends + bias[n]); strides in elements, innermost stride 1.
struct GemmWork {
    const void *a; // rows m, contiguous in k
    const void *b; // contiguous in n (rows k), or in k (rows n): the kernel's name says which
    void *c;       // rows m, contiguous in n; T, or fp32 if wide
    int32_t m, n, k, batch;
    int64_t a_row, b_row, c_row;
    int64_t a_matrix, b_matrix, c_matrix;
    int32_t a_granule, b_granule; // bytes, 16, 4 or 2: what base and strides are multiples of
    int32_t wide;                 // C is fp32
    int32_t interleaved;          // C's columns are in the order of interleave.h; the small kernels only
    int32_t addend_per_matrix;    // addends are looked up by z (their rows have C's row stride c_row) and not by m
    Epilogue epilogue;
};

}  // namespace ikbo
