// Concat-linear on CUDA: the stages that the portable kernels serve, and the warp-specialized kernel.
#include "concat_linear.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <vector>

#include "error.h"
#include "maps.h"
#include "operators.h"
#include "products.h"

namespace ikbo {
namespace {

using Shape = ikbo_concat_linear_shape;
using Args = ikbo_concat_linear_args;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
int64_t parts(int64_t total, int64_t part) { return (total + part - 1) / part; }
std::size_t size(int64_t value) { return static_cast<std::size_t>(value); }
CUstream stream_of(void *stream) { return static_cast<CUstream>(stream); }

// A block of the concatenation, with where its columns of the weight begin and its map on the device.
struct Block {
    int32_t index;
    int64_t source_rows, width, row_stride, first_column;
    bool direct; // one source row per output row, in order
    MapShape map;
    Buffer row_of; // empty where every row maps to row 0

    const int32_t *rows() const { return static_cast<const int32_t *>(row_of.data()); }
};

std::vector<Block> blocks_of(const SharedContext &context, const Shape &s) {
    std::vector<Block> blocks;
    int64_t column = 0;
    for (int32_t i = 0; i < s.blocks; ++i) {
        const auto &b = s.block[i];
        Block block{i, b.source_rows, b.width, b.row_stride, column, b.map_kind == IKBO_MAP_NONE,
                    {"index", b.map_kind, b.index_bits, b.repeats, s.rows, b.source_rows}, {}};
        if (b.map_kind != IKBO_MAP_NONE && b.map_kind != IKBO_MAP_ALL) block.row_of = Buffer(context, size(s.rows * 4), "a map");
        column += b.width;
        blocks.push_back(std::move(block));
    }
    return blocks;
}

void upload_maps(const std::vector<Block> &blocks, const Args &args, CUstream stream) {
    for (const Block &block : blocks)
        if (block.row_of.data() != nullptr) upload_map(block.map, args.index[block.index], block.row_of, stream);
}

const uint16_t *columns(const Args &args, const Block &block) {
    return static_cast<const uint16_t *>(args.weight) + block.first_column;
}

// c[rows, outputs] = x W^T for one block; the caller sets the weight and the epilogue.
GemmWork block_product(const Shape &s, const Block &block, const Args &args, int64_t rows, void *c, int64_t c_stride) {
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

// A block's columns of the weight, its rows padded with zeros to a multiple of 64 elements.
struct PackedWeight {
    Buffer rows;
    int64_t stride;

    PackedWeight(const SharedContext &context, const Shape &s, int64_t width)
        : rows(context, size(s.outputs * round_up(width, 64) * 2), "the packed weight"), stride(round_up(width, 64)) {}
    void pack(const Layout &layout, const Shape &s, const Args &args, const Block &block, CUstream stream, int64_t at = 0) const {
        layout.pack({columns(args, block), static_cast<uint16_t *>(rows.data()) + at, s.outputs, s.weight_stride, stride,
                     block.width, round_up(block.width, 64)},
                    stream);
    }
};

// Stages 0 to 3. Parts are kept in the operands' type where a stage stands for separate operators (1, 2), and in fp32
// where they are added before the only rounding (3).
class Staged {
  public:
    Staged(const SharedContext &context, const Shape &shape, int32_t stage)
        : context_(context), s_(shape), stage_(stage), product_(context, shape.dtype, ContiguousIn::k),
          layout_(context, shape.dtype), blocks_(blocks_of(context, shape)) {
        if (stage == IKBO_STAGE_MATERIALIZED) {
            depth_ = 0;
            for (const Block &block : blocks_) depth_ += block.width;
            replica_ = Buffer(context, size(s_.rows * depth_ * 2), "the replica");
            return;
        }
        for (std::size_t i = 0; i < blocks_.size(); ++i) {
            Block &block = blocks_[i];
            // One direct block is multiplied into the output; the others become parts like the mapped ones.
            if (block.direct && main_ == none) main_ = i;
            if (block.direct && main_ != i && stage == IKBO_STAGE_FUSED) block.row_of = Buffer(context, size(s_.rows * 4), "a map");
            const int64_t elements = main_ == i ? 0 : block.source_rows * s_.outputs;
            parts_.emplace_back(context, size(elements * (stage == IKBO_STAGE_FUSED ? 4 : 2)), "the parts of the output");
            if (stage >= IKBO_STAGE_ALIGNED) weights_.emplace_back(context, s_, block.width);
        }
    }

    void prepare(const Args &args, CUstream stream) const {
        const CurrentContext current(context_->handle);
        upload_maps(blocks_, args, stream); // direct blocks that became parts get the identity
        for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i].pack(layout_, s_, args, blocks_[i], stream);
    }

    void run(const Args &args, CUstream stream) const {
        const CurrentContext current(context_->handle);
        if (stage_ == IKBO_STAGE_MATERIALIZED) return materialized(args, stream);
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (i != main_) {
                GemmWork part = block_product(s_, blocks_[i], args, blocks_[i].source_rows, parts_[i].data(), s_.outputs);
                part.wide = stage_ == IKBO_STAGE_FUSED;
                set_weight(part, i, args);
                product_.run(part, stream);
            }
        if (stage_ == IKBO_STAGE_FUSED)
            fused(args, stream);
        else
            separate(args, stream);
    }

    std::size_t workspace_bytes() const {
        std::size_t bytes = replica_.bytes();
        for (const Block &block : blocks_) bytes += block.row_of.bytes();
        for (const Buffer &part : parts_) bytes += part.bytes();
        for (const PackedWeight &weight : weights_) bytes += weight.rows.bytes();
        return bytes;
    }

    std::string kernel() const {
        static constexpr const char *steps[] = {"gather + %s", "%s per block + gather-add", "packed, %s per block + gather-add",
                                                "packed, %s per block, lookup in the epilogue"};
        std::string name = steps[stage_];
        return name.replace(name.find("%s"), 2, product_.name());
    }

  private:
    static constexpr std::size_t none = ~std::size_t{0};

    void set_weight(GemmWork &work, std::size_t i, const Args &args) const {
        work.b = weights_.empty() ? static_cast<const void *>(columns(args, blocks_[i])) : weights_[i].rows.data();
        work.b_row = weights_.empty() ? s_.weight_stride : weights_[i].stride;
    }

    void materialized(const Args &args, CUstream stream) const {
        GatherWork gather{};
        gather.blocks = s_.blocks;
        gather.rows = s_.rows;
        gather.to = replica_.data();
        gather.to_stride = depth_;
        for (const Block &block : blocks_)
            gather.block[block.index] = {args.x[block.index], block.rows(), block.map.kind == IKBO_MAP_ALL ? 0 : block.row_stride,
                                         block.width};
        layout_.gather(gather, stream);
        GemmWork whole{};
        whole.a = replica_.data();
        whole.b = args.weight;
        whole.c = args.out;
        whole.m = static_cast<int32_t>(s_.rows);
        whole.n = static_cast<int32_t>(s_.outputs);
        whole.k = static_cast<int32_t>(depth_);
        whole.batch = 1;
        whole.a_row = depth_;
        whole.b_row = s_.weight_stride;
        whole.c_row = s_.out_stride;
        whole.epilogue.bias = args.bias;
        whole.epilogue.activation = s_.activation;
        product_.run(whole, stream);
    }

    // The main block's product, or nothing but the epilogue where there is no direct block.
    GemmWork main_product(const Args &args) const {
        if (main_ != none) {
            GemmWork work = block_product(s_, blocks_[main_], args, s_.rows, args.out, s_.out_stride);
            set_weight(work, main_, args);
            return work;
        }
        GemmWork work = block_product(s_, blocks_[0], args, s_.rows, args.out, s_.out_stride);
        set_weight(work, 0, args);
        work.k = 0;
        return work;
    }

    void fused(const Args &args, CUstream stream) const {
        GemmWork work = main_product(args);
        work.epilogue.bias = args.bias;
        work.epilogue.activation = s_.activation;
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (i != main_)
                work.epilogue.addend[work.epilogue.addends++] = {static_cast<const float *>(parts_[i].data()), blocks_[i].rows(), s_.outputs};
        product_.run(work, stream);
    }

    void separate(const Args &args, CUstream stream) const {
        GatherAddWork add{};
        if (main_ != none) {
            product_.run(main_product(args), stream);
            add.source[add.sources++] = {args.out, nullptr, s_.out_stride};
        }
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (i != main_)
                add.source[add.sources++] = {parts_[i].data(), blocks_[i].rows(), blocks_[i].map.kind == IKBO_MAP_ALL ? 0 : s_.outputs};
        add.bias = args.bias;
        add.to = args.out;
        add.rows = s_.rows;
        add.to_stride = s_.out_stride;
        add.width = s_.outputs;
        add.activation = s_.activation;
        layout_.gather_add(add, stream);
    }

    SharedContext context_;
    Shape s_;
    int32_t stage_;
    Product product_;
    Layout layout_;
    std::vector<Block> blocks_;
    std::size_t main_ = none;
    int64_t depth_ = 0;
    Buffer replica_;
    std::vector<Buffer> parts_; // by block; empty for the main one
    std::vector<PackedWeight> weights_;
};

// Stage 4: kernels/cuda/concat_linear.cu after one small product for each mapped block.
class WarpSpecialized {
  public:
    WarpSpecialized(const SharedContext &context, const Shape &shape)
        : context_(context), s_(shape), product_(context, shape.dtype, ContiguousIn::k), layout_(context, shape.dtype),
          blocks_(blocks_of(context, shape)) {
        int64_t depth = 0;
        for (const Block &block : blocks_) {
            if (!block.direct) continue;
            depth += round_up(block.width, kRingBlockK);
            work_.end_block[work_.inputs++] = static_cast<int32_t>(depth / kRingBlockK);
        }
        const int widest = *std::rbegin(kConcatWidths);
        const auto width_pairs = static_cast<int32_t>(parts(s_.outputs, 2 * widest));
        width_ = *std::lower_bound(std::begin(kConcatWidths), std::end(kConcatWidths), parts(s_.outputs, 2 * width_pairs));
        work_.rows = static_cast<int32_t>(s_.rows);
        work_.epilogue.activation = s_.activation;
        RingWork &ring = work_.ring;
        ring.consumers = 2;
        ring.groups = static_cast<int32_t>(parts(parts(s_.rows, kRingChunk), 2));
        ring.width_pairs = width_pairs;
        ring.k_blocks = static_cast<int32_t>(depth / kRingBlockK);
        ring.skew = std::min(4, ring.k_blocks / 2);
        const bool resident = ring.k_blocks <= concat_weight_slots(width_);

        weights_.emplace_back(context, s_, depth);
        add_addends(context, int64_t{2} * width_pairs * width_);

        const auto shared = static_cast<unsigned>(concat_shared_bytes(width_));
        kernel_ = context->kernel("concat_linear",
                                  std::string("concat_linear_") + (s_.dtype == IKBO_BF16 ? "bf16_" : "fp16_") +
                                      std::to_string(width_) + (resident ? "_resident" : ""),
                                  shared);
        const CurrentContext current(context->handle);
        launch_.threads = kRingThreads;
        launch_.shared_bytes = shared;
        launch_.cluster = 2;
        launch_.grid[0] = 2;
        const int clusters = resident_clusters(kernel_, launch_);
        if (clusters < 1) fail(IKBO_UNSUPPORTED, "the device has no room for a cluster of %s", kernel_.name.c_str());
        // Clusters are taken in sets that each cover all columns of y.
        launch_.grid[0] = static_cast<unsigned>(2 * std::min(std::max(1, clusters / width_pairs), ring.groups) * width_pairs);
    }

    void prepare(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        upload_maps(blocks_, args, stream);
        int64_t column = 0;
        std::size_t mapped = 0;
        for (const Block &block : blocks_) {
            if (block.direct) {
                weights_[0].pack(layout_, s_, args, block, stream, column);
                column += round_up(block.width, kRingBlockK);
            } else {
                weights_[++mapped].pack(layout_, s_, args, block, stream);
            }
        }
        if (bias_row_) product_.run(bias_row(args), stream);
        describe(args);
    }

    void run(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        describe(args);
        std::size_t mapped = 0;
        for (const Block &block : blocks_) {
            if (block.direct) continue;
            GemmWork part = block_product(s_, block, args, block.source_rows, parts_[mapped].data(), addend_stride_);
            part.wide = 1;
            part.b = weights_[mapped + 1].rows.data();
            part.b_row = weights_[mapped + 1].stride;
            if (mapped == 0) part.epilogue.bias = args.bias;
            product_.run(part, stream);
            ++mapped;
        }
        launch(kernel_, launch_, stream, weight_map_, input_maps_, out_map_, work_);
    }

    std::size_t workspace_bytes() const {
        std::size_t bytes = 0;
        for (const Block &block : blocks_) bytes += block.row_of.bytes();
        for (const Buffer &part : parts_) bytes += part.bytes();
        for (const PackedWeight &weight : weights_) bytes += weight.rows.bytes();
        return bytes;
    }
    std::string kernel() const { return kernel_.name; }

  private:
    // One addend for each mapped block. The bias rides on the first; where there is none, it is an addend of one row.
    void add_addends(const SharedContext &context, int64_t stride) {
        addend_stride_ = stride;
        const auto add = [&](int64_t rows, const int32_t *row_of) {
            parts_.emplace_back(context, size(rows * stride * 4), "the parts of the output");
            work_.epilogue.addend[work_.epilogue.addends++] = {static_cast<const float *>(parts_.back().data()), row_of, stride};
        };
        for (const Block &block : blocks_) {
            if (block.direct) continue;
            weights_.emplace_back(context, s_, block.width);
            add(block.source_rows, block.rows());
        }
        launch_.overlap = !parts_.empty();
        bias_row_ = parts_.empty() && s_.has_bias != 0;
        if (bias_row_) add(1, nullptr);
    }

    // The bias as an fp32 row: a product without terms.
    GemmWork bias_row(const Args &args) const {
        GemmWork work = block_product(s_, blocks_[0], args, 1, parts_[0].data(), addend_stride_);
        work.k = 0;
        work.b = weights_[0].rows.data();
        work.b_row = weights_[0].stride;
        work.wide = 1;
        work.epilogue.bias = args.bias;
        return work;
    }

    // Tensor maps cost a microsecond each: made again only when pointers change.
    void describe(const Args &args) {
        if (described_ && std::equal(std::begin(args.x), std::end(args.x), std::begin(described_args_.x)) && args.out == described_args_.out)
            return;
        weight_map_ = tensor_map({s_.dtype, {size(weights_[0].stride), size(s_.outputs)}, {size(weights_[0].stride)},
                                  {kRingBlockK, static_cast<uint32_t>(width_)}}, weights_[0].rows.data(), "the packed weight");
        std::size_t input = 0;
        for (const Block &block : blocks_)
            if (block.direct)
                input_maps_[input++] = tensor_map({s_.dtype, {size(block.width), size(s_.rows)}, {size(block.row_stride)},
                                                   {kRingBlockK, kRingChunk / 2}}, args.x[block.index], "x");
        out_map_ = tensor_map({s_.dtype, {size(s_.outputs), size(s_.rows)}, {size(s_.out_stride)}, {kConcatStagedColumns, kRingChunk}},
                              args.out, "out");
        described_args_ = args;
        described_ = true;
    }

    SharedContext context_;
    Shape s_;
    Product product_;
    Layout layout_;
    std::vector<Block> blocks_;
    std::vector<PackedWeight> weights_; // the direct blocks' together, then each mapped one's
    std::vector<Buffer> parts_;
    int64_t addend_stride_ = 0;
    bool bias_row_ = false;
    int width_ = 0;
    Kernel kernel_;
    ConcatLinearWork work_{};
    Launch launch_;
    bool described_ = false;
    Args described_args_{};
    CUtensorMap weight_map_{}, out_map_{};
    std::array<CUtensorMap, kMaxInputs> input_maps_{};
};

// What the copy engine needs: rows of 16-byte multiples. K of the mapped blocks is free.
bool fits_warp_specialized(const SharedContext &context, const Shape &s) {
    int32_t direct = 0;
    for (int32_t i = 0; i < s.blocks; ++i) {
        if (s.block[i].map_kind != IKBO_MAP_NONE) continue;
        ++direct;
        if (s.block[i].row_stride % 8 != 0) return false;
    }
    return context->hopper() && direct >= 1 && direct <= kMaxInputs && s.outputs % 8 == 0 && s.out_stride % 8 == 0;
}

template <class Implementation> Operator<Args> wrap(std::shared_ptr<Implementation> implementation) {
    return {[implementation](const Args &args, void *stream) { implementation->prepare(args, stream_of(stream)); },
            [implementation](const Args &args, void *stream) { implementation->run(args, stream_of(stream)); },
            [implementation] { return implementation->workspace_bytes(); }, [implementation] { return implementation->kernel(); }};
}

} // namespace

Operator<Args> cuda_concat_linear(const SharedContext &context, const Shape &s) {
    if (s.dtype == IKBO_FP32)
        fail(IKBO_UNSUPPORTED, "concat-linear on CUDA takes fp16 and bf16, not fp32; use a 16-bit type or the CPU device");
    if (s.rows > INT32_MAX - 128 || s.outputs > INT32_MAX)
        fail(IKBO_UNSUPPORTED, "concat-linear on CUDA counts rows in 32 bits; %lld rows are too many", static_cast<long long>(s.rows));
    const bool fits = fits_warp_specialized(context, s);
    const int32_t stage = s.stage != IKBO_STAGE_BEST ? s.stage : fits ? IKBO_STAGE_WARP_SPECIALIZED : IKBO_STAGE_FUSED;
    if (stage != IKBO_STAGE_WARP_SPECIALIZED) return wrap(std::make_shared<Staged>(context, s, stage));
    if (!fits)
        fail(IKBO_UNSUPPORTED,
             "the warp-specialized concat-linear needs compute capability 9.0, at least one block without a map, and outputs and "
             "row strides that are multiples of 8 (the other stages take any shape)");
    return wrap(std::make_shared<WarpSpecialized>(context, s));
}

} // namespace ikbo
