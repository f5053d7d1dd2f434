#include "concat_blocks.h"

namespace ikbo {

std::vector<Block> blocks_of(const SharedContext &context, const ikbo_concat_linear_shape &s) {
    std::vector<Block> blocks;
    int64_t column = 0;
    for (int32_t i = 0; i < s.blocks; ++i) {
        const auto &b = s.block[i];
        Block block{i,
                    b.source_rows,
                    b.width,
                    b.row_stride,
                    column,
                    b.map_kind == IKBO_MAP_NONE,
                    {"index", b.map_kind, b.index_bits, b.repeats, s.rows, b.source_rows},
                    {}};
        if (b.map_kind != IKBO_MAP_NONE && b.map_kind != IKBO_MAP_ALL)
            block.row_of = Buffer(context, size(s.rows * 4), "a map");
        column += b.width;
        blocks.push_back(std::move(block));
    }
    return blocks;
}

void upload_maps(const std::vector<Block> &blocks, const ikbo_concat_linear_args &args, CUstream stream) {
    for (const Block &block : blocks)
        if (block.row_of.data() != nullptr) upload_map(block.map, args.index[block.index], block.row_of, stream);
}

const uint16_t *columns(const ikbo_concat_linear_args &args, const Block &block) {
    return static_cast<const uint16_t *>(args.weight) + block.first_column;
}

GemmWork block_product(const ikbo_concat_linear_shape &s, const Block &block, const ikbo_concat_linear_args &args,
                       int64_t rows, void *c, int64_t c_stride) {
    GemmWork work{};
    work.a = args.x[block.index];
    work.c = c;
    work.m = static_cast<int32_t>(rows);
    work.n = static_cast<int32_t>(s.outputs);
    work.k = static_cast<int32_t>(block.width);
    work.batch = 1;
    work.a_row = block.row_stride;
    work.c_row = c_stride;
    return work;
}

PackedWeight::PackedWeight(const SharedContext &context, const ikbo_concat_linear_shape &s, int64_t width)
    : rows(context, size(s.outputs * round_up(width, 64) * 2), "the packed weight"), stride(round_up(width, 64)) {}

void PackedWeight::pack(const Layout &layout, const ikbo_concat_linear_shape &s, const ikbo_concat_linear_args &args,
                        const Block &block, CUstream stream, int64_t at) const {
    layout.pack({columns(args, block), static_cast<uint16_t *>(rows.data()) + at, s.outputs, s.weight_stride, stride,
                 block.width, round_up(block.width, 64)},
                stream);
}

} // namespace ikbo
