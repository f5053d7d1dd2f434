// What the stages of concat-linear share: the blocks with their maps, and the packed weight.
#pragma once

#include <vector>

#include "maps.h"
#include "operators.h"
#include "products.h"
#include "sizes.h"

namespace ikbo {

// A block of the concatenation, with where its columns of the weight begin and its map on the device.
struct Block {
    int32_t index;
    int64_t source_rows, width, row_stride, first_column;
    bool direct; // one source row per output row, in order
    MapShape map;
    Buffer row_of; // empty where every row maps to row 0

    const int32_t *rows() const { return static_cast<const int32_t *>(row_of.data()); }
};

std::vector<Block> blocks_of(const SharedContext &context, const ikbo_concat_linear_shape &s);
void upload_maps(const std::vector<Block> &blocks, const ikbo_concat_linear_args &args, CUstream stream);

const uint16_t *columns(const ikbo_concat_linear_args &args, const Block &block);

// c[rows, outputs] = x W^T for one block; the caller sets the weight and the epilogue.
GemmWork block_product(const ikbo_concat_linear_shape &s, const Block &block, const ikbo_concat_linear_args &args,
                       int64_t rows, void *c, int64_t c_stride);

// A block's columns of the weight, its rows padded with zeros to a multiple of 64 elements; or several blocks' side by
// side.
struct PackedWeight {
    Buffer rows;
    int64_t stride;

    PackedWeight(const SharedContext &context, const ikbo_concat_linear_shape &s, int64_t width);
    void pack(const Layout &layout, const ikbo_concat_linear_shape &s, const ikbo_concat_linear_args &args,
              const Block &block, CUstream stream, int64_t at = 0) const;
};

// Stages 0 to 3: portable kernels.
Operator<ikbo_concat_linear_args> cuda_concat_linear_staged(const SharedContext &context,
                                                            const ikbo_concat_linear_shape &shape, int32_t stage);

} // namespace ikbo
