// Launch parameters shared by the host and linear_compression.cu. Plain data, no device code.
#pragma once

#include "split_rings.h"

namespace ikbo {

constexpr int kCompressionStagedRows = 32;                           // rows m of one store
constexpr int kCompressionRows[] = {32, 64, 96, 128, 160, 192, 224}; // rows m of a block's tile

template <int Rows>
using CompressionShape = RingShape<Rows, 4, 6, kCompressionStagedRows * kRingChunk * 2, 2>;

constexpr int compression_shared_bytes(int rows) { return CompressionShape<32>::bytes + 4 * (rows - 32) * kRingBlockK * 2; }
static_assert(compression_shared_bytes(224) == CompressionShape<224>::bytes);

struct LinearCompressionWork {
    RingWork ring;
    void *user_part;        // fragments of the user result: written by the user launch, read by the candidate launch
    const int32_t *user_of; // [batch], candidate launch only
    int32_t batch;          // matrices in the input: candidates, or users
    int32_t chunks;         // 64-column chunks per matrix
};

}  // namespace ikbo
