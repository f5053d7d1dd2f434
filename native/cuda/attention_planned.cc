#include "attention_planned.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attention_units.h"
#include "error.h"
#include "operators.h"
#include "sizes.h"
#include "validate.h"

namespace ikbo {
namespace {

using Shape = ikbo_attention_shape;
using Args = ikbo_attention_args;

struct NamedBuild {
    const char *name;
    AttentionBuild build;
};

// Blocks that share K and V pay where a user brings units for both.
NamedBuild choose(const Shape &s, const AttentionUnits &units) {
    const double users = static_cast<double>(std::max<int64_t>(1, std::min(s.users, s.batch)));
    const double units_of_head = static_cast<double>(s.batch * units.chunks) / static_cast<double>(units.pack) / users;
    const bool narrow = s.head_width == 64;
    const bool alone = s.tile != 0 ? s.tile == 1 : units_of_head <= (narrow ? attention_d64 : attention_d128).tile_units();
    if (alone) return narrow ? NamedBuild{"attention_d64", attention_d64} : NamedBuild{"attention_d128", attention_d128};
    if (narrow) return {"attention_d64_c2", attention_d64_c2};
    constexpr int64_t few_keys = 1024; // a unit is done soon then, and its results are stored by a warp of their own
    if (s.ragged == 0 && s.keys > 0 && (s.tile != 0 ? s.tile == 3 : s.keys <= few_keys))
        return {"attention_d128_c2_short", attention_d128_c2_short};
    return {"attention_d128_c2", attention_d128_c2};
}

class Planned {
  public:
    Planned(const SharedContext &context, const Shape &shape) : context_(context), s_(shape), units_(shape) {
        const auto [build_name, build] = choose(shape, units_);
        build_ = build;
        const std::string name = std::string("ikbo_") + build_name + (s_.dtype == IKBO_BF16 ? "_bf16" : "_fp16");
        launch_.threads = static_cast<unsigned>(build_.threads());
        launch_.shared_bytes = static_cast<unsigned>(build_.shared_bytes());
        launch_.cluster = static_cast<unsigned>(build_.cluster);
        launch_.grid[0] = launch_.cluster;
        kernel_ = context->kernel("attention_ws", name, launch_.shared_bytes);

        const CurrentContext current(context->handle);
        clusters_ = build_.cluster == 1 ? context->multiprocessors : resident_clusters(kernel_, launch_);
        if (clusters_ < 1) fail(IKBO_UNSUPPORTED, "the device has no room for a block of %s", name.c_str());

        const int64_t full = s_.batch * units_.chunks / (units_.pack * build_.tile_units());
        const int64_t whole = s_.key_heads * (full + 2 * std::min(s_.users, s_.batch) + 1);
        most_tiles_ = std::min(whole * build_.consumers, whole + clusters_); // those of the last round may be cut
        plan_launch_.threads = attention_plan_threads;
        plan_launch_.shared_bytes = static_cast<unsigned>(attention_plan_shared_bytes(s_.users, s_.ragged));
        // The limit belongs to the function, and operators of all sizes share it.
        plan_kernel_ = context->kernel("attention_plan", "ikbo_attention_plan", attention_plan_most_shared_bytes);
        if (plan_launch_.shared_bytes == 0) {
            counts_ = Buffer(context, size(s_.users + 1) * 4, "candidates per user");
            cursor_ = Buffer(context, size(s_.users) * 4, "places of users");
            ranked_ = Buffer(context, size(s_.users) * 4, "users by length");
        }
        order_ = Buffer(context, size(s_.batch) * 4, "candidates by user");
        tiles_ = Buffer(context, size(most_tiles_) * sizeof(AttentionTile), "the tiles");
        header_ = Buffer(context, sizeof(AttentionPlanHeader), "the plan");
        work_ = work();
    }

    void prepare(const Args &args, CUstream stream) {
        const CurrentContext current(context_->handle);
        CUstreamCaptureStatus captured = CU_STREAM_CAPTURE_STATUS_NONE;
        check(driver().StreamIsCapturing(stream, &captured), "asking whether the stream is captured");
        AttentionPlanParams params = plan(args);
        if (captured != CU_STREAM_CAPTURE_STATUS_NONE) {
            params.header = static_cast<AttentionPlanHeader *>(header_.data());
            params.trap = 1;
            launch(plan_kernel_, plan_launch_, stream, params);
            after_plan_ = true;
            return set_tiles(-1, most_tiles_);
        }
        static_assert(sizeof(AttentionPlanHeader) <= Context::answer_bytes);
        const std::scoped_lock lock(context_->answer_mutex);
        params.header = static_cast<AttentionPlanHeader *>(context_->answer);
        launch(plan_kernel_, plan_launch_, stream, params);
        check(driver().StreamSynchronize(stream), "waiting for the plan of attention");
        refuse(*params.header);
        set_tiles(params.header->tiles, params.header->tiles);
    }

    void run(const Args &args, CUstream stream) {
        if (launch_.grid[0] == 0) return;
        const CurrentContext current(context_->handle);
        describe(args);
        Launch how = launch_;
        how.overlap = std::exchange(after_plan_, false); // the kernel sets itself up while the plan is made
        launch(kernel_, how, stream, maps_->q, maps_->k, maps_->v, maps_->out, work_);
    }

    std::size_t workspace_bytes() const {
        return counts_.bytes() + cursor_.bytes() + ranked_.bytes() + order_.bytes() + tiles_.bytes() + header_.bytes();
    }
    std::string kernel() const { return kernel_.name; }

  private:
    // `count` is negative where only the device will know it; then there are `most` at most.
    void set_tiles(int32_t count, int64_t most) {
        work_.tile_count = count;
        launch_.grid[0] = launch_.cluster * static_cast<unsigned>(std::min<int64_t>(clusters_, most));
    }

    AttentionPlanParams plan(const Args &args) const {
        AttentionPlanParams p{};
        p.index = has_index(s_.map_kind) ? args.index : nullptr;
        p.key_offsets = s_.ragged ? args.key_offsets : nullptr;
        p.map_kind = s_.map_kind;
        p.index_bits = s_.index_bits;
        p.repeats = s_.repeats;
        p.batch = static_cast<int32_t>(s_.batch);
        p.users = static_cast<int32_t>(s_.users);
        p.keys = static_cast<int32_t>(s_.keys);
        p.key_heads = static_cast<int32_t>(s_.key_heads);
        p.total_keys = s_.total_keys;
        p.chunks = static_cast<int32_t>(units_.chunks);
        p.pack = static_cast<int32_t>(units_.pack);
        p.units = build_.tile_units();
        p.cluster = build_.cluster;
        p.clusters = clusters_;
        p.counts = static_cast<int32_t *>(counts_.data());
        p.cursor = static_cast<int32_t *>(cursor_.data());
        p.ranked = static_cast<int32_t *>(ranked_.data());
        p.order = static_cast<int32_t *>(order_.data());
        p.tiles = static_cast<AttentionTile *>(tiles_.data());
        return p;
    }

    AttentionParams work() const {
        AttentionParams p{};
        p.tiles = static_cast<const AttentionTile *>(tiles_.data());
        p.order = static_cast<const int32_t *>(order_.data());
        p.header = static_cast<const AttentionPlanHeader *>(header_.data());
        p.keys = static_cast<int32_t>(s_.keys);
        p.queries = static_cast<int32_t>(s_.queries);
        p.heads = static_cast<int32_t>(s_.heads);
        p.group = static_cast<int32_t>(units_.group);
        p.chunks = static_cast<int32_t>(units_.chunks);
        p.pack = static_cast<int32_t>(units_.pack);
        p.box_queries = static_cast<int32_t>(units_.box_queries);
        p.slot_rows = static_cast<int32_t>(units_.slot_rows);
        p.scale_log2 = s_.scale * 1.4426950408889634f;
        for (int64_t r = 0; r < attention_unit_rows; ++r) {
            const int64_t slot = r / units_.slot_rows, in_slot = r % units_.slot_rows;
            p.row[r].slot = static_cast<uint8_t>(slot < units_.pack ? slot : attention_no_slot);
            p.row[r].query = static_cast<uint8_t>(in_slot / units_.group);
            p.row[r].head = static_cast<uint8_t>(in_slot % units_.group);
        }
        return p;
    }

    // The texts of validate.cc, which checks the same on the host.
    void refuse(const AttentionPlanHeader &header) const {
        const auto value = static_cast<long long>(header.bad_value);
        switch (header.bad) {
        case attention_bad_kinds: return;
        case attention_bad_index:
            fail(IKBO_BAD_INDEX, "the index of keys and values names row %lld at position %d, but its source has %lld rows",
                 value, header.bad_row, static_cast<long long>(s_.users));
        case attention_bad_first_offset: fail(IKBO_INVALID, "key_offsets starts with %lld; it must start with 0", value);
        case attention_bad_descending: fail(IKBO_INVALID, "key_offsets descends at user %d", header.bad_row);
        case attention_bad_length:
            fail(IKBO_INVALID, "user %d has %lld keys, more than the longest user's %lld", header.bad_row, value,
                 static_cast<long long>(s_.keys));
        default:
            fail(IKBO_INVALID, "key_offsets ends with %lld, but there are %lld rows of keys", value,
                 static_cast<long long>(s_.total_keys));
        }
    }

    // Tensor maps cost a microsecond each: made again only when pointers change.
    void describe(const Args &args) {
        work_.lse = s_.want_lse ? args.lse : nullptr;
        work_.key_offsets = s_.ragged ? args.key_offsets : nullptr;
        if (maps_ && args.q == described_.q && args.k == described_.k && args.v == described_.v && args.out == described_.out)
            return;
        maps_.emplace(s_, units_, args, build_.keys / build_.cluster);
        described_ = args;
    }

    SharedContext context_;
    Shape s_;
    AttentionUnits units_;
    AttentionBuild build_{};
    int clusters_ = 0;
    int64_t most_tiles_ = 0;
    Kernel plan_kernel_, kernel_;
    Launch plan_launch_, launch_;
    bool after_plan_ = false; // the next run follows a captured plan
    Buffer counts_, cursor_, ranked_, order_, tiles_, header_;
    AttentionParams work_{};
    Args described_{};
    std::optional<AttentionMaps> maps_;
};

} // namespace

std::string planned_attention_refusal(const SharedContext &context, const Shape &s) {
    if (!context->hopper())
        return text("it needs compute capability 9.0, this device has %d.%d", context->capability / 10,
                    context->capability % 10);
    if (s.head_width != 64 && s.head_width != 128)
        return text("it takes heads of 64 and 128 elements, not %lld", static_cast<long long>(s.head_width));
    if (s.heads / s.key_heads > attention_unit_rows)
        return text("it takes up to %d query heads for a key head, not %lld", attention_unit_rows,
                    static_cast<long long>(s.heads / s.key_heads));
    if (s.scale < 0) return "it takes no negative scale";
    const double rows = static_cast<double>(s.batch) * static_cast<double>(s.queries) * static_cast<double>(s.heads);
    if (rows > INT32_MAX || s.users >= INT32_MAX || s.keys > INT32_MAX - 512)
        return "it counts rows of queries, users and keys in 32 bits";
    return {};
}

Operator<Args> planned_attention(const SharedContext &context, const Shape &shape) {
    return wrap<Args>(std::make_shared<Planned>(context, shape));
}

} // namespace ikbo
