// Concat-linear on CUDA, stages 0 to 3.
#include "concat_blocks.h"

namespace ikbo {
namespace {

using Shape = ikbo_concat_linear_shape;
using Args = ikbo_concat_linear_args;

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
            if (block.direct && main_ != i && stage == IKBO_STAGE_FUSED)
                block.row_of = Buffer(context, size(s_.rows * 4), "a map");
            const int64_t elements = main_ == i ? 0 : block.source_rows * s_.outputs;
            parts_.emplace_back(context, size(elements * (stage == IKBO_STAGE_FUSED ? 4 : 2)),
                                "the parts of the output");
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
                GemmWork part =
                    block_product(s_, blocks_[i], args, blocks_[i].source_rows, parts_[i].data(), s_.outputs);
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
        static constexpr const char *steps[] = {"gather + %s", "%s per block + gather-add",
                                                "packed, %s per block + gather-add",
                                                "packed, %s per block, lookup in the epilogue"};
        std::string name = steps[stage_];
        return name.replace(name.find("%s"), 2, product_.name());
    }

  private:
    static constexpr std::size_t none = ~std::size_t{0};

    const void *bias(const Args &args) const { return s_.has_bias != 0 ? args.bias : nullptr; }

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
            gather.block[block.index] = {args.x[block.index], block.rows(),
                                         block.map.kind == IKBO_MAP_ALL ? 0 : block.row_stride, block.width};
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
        whole.epilogue.bias = bias(args);
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
        work.epilogue.bias = bias(args);
        work.epilogue.activation = s_.activation;
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (i != main_)
                work.epilogue.addend[work.epilogue.addends++] = {static_cast<const float *>(parts_[i].data()),
                                                                 blocks_[i].rows(), s_.outputs};
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
                add.source[add.sources++] = {parts_[i].data(), blocks_[i].rows(),
                                             blocks_[i].map.kind == IKBO_MAP_ALL ? 0 : s_.outputs};
        add.bias = bias(args);
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

} // namespace

Operator<Args> cuda_concat_linear_staged(const SharedContext &context, const Shape &shape, int32_t stage) {
    return wrap<Args>(std::make_shared<Staged>(context, shape, stage));
}

} // namespace ikbo
