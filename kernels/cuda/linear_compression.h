// Launch parameters shared by the host and linear_compression.cu. Plain data, no device code.
#pragma once

#include <stdint.h>

namespace ikbo {

constexpr int kCompressionThreads = 384;
constexpr int kCompressionChunk = 64;  // columns of a warpgroup
constexpr int kCompressionBlockK = 64;
constexpr int kCompressionStagedRows = 32;  // rows m of one store
constexpr int kCompressionRows[] = {32, 64, 96, 128, 160, 192, 224};  // rows m of a block's tile

// Dynamic shared memory: rings of 4 boxes of W and 6 x 2 of E, 2 x 2 staging buffers, barriers, alignment.
constexpr int compression_shared_bytes(int rows) {
    return 4 * rows * 128 + 6 * 2 * 8192 + 4 * kCompressionStagedRows * 128 + 512 + 1024;
}

// Shape of the warp-specialized kernel's work; see linear_compression.cu.
struct LinearCompressionWork {
    void *user_part;        // fragments of the user result: written by the user launch, read by the candidate launch
    const int32_t *user_of; // [batch], candidate launch only
    int32_t batch;          // matrices in the input: candidates, or users
    int32_t chunks;         // 64-column chunks per matrix
    int32_t pairs;          // ceil(batch * chunks / 2)
    int32_t row_pairs;      // pairs of row tiles that cover M; a cluster keeps one
    int32_t k_blocks;       // 64-wide blocks of K
    int32_t first_block;    // K block at which warpgroup 0 starts a tile; the order is cyclic
    int32_t skew;           // how many K blocks later warpgroup 1 starts
};

}  // namespace ikbo
