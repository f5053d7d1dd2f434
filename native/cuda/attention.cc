// Attention on CUDA: the choice of a stage, and the stages that the portable kernel serves.
#include <algorithm>
#include <cstring>
#include <vector>

#include "attention.h"
#include "attention_planned.h"
#include "attention_units.h"
#include "error.h"
#include "maps.h"
#include "operators.h"
#include "sizes.h"
#include "validate.h"

namespace ikbo {
namespace {

using Shape = ikbo_attention_shape;
using Args = ikbo_attention_args;

MapShape map_shape(const Shape &s) { return {"keys and values", s.map_kind, s.index_bits, s.repeats, s.batch, s.users}; }

// Checked key_offsets on the host; empty when dense. Waits for the stream.
std::vector<int32_t> read_offsets(const Shape &s, const Args &args, CUstream stream) {
    if (!s.ragged) return {};
    std::vector<int32_t> offsets(size(s.users + 1));
    check(driver().StreamSynchronize(stream), "waiting for key_offsets");
    check(driver().MemcpyDtoH(offsets.data(), reinterpret_cast<CUdeviceptr>(args.key_offsets), offsets.size() * 4),
          "reading key_offsets");
    check_key_offsets(offsets.data(), s);
    return offsets;
}

// Stages 1 and 3: every candidate by itself, its user looked up by the kernel; with mma.sync (kernels/cuda/attention_mma.cu),
// or with Hopper's copy engine and wgmma (attention_wgmma.cu).
class Lookup {
  public:
    Lookup(const SharedContext &context, const Shape &shape, bool wgmma)
        : context_(context), s_(shape), units_(shape), wgmma_(wgmma), user_of_(context, size(shape.batch) * 4, "the map") {
        const int64_t width = wgmma ? s_.head_width : (s_.head_width + 63) / 64 * 64;
        launch_.threads = attention_mma_threads;
        launch_.shared_bytes = static_cast<unsigned>(wgmma ? attention_single_shared_bytes(static_cast<int>(width))
                                                           : attention_mma_shared_bytes(static_cast<int>(width)));
        const std::string image = wgmma ? "attention_wgmma" : "attention_mma";
        kernel_ =
            context->kernel(image, "ikbo_" + image + (s_.dtype == IKBO_BF16 ? "_bf16_" : "_fp16_") + std::to_string(width),
                            launch_.shared_bytes);
        const int64_t rows = s_.queries * units_.group;
        const int64_t parts = wgmma ? units_.chunks : (rows + attention_unit_rows - 1) / attention_unit_rows;
        const int64_t blocks = s_.batch * s_.key_heads * parts;
        if (blocks > INT32_MAX)
            fail(IKBO_UNSUPPORTED, "attention of %lld blocks of 64 rows is too large for one launch",
                 static_cast<long long>(blocks));
        launch_.grid[0] = static_cast<unsigned>(blocks);
        work_.user_of = static_cast<const int32_t *>(user_of_.data());
        work_.keys = static_cast<int32_t>(s_.keys);
        work_.queries = static_cast<int32_t>(s_.queries);
        work_.heads = static_cast<int32_t>(s_.heads);
        work_.key_heads = static_cast<int32_t>(s_.key_heads);
        work_.group = static_cast<int32_t>(units_.group);
        work_.width = static_cast<int32_t>(s_.head_width);
        work_.box_queries = static_cast<int32_t>(units_.box_queries);
        work_.scale = s_.scale;
    }

    void prepare(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        upload_map(map_shape(s_), args.index, user_of_, stream);
        (void)read_offsets(s_, args, stream);
    }

    void run(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        for (const void *base : {args.q, args.k, args.v, static_cast<const void *>(args.out)})
            if (reinterpret_cast<uintptr_t>(base) % 16 != 0)
                fail(IKBO_INVALID, "q, k, v and out must start at a multiple of 16 bytes for this kernel; one is at %p", base);
        AttentionLookupParams work = work_;
        work.q = args.q;
        work.k = args.k;
        work.v = args.v;
        work.out = args.out;
        work.lse = s_.want_lse ? args.lse : nullptr;
        work.key_offsets = s_.ragged ? args.key_offsets : nullptr;
        if (!wgmma_) return launch(kernel_, launch_, stream, work);
        const AttentionMaps maps(s_, units_, args, attention_single_keys);
        launch(kernel_, launch_, stream, maps.q, maps.k, maps.v, maps.out, work);
    }

    std::size_t workspace_bytes() const { return user_of_.bytes(); }
    std::string kernel() const { return kernel_.name; }

  private:
    SharedContext context_;
    Shape s_;
    AttentionUnits units_;
    bool wgmma_;
    Buffer user_of_;
    Kernel kernel_;
    Launch launch_;
    AttentionLookupParams work_{};
};

// Stage 0: K and V copied for every candidate, then attention without a map on the copies.
class Materialized {
  public:
    Materialized(const SharedContext &context, const Shape &shape)
        : context_(context), s_(shape), user_of_(context, size(shape.batch) * 4, "the map") {
        kernel_ = context->kernel("attention_copy", "ikbo_attention_copy");
        if (!s_.ragged) make(s_.batch * s_.keys);
    }

    void prepare(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        upload_map(map_shape(s_), args.index, user_of_, stream);
        if (s_.ragged) make(upload_copy_offsets(read_offsets(s_, args, stream)));
        inner_.prepare(copied(args), stream);
    }

    void run(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        AttentionCopyParams work{};
        work.k = args.k;
        work.v = args.v;
        work.k_copy = k_.data();
        work.v_copy = v_.data();
        work.user_of = static_cast<const int32_t *>(user_of_.data());
        work.key_offsets = s_.ragged ? args.key_offsets : nullptr;
        work.copy_offsets = s_.ragged ? static_cast<const int32_t *>(copy_offsets_.data()) : nullptr;
        work.keys = s_.keys;
        work.row_bytes = s_.key_heads * s_.head_width * 2;
        Launch how;
        how.threads = attention_copy_threads;
        how.grid[0] = static_cast<unsigned>(s_.batch);
        how.grid[1] =
            static_cast<unsigned>(std::clamp<int64_t>(s_.keys * work.row_bytes / 16 / attention_copy_threads / 8, 1, 64));
        if (k_.bytes() > 0) launch(kernel_, how, stream, work);
        inner_.run(copied(args), stream);
    }

    std::size_t workspace_bytes() const {
        return user_of_.bytes() + copy_offsets_.bytes() + k_.bytes() + v_.bytes() + inner_.workspace_bytes();
    }
    std::string kernel() const { return inner_.kernel ? "copy + " + inner_.kernel() : "copy"; }

  private:
    // Room for the copies of `rows` keys, and the operator that works on them.
    void make(int64_t rows) {
        const std::size_t bytes = size(rows * s_.key_heads * s_.head_width * 2);
        if (bytes > k_.bytes() || !inner_.run) {
            k_ = Buffer(context_, bytes, "the copies of k");
            v_ = Buffer(context_, bytes, "the copies of v");
        }
        Shape shape = s_;
        shape.map_kind = IKBO_MAP_NONE;
        shape.users = s_.batch;
        shape.total_keys = s_.ragged ? rows : 0;
        shape.stage = IKBO_STAGE_BEST;
        inner_ = cuda_attention(context_, shape);
    }

    // Where every candidate's copies start; returns how many rows there are.
    int64_t upload_copy_offsets(const std::vector<int32_t> &offsets) {
        std::vector<int32_t> user(size(s_.batch)), starts{0};
        check(driver().MemcpyDtoH(user.data(), reinterpret_cast<CUdeviceptr>(user_of_.data()), user.size() * 4),
              "reading the map");
        int64_t rows = 0;
        for (const int32_t u : user) {
            rows += offsets[size(u) + 1] - offsets[size(u)];
            if (rows > INT32_MAX) fail(IKBO_UNSUPPORTED, "the copies have more than %d rows of keys", INT32_MAX);
            starts.push_back(static_cast<int32_t>(rows));
        }
        copy_offsets_ = Buffer(context_, starts.size() * 4, "the places of the copies");
        check(driver().MemcpyHtoD(reinterpret_cast<CUdeviceptr>(copy_offsets_.data()), starts.data(), starts.size() * 4),
              "writing the places of the copies");
        return rows;
    }

    Args copied(const Args &args) const {
        Args inner = args;
        inner.k = k_.data();
        inner.v = v_.data();
        inner.index = nullptr;
        inner.key_offsets = s_.ragged ? static_cast<const int32_t *>(copy_offsets_.data()) : nullptr;
        return inner;
    }

    SharedContext context_;
    Shape s_;
    Buffer user_of_, copy_offsets_, k_, v_;
    Kernel kernel_;
    Operator<Args> inner_;
};

} // namespace

Operator<Args> cuda_attention(const SharedContext &context, const Shape &shape) {
    // A class of shapes holds some that only stages 0 and 1 take.
    const std::string refusal = shape.dtype == IKBO_FP32 || shape.key_heads == 0 ? "" : planned_attention_refusal(context, shape);
    const Shape s = refusal.empty() ? with_choice(*context, shape) : shape;
    if (s.dtype == IKBO_FP32)
        fail(IKBO_UNSUPPORTED, "attention on CUDA takes fp16 and bf16, not fp32; use a 16-bit type or the CPU device");
    if (s.batch == 0 || s.queries == 0 || s.heads == 0 || s.head_width == 0)
        return {[](const Args &, void *) {}, [](const Args &, void *) {}, [] { return std::size_t{0}; },
                [] { return std::string("nothing"); }};
    if (s.head_width % 8 != 0 || s.head_width > 256)
        fail(IKBO_UNSUPPORTED,
             "attention on CUDA takes heads of up to 256 elements, a multiple of 8, not %lld; pad them, or use the CPU device",
             static_cast<long long>(s.head_width));
    if (s.batch > INT32_MAX || s.queries * (s.heads / s.key_heads) > INT32_MAX || s.keys > INT32_MAX - 512 ||
        s.total_keys > INT32_MAX)
        fail(IKBO_UNSUPPORTED, "attention on CUDA counts candidates, query rows of a candidate and keys in 32 bits");
    const int32_t stage = s.stage != IKBO_STAGE_BEST ? s.stage
                          : refusal.empty()          ? IKBO_STAGE_WARP_SPECIALIZED
                                                     : IKBO_STAGE_DECOMPOSED;
    if (stage == IKBO_STAGE_MATERIALIZED) return wrap<Args>(std::make_shared<Materialized>(context, s));
    if (stage == IKBO_STAGE_DECOMPOSED) return wrap<Args>(std::make_shared<Lookup>(context, s, false));
    if (stage != IKBO_STAGE_FUSED && stage != IKBO_STAGE_WARP_SPECIALIZED)
        fail(IKBO_UNSUPPORTED, "attention has no weight to align, so there is no stage %d; there are 0, 1, 3 and 4", s.stage);
    if (!refusal.empty())
        fail(IKBO_UNSUPPORTED, "stage %d of attention cannot run this: %s (stage 1 takes it)", stage, refusal.c_str());
    return stage == IKBO_STAGE_FUSED ? wrap<Args>(std::make_shared<Lookup>(context, s, true)) : planned_attention(context, s);
}

} // namespace ikbo
