// Concat-linear: the product of a mapped block, once per source row, for the rows of y to look up. Within the main launch (its
// first phase, for one block), or in a launch of its own. The pipeline is that of split_rings.cuh, the weight streams.
//
// K may be cut into splits, so that few rows with a long K still use the whole device. Splits stay in fp32 and are added in a
// fixed order before the only rounding: by the blocks that made them (one launch), or by layout.cu (a launch of its own).
#pragma once

#include "concat_linear.h"
#include "split_rings.cuh"

namespace ikbo {

// Where a block of threads stands in this product.
struct PartTile {
    int split, first_column, k_start;

    IKBO_DEVICE PartTile(const ConcatPartsWork &work, const RingTiles &tiles, int rank, int width)
        : split(tiles.width_pair / work.column_pairs),
          first_column((tiles.width_pair % work.column_pairs * 2 + rank) * width),
          k_start(split * work.ring.k_blocks * kRingBlockK) {}
};

// Splits within the main launch, as the accumulators lie: [split][chunk][column tile][register / 4][thread][4].
struct SplitTiles {
    float4 *first;
    int column_tiles, tile_size, size;  // size of a split; sizes in float4

    IKBO_DEVICE SplitTiles(const ConcatPartsWork &work, int width)
        : first(reinterpret_cast<float4 *>(work.splits)), column_tiles(2 * work.column_pairs), tile_size(width / 8 * 128),
          size(work.ring.groups * work.ring.consumers * column_tiles * tile_size) {}
    IKBO_DEVICE float4 *tile(int split, int chunk, int column_tile) const {
        return first + static_cast<int64_t>(split) * size + (chunk * column_tiles + column_tile) * tile_size;
    }
};

// All tiles of one consumer warpgroup, straight from the registers.
template <typename T, int Width>
IKBO_DEVICE void multiply_parts(RingConsumer<T, ConcatPartShape<Width>, ptx::Major::K, false> &walk,
                                const RingTiles &tiles, const ConcatPartsWork &work, const PartTile &part) {
    using namespace ptx;
    if (walk.warpgroup >= work.ring.consumers) return walk.skip(tiles.count * work.ring.k_blocks);
    constexpr int kColumns = ConcatPartShape<Width>::width, kGroups = kConcatStagedColumns / 8;
    const int my_row = walk.thread / 32 * 16 + walk.thread % 32 / 4, pair = 2 * (walk.thread % 4);
    const bool rounded = work.ring.width_pairs == work.column_pairs;  // one split: nothing is left to add
#pragma unroll 1
    for (int tile = 0; tile < tiles.count; ++tile) {
        float d[kColumns / 2];
        walk.template tile<kRingBlockK / kStepK>(d, work.ring.k_blocks - 1, 0, [] {}, [] {});
        if (work.bias != nullptr && part.split == 0) {
            const T *bias = static_cast<const T *>(work.bias);
#pragma unroll
            for (int i = 0; i < kColumns / 2; ++i) {
                const int column = part.first_column + 8 * (i / 4) + pair + i % 2;
                if (column < work.columns) d[i] += static_cast<float>(bias[column]);
            }
        }
        if (!rounded && work.blocks > 0) {
            float4 *to = SplitTiles(work, kColumns).tile(part.split, tiles.chunk(tile, walk.warpgroup), part.first_column / kColumns) + walk.thread;
#pragma unroll
            for (int j = 0; j < kColumns / 8; ++j) to[j * 128] = {d[4 * j], d[4 * j + 1], d[4 * j + 2], d[4 * j + 3]};
            continue;
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const int row = tiles.chunk(tile, walk.warpgroup) * kRingChunk + my_row + 8 * h;
            if (row >= work.rows) continue;
            const int64_t at = (static_cast<int64_t>(part.split) * work.rows + row) * work.stride + part.first_column +
                               interleaved_column(pair);
#pragma unroll
            for (int j = 0; j < kColumns / 8; j += 4) {
                const float *v = d + 4 * j + 2 * h;
                const int64_t to = at + j / kGroups * kConcatStagedColumns + j % kGroups * 2;
                if (rounded) {
                    *reinterpret_cast<uint4 *>(static_cast<T *>(work.parts) + to) = {
                        pack<T>(v[0], v[1]), pack<T>(v[4], v[5]), pack<T>(v[8], v[9]), pack<T>(v[12], v[13])};
                } else {
                    float4 *wide = reinterpret_cast<float4 *>(work.splits + to);
                    wide[0] = {v[0], v[1], v[4], v[5]};
                    wide[1] = {v[8], v[9], v[12], v[13]};
                }
            }
        }
    }
}

// Within the main launch, after multiply_parts: a warpgroup says what it has written and goes on. With splits, only warpgroup 0 has
// multiplied, and warpgroup 1, idle so far, adds this block's share of them.
template <typename T, int Width, class Walk>
IKBO_DEVICE void finish_parts(const Walk &walk, const ConcatPartsWork &work) {
    using namespace ptx;
    constexpr int kColumns = ConcatPartShape<Width>::width;
    const int splits = work.ring.width_pairs / work.column_pairs;
    if (walk.warpgroup < work.ring.consumers) return walk.announce(splits > 1 ? work.arrived : work.finished);
    if (splits > 1) {
        walk.await(work.arrived, work.blocks);
        const SplitTiles tiles(work, kColumns);
        for (int i = static_cast<int>(blockIdx.x) * 128 + walk.thread; i < tiles.size; i += work.blocks * 128) {
            float sum[4] = {};
#pragma unroll 16
            for (int s = 0; s < splits; ++s) {
                const uint4 next = load_global_16(tiles.first + static_cast<int64_t>(s) * tiles.size + i);
                sum[0] += __uint_as_float(next.x);
                sum[1] += __uint_as_float(next.y);
                sum[2] += __uint_as_float(next.z);
                sum[3] += __uint_as_float(next.w);
            }
            const int tile = i / tiles.tile_size, j = i % tiles.tile_size / 128, thread = i % 128;
            const int row = tile / tiles.column_tiles * kRingChunk + thread / 32 * 16 + thread % 32 / 4;
            const int column = tile % tiles.column_tiles * kColumns + interleaved_column(8 * j + 2 * (thread % 4));
            T *to = static_cast<T *>(work.parts) + row * work.stride + column;
            if (row < work.rows) *reinterpret_cast<uint32_t *>(to) = pack<T>(sum[0], sum[1]);
            if (row + 8 < work.rows) *reinterpret_cast<uint32_t *>(to + 8 * work.stride) = pack<T>(sum[2], sum[3]);
        }
        walk.announce(work.finished);
    }
}

}  // namespace ikbo
