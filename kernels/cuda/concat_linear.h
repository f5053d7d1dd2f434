// Launch parameters shared by the host and concat_linear.cu. Plain data, no device code.
#pragma once

#include "epilogue.h"
#include "interleave.h"
#include "split_rings.h"

namespace ikbo {

constexpr int kConcatWidths[] = {64, 128, 192, 256}; // columns of y of a block's tile
constexpr int kMaxInputs = 8;                        // blocks that are multiplied directly
constexpr int kConcatStagedColumns = 64;

// The weight ring always holds 128 KiB or less: K up to 64 x slots stays resident.
template <int Width>
using ConcatShape = RingShape<Width, Width == 192 ? 4 : 1024 / Width, Width == 192 ? 6 : 4, kRingChunk * kConcatStagedColumns * 2, Width / kConcatStagedColumns>;

// Columns of a mapped block's tile: half, so that its tiles spread over more multiprocessors, where that leaves whole 64s.
constexpr int concat_part_width(int width) { return width % 128 == 0 ? width / 2 : width; }
// The same memory with boxes of fewer rows of the weight.
template <int Width>
struct ConcatPartShape : ConcatShape<Width> {
    static constexpr int width = concat_part_width(Width), weight_box = width * kRingBlockK * 2;
};

constexpr int concat_weight_slots(int width) { return width == 192 ? 4 : 1024 / width; }
constexpr int concat_shared_bytes(int width) {
    switch (width) {
    case 64: return ConcatShape<64>::bytes;
    case 128: return ConcatShape<128>::bytes;
    case 192: return ConcatShape<192>::bytes;
    default: return ConcatShape<256>::bytes;
    }
}

// A mapped block's product, rounded and interleaved (interleave.h) for the rows of y to look up.
struct ConcatPartsWork {
    RingWork ring;        // its width pairs are those of the columns times the splits, splits outermost
    int32_t rows, columns;
    int32_t column_pairs; // pairs of weight tiles (of concat_part_width rows) that cover the columns
    const void *bias;     // [columns] or null; added by the first split
    void *parts;          // [rows][stride], rounded
    float *splits;        // [splits][rows][stride], or (within the main launch) SplitTiles; used where there are several
    int64_t stride;
    // Within the main launch; elsewhere unused.
    uint32_t blocks;    // thread blocks with a tile, the first of the grid; 0: the launch has no such phase
    uint32_t *arrived;  // blocks whose splits are in memory; these three are zero before and after a launch
    uint32_t *finished; // consumer warpgroups whose parts are in memory
    uint32_t *left;     // clusters that have left
};

struct ConcatLinearWork {
    RingWork ring;
    int32_t rows;
    int32_t inputs;                // blocks multiplied directly, each padded to whole K blocks
    int32_t end_block[kMaxInputs]; // K block after the last one of each input
    Epilogue epilogue;             // addends as wide as the grid's columns; the bias is one of them or in one of them
    ConcatPartsWork part;          // the first phase, if any
};

}  // namespace ikbo
