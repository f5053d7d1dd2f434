// Concat-linear on CUDA: the warp-specialized kernel, and which stage serves a shape.
#include "concat_linear.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "concat_blocks.h"
#include "error.h"
#include "rings.h"

namespace ikbo {
namespace {

using Shape = ikbo_concat_linear_shape;
using Args = ikbo_concat_linear_args;

// A mapped block's product, rounded and interleaved for the main launch to look up: by the main launch itself or by
// concat_parts_* where the copy engine can read the block, else by the portable kernel.
struct MappedPart {
    std::size_t block;
    PackedWeight weight;
    Buffer parts, splits; // splits: where K is cut
    ConcatPartsWork work{};
    Kernel kernel; // no handle: portable, or within the main launch
    Launch launch;
    CUtensorMap weight_map{}, input_map{};

    bool within() const { return work.blocks > 0; }
    bool copied() const { return within() || kernel.handle != nullptr; }
};

// Stage 4: kernels/cuda/concat_linear.cu. A mapped block whose tiles are few for each cluster is a phase of its launch; with more
// than one, or a large one, each has a launch of its own before.
class WarpSpecialized {
  public:
    WarpSpecialized(const SharedContext &context, const Shape &shape)
        : context_(context), s_(shape), product_(context, shape.dtype, ContiguousIn::k), layout_(context, shape.dtype),
          blocks_(blocks_of(context, shape)), weight_(context, shape, direct_depth(blocks_)),
          counters_(context, 3 * sizeof(uint32_t), "counters") {
        int64_t depth = 0;
        for (const Block &block : blocks_) {
            if (!block.direct) continue;
            depth += round_up(block.width, kRingBlockK);
            work_.end_block[work_.inputs++] = static_cast<int32_t>(depth / kRingBlockK);
        }
        const auto [least, most] = std::minmax_element(std::begin(kConcatWidths), std::end(kConcatWidths));
        const int widest = s_.tile == 0 ? *most : std::clamp(s_.tile, *least, *most);
        width_pairs_ = static_cast<int32_t>(parts(s_.outputs, 2 * widest));
        width_ =
            *std::lower_bound(std::begin(kConcatWidths), std::end(kConcatWidths), parts(s_.outputs, 2 * width_pairs_));
        const auto k_blocks = static_cast<int32_t>(depth / kRingBlockK);
        const bool resident = k_blocks <= concat_weight_slots(width_);
        work_.rows = static_cast<int32_t>(s_.rows);
        work_.epilogue.activation = s_.activation;
        RingWork &ring = work_.ring;
        ring.consumers = 2;
        ring.stride = 1;
        ring.groups = static_cast<int32_t>(parts(parts(s_.rows, kRingChunk), 2));
        ring.width_pairs = width_pairs_;
        ring.k_blocks = k_blocks;
        ring.skew = resident ? 0 : std::min(4, k_blocks / 2);
        kernel_ = kernel("concat_linear_", resident ? "_resident" : "");
        const CurrentContext current(context->handle);
        launch_ = ring_launch();
        const int clusters = resident_clusters(kernel_, launch_);
        if (clusters < 1) fail(IKBO_UNSUPPORTED, "the device has no room for a cluster of %s", kernel_.name.c_str());
        ring.runs = std::min(std::max(1, clusters / width_pairs_), ring.groups);
        launch_.grid[0] = static_cast<unsigned>(2 * ring.runs * width_pairs_);
        work_.part.ring.stride = work_.part.ring.width_pairs = work_.part.ring.runs = work_.part.column_pairs = 1;
        const std::size_t mapped = blocks_.size() - static_cast<std::size_t>(work_.inputs);
        for (std::size_t i = 0; i < blocks_.size(); ++i)
            if (!blocks_[i].direct) add_mapped(i, clusters, mapped == 1);
        if (mapped == 1 && mapped_[0].within()) {
            include(mapped_[0].work);
        } else {
            launch_.overlap = mapped > 0;
            if (mapped == 1 && mapped_[0].kernel.handle != nullptr) start_late(mapped_[0].work.ring);
        }
        if (mapped_.empty() && s_.has_bias != 0) {
            bias_row_ = Buffer(context, size(addend_stride() * 2), "the bias");
            work_.epilogue.addend[work_.epilogue.addends++] = {bias_row_.data(), nullptr, addend_stride()};
        }
    }

    void prepare(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        upload_maps(blocks_, args, stream);
        int64_t column = 0;
        for (const Block &block : blocks_) {
            if (!block.direct) continue;
            weight_.pack(layout_, s_, args, block, stream, column);
            column += round_up(block.width, kRingBlockK);
        }
        for (const MappedPart &part : mapped_) {
            part.weight.pack(layout_, s_, args, blocks_[part.block], stream);
            if (!part.copied()) clear(part.parts, stream);
        }
        check(driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(counters_.data()), 0, counters_.bytes(), stream),
              "clearing the counters");
        if (bias_row_.data() != nullptr) {
            clear(bias_row_, stream);
            product_.run(bias_row(args), stream);
        }
        describe(args);
    }

    void run(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        describe(args);
        if (work_.part.blocks > 0) {
            work_.part.bias = bias_of(mapped_[0], args);
        } else {
            for (const MappedPart &part : mapped_) multiply(part, args, stream);
        }
        // Without such a phase these two are not read.
        const MappedPart *part = mapped_.empty() ? nullptr : &mapped_[0];
        launch(kernel_, launch_, stream, weight_map_, input_maps_, part ? part->weight_map : out_map_,
               part ? part->input_map : out_map_, out_map_, work_);
    }

    std::size_t workspace_bytes() const {
        std::size_t bytes = weight_.rows.bytes() + bias_row_.bytes() + counters_.bytes();
        for (const Block &block : blocks_) bytes += block.row_of.bytes();
        for (const MappedPart &part : mapped_)
            bytes += part.parts.bytes() + part.splits.bytes() + part.weight.rows.bytes();
        return bytes;
    }
    std::string kernel() const { return kernel_.name; }

  private:
    static int64_t direct_depth(const std::vector<Block> &blocks) {
        int64_t depth = 0;
        for (const Block &block : blocks) depth += block.direct ? round_up(block.width, kRingBlockK) : 0;
        return depth;
    }

    Kernel kernel(const char *prefix, const char *suffix) const {
        return context_->kernel("concat_linear",
                                prefix + std::string(s_.dtype == IKBO_BF16 ? "bf16_" : "fp16_") +
                                    std::to_string(width_) + suffix,
                                static_cast<unsigned>(concat_shared_bytes(width_)));
    }

    Launch ring_launch() const {
        Launch how;
        how.threads = kRingThreads;
        how.shared_bytes = static_cast<unsigned>(concat_shared_bytes(width_));
        how.cluster = 2;
        how.grid[0] = 2;
        return how;
    }

    // The mapped block as the first phase of the main launch. Its clusters get fewer rows of y for that.
    void include(ConcatPartsWork &work) {
        work.arrived = static_cast<uint32_t *>(counters_.data());
        work.finished = work.arrived + 1;
        work.left = work.arrived + 2;
        work_.part = work;
        launch_.together = true;
        launch_.grid[0] = std::max(launch_.grid[0], work.blocks);
        const int32_t busy = static_cast<int32_t>(work.blocks) / 2;
        share_runs(work_.ring, 0, busy / width_pairs_, part_blocks(work.ring));
    }

    // The main launch fills the multiprocessors that the mapped block's leaves free; its last clusters start when that one is
    // done. A launch takes about as long as five K blocks before its first product.
    void start_late(const RingWork &part) {
        constexpr int64_t launch_blocks = 5;
        const int32_t busy = part.runs * part.width_pairs / width_pairs_;
        share_runs(work_.ring, work_.ring.runs - busy, busy, part_blocks(part) + launch_blocks);
    }

    // K blocks of the main launch that take as long as a cluster's tiles of a mapped block.
    int64_t part_blocks(const RingWork &part) const {
        return parts(part.groups, part.runs) * part.k_blocks * part.consumers * concat_part_width(width_) / (2 * width_);
    }

    // Addends are as wide as the tiles, so that the kernel need not ask where the columns end.
    int64_t addend_stride() const { return int64_t{2} * width_pairs_ * width_; }

    // Once: the portable product leaves the columns past the outputs alone, and the kernel reads them.
    static void clear(const Buffer &rows, CUstream stream) {
        if (rows.bytes() == 0) return;
        check(driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(rows.data()), 0, rows.bytes(), stream),
              "clearing the parts of the output");
    }

    void add_mapped(std::size_t i, int clusters, bool alone) {
        const Block &block = blocks_[i];
        MappedPart part{i, PackedWeight(context_, s_, block.width), {}, {}, {}, {}, {}, {}, {}};
        ConcatPartsWork &work = part.work;
        work.column_pairs = width_pairs_ * (width_ / concat_part_width(width_));
        int32_t splits = 1;
        if (block.row_stride % 8 == 0 && block.source_rows > 0) {
            const auto chunks = static_cast<int32_t>(parts(block.source_rows, kRingChunk));
            const auto k_blocks = static_cast<int32_t>(parts(block.width, kRingBlockK));
            const int32_t pairs = work.column_pairs;
            const auto lay = [&](int32_t consumers, int32_t most_splits) {
                RingWork &ring = work.ring;
                ring.stride = 1;
                ring.consumers = consumers;
                ring.groups = static_cast<int32_t>(parts(chunks, consumers));
                splits = std::clamp(clusters / (ring.groups * pairs), 1, most_splits);
                ring.k_blocks = static_cast<int32_t>(parts(k_blocks, splits));
                ring.width_pairs = pairs * splits;
                ring.runs = std::min(std::max(1, clusters / ring.width_pairs), ring.groups);
            };
            // A long K is cut while clusters are to spare, into pieces of four blocks or more: below nine blocks, adding the
            // pieces takes longer than they save. Then one warpgroup multiplies and the other adds. Where tiles are not halved, one
            // is enough as well while every chunk finds a cluster of its own.
            const int32_t most = k_blocks > 8 ? k_blocks / 4 : 1;
            const bool cut = most > 1 && 2 * chunks * pairs <= clusters;
            const bool spread = concat_part_width(width_) == width_ && chunks * pairs <= clusters;
            lay(cut || spread || chunks == 1 ? 1 : 2, cut ? most : 1);
            const auto longest = [&] { return parts(work.ring.groups, work.ring.runs) * work.ring.k_blocks; };
            // Longer, and the main launch does better to start beside it than to begin with it. Then nobody of this one adds, and both
            // warpgroups multiply, unless one of them is enough for the shortest pieces.
            const bool within = alone && longest() <= 16;
            if (!within && most > 1 && chunks * pairs * most > clusters) lay(2, most);
            const auto blocks = static_cast<unsigned>(2 * work.ring.runs * work.ring.width_pairs);
            if (within) {
                work.blocks = blocks;
            } else {
                part.kernel = kernel("concat_parts_", "");
                part.launch = ring_launch();
                part.launch.grid[0] = blocks;
            }
        }
        work.rows = static_cast<int32_t>(block.source_rows);
        work.columns = static_cast<int32_t>(s_.outputs);
        work.stride = addend_stride();
        const int64_t elements = block.source_rows * addend_stride();
        part.parts = Buffer(context_, size(elements * 2), "the parts of the output");
        work.parts = part.parts.data();
        if (splits > 1) {
            const int64_t padded = round_up(block.source_rows, kRingChunk) * addend_stride();
            part.splits = Buffer(context_, size(splits * padded * 4), "the splits of a part");
        }
        work.splits = static_cast<float *>(part.splits.data());
        work_.epilogue.addend[work_.epilogue.addends++] = {work.parts, block.rows(), addend_stride()};
        mapped_.push_back(std::move(part));
    }

    // The bias goes along with the first mapped block.
    const void *bias_of(const MappedPart &part, const Args &args) const {
        return s_.has_bias != 0 && &part == &mapped_[0] ? args.bias : nullptr;
    }

    void multiply(const MappedPart &part, const Args &args, CUstream stream) const {
        const Block &block = blocks_[part.block];
        const void *bias = bias_of(part, args);
        if (part.kernel.handle == nullptr) {
            GemmWork work = block_product(s_, block, args, block.source_rows, part.parts.data(), addend_stride());
            work.interleaved = 1;
            work.b = part.weight.rows.data();
            work.b_row = part.weight.stride;
            work.epilogue.bias = bias;
            product_.run(work, stream);
            return;
        }
        ConcatPartsWork work = part.work;
        work.bias = bias;
        launch(part.kernel, part.launch, stream, part.weight_map, part.input_map, work);
        const int32_t splits = work.ring.width_pairs / work.column_pairs;
        if (splits > 1) layout_.sum_parts({work.splits, work.parts, int64_t{work.rows} * work.stride, splits}, stream);
    }

    // The bias as a row like those of the parts: a product without terms.
    GemmWork bias_row(const Args &args) const {
        GemmWork work = block_product(s_, blocks_[0], args, 1, bias_row_.data(), addend_stride());
        work.k = 0;
        work.b = weight_.rows.data();
        work.b_row = weight_.stride;
        work.interleaved = 1;
        work.epilogue.bias = args.bias;
        return work;
    }

    // Boxes of `rows` rows.
    CUtensorMap weight_map(const PackedWeight &weight, int rows) const {
        return tensor_map({s_.dtype,
                           {size(weight.stride), size(s_.outputs)},
                           {size(weight.stride)},
                           {kRingBlockK, static_cast<uint32_t>(rows)}},
                          weight.rows.data(), "the packed weight");
    }
    CUtensorMap input_map(const Block &block, const Args &args) const {
        return tensor_map({s_.dtype,
                           {size(block.width), size(block.source_rows)},
                           {size(block.row_stride)},
                           {kRingBlockK, kRingChunk / 2}},
                          args.x[block.index], "x");
    }

    // Tensor maps cost a microsecond each: made again only when pointers change.
    void describe(const Args &args) {
        if (described_ && std::equal(std::begin(args.x), std::end(args.x), std::begin(described_args_.x)) &&
            args.out == described_args_.out)
            return;
        weight_map_ = weight_map(weight_, width_);
        std::size_t input = 0;
        for (const Block &block : blocks_)
            if (block.direct) input_maps_[input++] = input_map(block, args);
        for (MappedPart &part : mapped_) {
            if (!part.copied()) continue;
            part.weight_map = weight_map(part.weight, concat_part_width(width_));
            part.input_map = input_map(blocks_[part.block], args);
        }
        out_map_ = tensor_map(
            {s_.dtype, {size(s_.outputs), size(s_.rows)}, {size(s_.out_stride)}, {kConcatStagedColumns, kRingChunk}},
            args.out, "out");
        described_args_ = args;
        described_ = true;
    }

    SharedContext context_;
    Shape s_;
    Product product_;
    Layout layout_;
    std::vector<Block> blocks_;
    PackedWeight weight_; // the direct blocks', side by side
    std::vector<MappedPart> mapped_;
    Buffer counters_;
    Buffer bias_row_; // where no mapped block takes the bias along
    int32_t width_pairs_ = 0;
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
        if (s.block[i].row_stride % 8 != 0 || s.block[i].width == 0) return false;
    }
    return context->hopper() && s.rows > 0 && s.outputs > 0 && direct >= 1 && direct <= kMaxInputs &&
           s.outputs % 8 == 0 && s.out_stride % 8 == 0;
}

} // namespace

Operator<Args> cuda_concat_linear(const SharedContext &context, const Shape &s) {
    if (s.dtype == IKBO_FP32)
        fail(IKBO_UNSUPPORTED,
             "concat-linear on CUDA takes fp16 and bf16, not fp32; use a 16-bit type or the CPU device");
    if (s.rows > INT32_MAX - 128 || s.outputs > INT32_MAX)
        fail(IKBO_UNSUPPORTED, "concat-linear on CUDA counts rows in 32 bits; %lld rows are too many",
             static_cast<long long>(s.rows));
    const bool fits = fits_warp_specialized(context, s);
    const int32_t stage = s.stage != IKBO_STAGE_BEST ? s.stage : fits ? IKBO_STAGE_WARP_SPECIALIZED : IKBO_STAGE_FUSED;
    if (stage != IKBO_STAGE_WARP_SPECIALIZED) return cuda_concat_linear_staged(context, s, stage);
    if (!fits)
        fail(IKBO_UNSUPPORTED,
             "the warp-specialized concat-linear needs compute capability 9.0, at least one block without a map, and "
             "outputs and row strides that are multiples of 8 (the other stages take any shape)");
    Operator<Args> fast = wrap<Args>(std::make_shared<WarpSpecialized>(context, s));
    if (s.stage != IKBO_STAGE_BEST) return fast;
    const auto allowed = [blocks = s.blocks](const Args &args) {
        return copy_aligned(args.out) && std::all_of(args.x, args.x + blocks, copy_aligned);
    };
    const auto fallback = [context, s] { return cuda_concat_linear_staged(context, s, IKBO_STAGE_FUSED); };
    return fast_where<Args>(allowed, std::move(fast), fallback);
}

} // namespace ikbo
