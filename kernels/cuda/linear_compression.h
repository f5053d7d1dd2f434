// Launch parameters shared by the host and linear_compression.cu. Plain data, no device code.
#pragma once

#include "split_rings.h"

namespace ikbo {

constexpr int kCompressionStagedRows = 32;                           // rows m of one store
constexpr int kCompressionRows[] = {32, 64, 96, 128, 160, 192, 224}; // rows m of a block's tile

template <int Rows>
using CompressionShape = RingShape<Rows, 4, 5, kCompressionStagedRows * kRingChunk * 2, Rows / kCompressionStagedRows>;

constexpr int compression_shared_bytes(int rows) {
    constexpr int per_part = CompressionShape<64>::bytes - CompressionShape<32>::bytes;
    return CompressionShape<32>::bytes + (rows / kCompressionStagedRows - 1) * per_part;
}
static_assert(compression_shared_bytes(224) == CompressionShape<224>::bytes);

struct LinearCompressionWork {
    RingWork users, candidates;
    void *user_part;        // fragments of the user result: written in the first phase, read in the second
    const int32_t *user_of; // [batch]
    int32_t user_count, batch;
    int32_t chunks;         // 64-column chunks per matrix
    uint32_t *finished;     // user tiles that are in memory; zero before and after
    uint32_t *left;         // clusters that have left; zero before and after
    uint32_t user_tiles;    // what `finished` counts to
};

}  // namespace ikbo
