// Linear compression on CUDA: the stages that the portable kernels serve, and the warp-specialized kernel.
#include <algorithm>
#include <iterator>
#include <memory>

#include "error.h"
#include "linear_compression.h"
#include "maps.h"
#include "operators.h"
#include "products.h"
#include "rings.h"
#include "sizes.h"

namespace ikbo {
namespace {

using Shape = ikbo_linear_compression_shape;
using Args = ikbo_linear_compression_args;

// First element of the weight's user columns, or of its candidate columns.
const uint16_t *weight_columns(const Shape &s, const void *weight, bool user) {
    const bool first = user == (s.candidate_first == 0);
    return static_cast<const uint16_t *>(weight) + (first ? 0 : user ? s.candidate_width : s.user_width);
}

MapShape map_shape(const Shape &s) { return {"index", s.map_kind, s.index_bits, s.repeats, s.batch, s.users}; }

// One half of the weight, its rows padded with zeros to a multiple of 64 elements.
struct PackedWeight {
    Buffer rows;
    int64_t stride = 0;

    PackedWeight(const SharedContext &context, const Shape &s, bool user)
        : stride(round_up(user ? s.user_width : s.candidate_width, 64)) {
        rows = Buffer(context, size(s.outputs * stride * 2), "the packed weight");
    }
    void pack(const Layout &layout, const Shape &s, const void *weight, bool user, CUstream stream) const {
        layout.pack({weight_columns(s, weight, user), rows.data(), s.outputs, s.weight_stride, stride,
                     user ? s.user_width : s.candidate_width, stride},
                    stream);
    }
};

// Stages 0 to 3. The user part is kept in the operands' type where a stage stands for separate operators (1, 2), and in
// fp32 where it is added before the only rounding (3).
class Staged {
  public:
    Staged(const SharedContext &context, const Shape &shape, int32_t stage)
        : context_(context), s_(shape), stage_(stage), product_(context, shape.dtype, ContiguousIn::n),
          layout_(context, shape.dtype), user_of_(context, size(shape.batch * 4), "the map") {
        if (stage == IKBO_STAGE_MATERIALIZED)
            replica_ =
                Buffer(context, size(s_.batch * (s_.user_width + s_.candidate_width) * s_.columns * 2), "the replica");
        else
            user_part_ = Buffer(context, size(s_.users * s_.outputs * s_.columns * (stage == IKBO_STAGE_FUSED ? 4 : 2)),
                                "the user part");
        if (stage >= IKBO_STAGE_ALIGNED) {
            user_weight_ = std::make_unique<PackedWeight>(context, shape, true);
            candidate_weight_ = std::make_unique<PackedWeight>(context, shape, false);
        }
    }

    void prepare(const Args &args, CUstream stream) const {
        const CurrentContext current(context_->handle);
        upload_map(map_shape(s_), args.index, user_of_, stream);
        if (user_weight_) {
            user_weight_->pack(layout_, s_, args.weight, true, stream);
            candidate_weight_->pack(layout_, s_, args.weight, false, stream);
        }
    }

    void run(const Args &args, CUstream stream) const {
        const CurrentContext current(context_->handle);
        if (stage_ == IKBO_STAGE_MATERIALIZED) {
            materialize(args, stream);
            GemmWork whole = product(replica_.data(), s_.user_width + s_.candidate_width, s_.batch, args.out);
            whole.a = args.weight;
            whole.a_row = s_.weight_stride;
            product_.run(whole, stream);
            return;
        }
        GemmWork user = product(args.user, s_.user_width, s_.users, user_part_.data());
        user.wide = stage_ == IKBO_STAGE_FUSED;
        set_weight(user, args, true);
        product_.run(user, stream);

        GemmWork candidate = product(args.candidate, s_.candidate_width, s_.batch, args.out);
        set_weight(candidate, args, false);
        const int64_t matrix = s_.outputs * s_.columns;
        const auto *map = static_cast<const int32_t *>(user_of_.data());
        if (stage_ == IKBO_STAGE_FUSED) {
            candidate.addend_per_matrix = 1;
            candidate.epilogue.addends = 1;
            candidate.epilogue.addend[0] = {static_cast<const float *>(user_part_.data()), map, matrix};
        }
        product_.run(candidate, stream, stage_ == IKBO_STAGE_FUSED && s_.users > 0);
        if (stage_ == IKBO_STAGE_FUSED) return;
        GatherAddWork add{};
        add.sources = 2;
        add.source[0] = {args.out, nullptr, matrix};
        add.source[1] = {user_part_.data(), map, matrix};
        add.to = args.out;
        add.rows = s_.batch;
        add.to_stride = add.width = matrix;
        layout_.gather_add(add, stream);
    }

    std::size_t workspace_bytes() const {
        std::size_t bytes = user_of_.bytes() + replica_.bytes() + user_part_.bytes();
        for (const auto *weight : {user_weight_.get(), candidate_weight_.get()})
            bytes += weight ? weight->rows.bytes() : 0;
        return bytes;
    }

    std::string kernel() const {
        static constexpr const char *steps[] = {"gather + %s", "2 x %s + gather-add", "packed, 2 x %s + gather-add",
                                                "packed, 2 x %s, lookup in the epilogue"};
        std::string name = steps[stage_];
        return name.replace(name.find("%s"), 2, product_.name());
    }

  private:
    // out[z] = W in[z] for `matrices` inputs of `depth` x N; the weight is set by the caller.
    GemmWork product(const void *in, int64_t depth, int64_t matrices, void *out) const {
        GemmWork work{};
        work.b = in;
        work.c = out;
        work.m = static_cast<int32_t>(s_.outputs);
        work.n = static_cast<int32_t>(s_.columns);
        work.k = static_cast<int32_t>(depth);
        work.batch = static_cast<int32_t>(matrices);
        work.b_row = work.c_row = s_.columns;
        work.b_matrix = depth * s_.columns;
        work.c_matrix = s_.outputs * s_.columns;
        return work;
    }

    void set_weight(GemmWork &work, const Args &args, bool user) const {
        const PackedWeight *packed = user ? user_weight_.get() : candidate_weight_.get();
        work.a = packed ? packed->rows.data() : static_cast<const void *>(weight_columns(s_, args.weight, user));
        work.a_row = packed ? packed->stride : s_.weight_stride;
    }

    void materialize(const Args &args, CUstream stream) const {
        const int64_t user = s_.user_width * s_.columns, candidate = s_.candidate_width * s_.columns;
        GatherWork work{};
        work.blocks = 2;
        work.block[s_.candidate_first ? 1 : 0] = {args.user, static_cast<const int32_t *>(user_of_.data()), user, user};
        work.block[s_.candidate_first ? 0 : 1] = {args.candidate, nullptr, candidate, candidate};
        work.to = replica_.data();
        work.rows = s_.batch;
        work.to_stride = user + candidate;
        layout_.gather(work, stream);
    }

    SharedContext context_;
    Shape s_;
    int32_t stage_;
    Product product_;
    Layout layout_;
    Buffer user_of_, replica_, user_part_;
    std::unique_ptr<PackedWeight> user_weight_, candidate_weight_;
};

// Stage 4: kernels/cuda/linear_compression.cu.
class WarpSpecialized {
  public:
    WarpSpecialized(const SharedContext &context, const Shape &shape)
        : context_(context), s_(shape), layout_(context, shape.dtype), user_weight_(context, shape, true),
          candidate_weight_(context, shape, false), user_of_(context, size(shape.batch * 4), "the map"),
          counters_(context, 2 * sizeof(uint32_t), "counters") {
        const auto [least, most] = std::minmax_element(std::begin(kCompressionRows), std::end(kCompressionRows));
        row_pairs_ = static_cast<int32_t>(parts(s_.outputs, 2 * (s_.tile == 0 ? *most : std::clamp(s_.tile, *least, *most))));
        rows_ = *std::lower_bound(std::begin(kCompressionRows), std::end(kCompressionRows),
                                  parts(s_.outputs, 2 * row_pairs_));

        const std::string type = s_.dtype == IKBO_BF16 ? "bf16" : "fp16";
        const int64_t tail = s_.candidate_width % kRingBlockK;
        const int64_t last_steps = rows_ == *std::rbegin(kCompressionRows) && tail != 0 ? parts(tail, 16) : 4;
        launch_.threads = kRingThreads;
        launch_.shared_bytes = static_cast<unsigned>(compression_shared_bytes(rows_));
        launch_.cluster = 2;
        launch_.grid[0] = 2;
        launch_.together = true;
        kernel_ = context->kernel("linear_compression",
                                  "lce_" + type + "_" + std::to_string(rows_) + "_k" + std::to_string(last_steps),
                                  launch_.shared_bytes);
        const CurrentContext current(context->handle);
        const int clusters = resident_clusters(kernel_, launch_);
        if (clusters < 1) fail(IKBO_UNSUPPORTED, "the device has no room for a cluster of %s", kernel_.name.c_str());

        work_.chunks = static_cast<int32_t>(parts(s_.columns, kRingChunk));
        work_.batch = static_cast<int32_t>(s_.batch);
        work_.user_count = static_cast<int32_t>(s_.users);
        work_.candidates = ring(s_.batch, s_.candidate_width, 2, std::max(1, clusters / row_pairs_));
        const int32_t sets = work_.candidates.runs * work_.candidates.stride;
        const int64_t user_chunks = s_.users * work_.chunks;
        // One user chunk to a cluster while there are enough: half the tile, and half the time until all are there.
        work_.users = ring(s_.users, s_.user_width, user_chunks <= sets ? 1 : 2, sets);
        const int32_t busy = work_.users.runs * work_.users.stride; // clusters with user tiles
        share_runs(work_.candidates, 0, busy / work_.candidates.stride,
                   parts(work_.users.groups, busy) * work_.users.k_blocks * work_.users.consumers / 2);
        launch_.grid[0] = static_cast<unsigned>(2 * sets * row_pairs_);

        user_part_ = Buffer(context, size(user_chunks * 2 * row_pairs_ * rows_ * kRingChunk * 2), "the user part");
        work_.user_part = user_part_.data();
        work_.user_of = static_cast<const int32_t *>(user_of_.data());
        work_.user_tiles = static_cast<uint32_t>(work_.users.groups * work_.users.consumers * 2 * row_pairs_);
        work_.finished = static_cast<uint32_t *>(counters_.data());
        work_.left = work_.finished + 1;
    }

    void prepare(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        upload_map(map_shape(s_), args.index, user_of_, stream);
        check(driver().MemsetD8Async(reinterpret_cast<CUdeviceptr>(counters_.data()), 0, counters_.bytes(), stream),
              "clearing the counters");
        user_weight_.pack(layout_, s_, args.weight, true, stream);
        candidate_weight_.pack(layout_, s_, args.weight, false, stream);
        describe(args);
    }

    void run(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        describe(args);
        launch(kernel_, launch_, stream, user_weight_map_, user_map_, candidate_weight_map_, candidate_map_, out_map_,
               work_);
    }

    std::size_t workspace_bytes() const {
        return user_of_.bytes() + user_part_.bytes() + user_weight_.rows.bytes() + candidate_weight_.rows.bytes() +
               counters_.bytes();
    }
    std::string kernel() const { return kernel_.name; }

  private:
    // The tiles of `matrices` inputs over `sets` clusters that each cover all rows of M. Where there are enough, a cluster
    // keeps to the columns of its first group: neighbouring candidates then often share the user part that it holds.
    RingWork ring(int64_t matrices, int64_t depth, int32_t consumers, int32_t sets) const {
        const int32_t chunks = static_cast<int32_t>(parts(s_.columns, kRingChunk));
        RingWork ring{};
        ring.consumers = consumers;
        ring.groups = static_cast<int32_t>(parts(matrices * chunks, consumers));
        ring.width_pairs = row_pairs_;
        ring.k_blocks = static_cast<int32_t>(parts(depth, kRingBlockK));
        // Skewed warpgroups sum in different orders. With an even number of chunks the warpgroup follows from the
        // column; otherwise it would depend on the candidate's position.
        ring.skew = chunks % 2 == 0 && consumers == 2 ? std::min(4, ring.k_blocks / 2) : 0;
        ring.first_block = std::min(4, ring.k_blocks - 1);
        ring.stride = consumers == 2 && chunks % 2 == 0 ? chunks / 2 : chunks;
        if (ring.stride > std::min(sets, ring.groups)) ring.stride = 1;
        ring.runs = std::min(sets, ring.groups) / ring.stride;
        return ring;
    }

    CUtensorMap weight_map(const PackedWeight &weight) const {
        return tensor_map({s_.dtype,
                           {size(weight.stride), size(s_.outputs)},
                           {size(weight.stride)},
                           {kRingBlockK, static_cast<uint32_t>(rows_)}},
                          weight.rows.data(), "the packed weight");
    }
    // A batch of [depth, N] matrices in boxes of `box` rows.
    CUtensorMap matrices_map(const void *base, int64_t depth, int64_t matrices, uint32_t box, const char *what) const {
        return tensor_map({s_.dtype,
                           {size(s_.columns), size(depth), size(matrices)},
                           {size(s_.columns), size(depth * s_.columns)},
                           {kRingChunk, box, 1}},
                          base, what);
    }

    // Tensor maps cost a microsecond each: made again only when pointers change.
    void describe(const Args &args) {
        if (args.user == described_.user && args.candidate == described_.candidate && args.out == described_.out)
            return;
        user_weight_map_ = weight_map(user_weight_);
        candidate_weight_map_ = weight_map(candidate_weight_);
        user_map_ = matrices_map(args.user, s_.user_width, s_.users, kRingBlockK / 2, "user");
        candidate_map_ = matrices_map(args.candidate, s_.candidate_width, s_.batch, kRingBlockK / 2, "candidate");
        out_map_ = matrices_map(args.out, s_.outputs, s_.batch, kCompressionStagedRows, "out");
        described_ = args;
    }

    SharedContext context_;
    Shape s_;
    Layout layout_;
    PackedWeight user_weight_, candidate_weight_;
    Buffer user_of_, counters_, user_part_;
    int32_t row_pairs_ = 0, rows_ = 0;
    Kernel kernel_;
    LinearCompressionWork work_{};
    Launch launch_;
    Args described_{};
    CUtensorMap user_weight_map_{}, candidate_weight_map_{}, user_map_{}, candidate_map_{}, out_map_{};
};

// What the copy engine needs: rows of 16-byte multiples. K and M are free.
bool fits_warp_specialized(const SharedContext &context, const Shape &s) {
    return context->hopper() && s.columns % 8 == 0 && s.batch > 0 && s.users > 0 && s.outputs > 0 && s.columns > 0 &&
           s.user_width > 0 && s.candidate_width > 0;
}

} // namespace

Operator<Args> cuda_linear_compression(const SharedContext &context, const Shape &s) {
    if (s.dtype == IKBO_FP32)
        fail(IKBO_UNSUPPORTED,
             "linear compression on CUDA takes fp16 and bf16, not fp32; use a 16-bit type or the CPU device");
    const int64_t chunks = parts(s.columns, kRingChunk);
    if (s.batch * chunks > INT32_MAX || s.outputs > INT32_MAX || s.columns > INT32_MAX)
        fail(IKBO_UNSUPPORTED,
             "linear compression on CUDA counts candidates x columns / 64 in 32 bits; batch %lld x columns %lld is too "
             "large",
             static_cast<long long>(s.batch), static_cast<long long>(s.columns));
    const bool fits = fits_warp_specialized(context, s);
    const int32_t stage = s.stage != IKBO_STAGE_BEST ? s.stage : fits ? IKBO_STAGE_WARP_SPECIALIZED : IKBO_STAGE_FUSED;
    if (stage != IKBO_STAGE_WARP_SPECIALIZED) return wrap<Args>(std::make_shared<Staged>(context, s, stage));
    if (!fits)
        fail(IKBO_UNSUPPORTED,
             "the warp-specialized linear compression needs compute capability 9.0 and columns that are a multiple of "
             "8; this is %d.%d "
             "and %lld columns (the other stages take any shape)",
             context->capability / 10, context->capability % 10, static_cast<long long>(s.columns));
    Operator<Args> fast = wrap<Args>(std::make_shared<WarpSpecialized>(context, s));
    if (s.stage != IKBO_STAGE_BEST) return fast;
    const auto allowed = [](const Args &args) {
        return copy_aligned(args.user) && copy_aligned(args.candidate) && copy_aligned(args.out);
    };
    const auto fallback = [context, s] { return wrap<Args>(std::make_shared<Staged>(context, s, IKBO_STAGE_FUSED)); };
    return fast_where<Args>(allowed, std::move(fast), fallback);
}

} // namespace ikbo
