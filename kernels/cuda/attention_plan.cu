// Plans an attention call: checks the map and the key offsets, groups the candidates by user and lists the tiles.
// One block of 1024 threads, 48 registers; 4 KB of shared memory, and 4 bytes for each user and array of `PlanWork` where that fits
// (attention_plan_shared_bytes), else those arrays lie in memory. Nothing that it reads from the caller is used as an address before
// it was checked; where something is wrong the header says so and the plan has no tiles.
//
// Tiles are ordered by descending number of keys, then by user and key head, so that blocks that run at the same time read
// the same keys and the longest work starts first. The tiles of the last round are cut where clusters would be idle in it. The order
// of a user's candidates, and of users of about the same length, is left to the atomics: no result depends on it.
#include <climits>

#include "attention.h"
#include "ptx.cuh"

namespace ikbo {
namespace {

constexpr int kThreads = attention_plan_threads;
constexpr int kBuckets = 1024; // of key counts

struct Scratch {
    int32_t warp_sum[kThreads / 32];
    int32_t bucket[kBuckets];
    int32_t bad[attention_bad_kinds]; // first row of each kind of mistake
};

// Inclusive prefix sum over the block; `total` is the sum. Two barriers, so that calls can follow one another.
IKBO_DEVICE int scan(Scratch &scratch, int value, int &total) {
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, value, step);
        if (lane >= step) value += before;
    }
    if (lane == 31) scratch.warp_sum[warp] = value;
    __syncthreads();
    int warps = scratch.warp_sum[lane];
    for (int step = 1; step < 32; step *= 2) {
        const int before = __shfl_up_sync(0xffffffffu, warps, step);
        if (lane >= step) warps += before;
    }
    total = __shfl_sync(0xffffffffu, warps, 31);
    const int base = __shfl_sync(0xffffffffu, warps, (warp + 31) % 32);
    __syncthreads();
    return warp == 0 ? value : value + base;
}

// Replaces value(i) for i in [0, count) by exclusive prefix sums, handed to put(i, sum); returns the sum of all.
template <class Value, class Put>
IKBO_DEVICE int scan_all(Scratch &scratch, int count, Value value, Put put) {
    int base = 0;
    for (int begin = 0; begin < count; begin += kThreads) {
        const int i = begin + static_cast<int>(threadIdx.x);
        const int mine = i < count ? value(i) : 0;
        int total;
        const int sum = scan(scratch, mine, total);
        if (i < count) put(i, base + sum - mine);
        base += total;
    }
    __syncthreads();
    return base;
}

// The arrays that only the plan needs: in shared memory or not.
struct PlanWork {
    int32_t *counts; // [users + 1]: candidates of a user, then where its candidates start in `order`
    int32_t *cursor; // [users]
    int32_t *ranked; // [users] by descending number of keys; NULL: user i is the i-th
};

IKBO_DEVICE int64_t entry(const AttentionPlanParams &p, int row) {
    return p.index_bits == 64 ? static_cast<const int64_t *>(p.index)[row] : static_cast<const int32_t *>(p.index)[row];
}

IKBO_DEVICE int64_t user_of(const AttentionPlanParams &p, int row) {
    switch (p.map_kind) {
    case attention_map_repeats: return row / p.repeats;
    case attention_map_index: return entry(p, row);
    case attention_map_index_from_end: {
        const int64_t user = entry(p, row);
        return user < 0 ? user + p.users : user;
    }
    case attention_map_all: return 0;
    default: return row;
    }
}

IKBO_DEVICE int keys_of(const AttentionPlanParams &p, int user) {
    return p.key_offsets == nullptr ? p.keys : p.key_offsets[user + 1] - p.key_offsets[user];
}

// Calls each(row, user) for every candidate, four of a thread at a time: their entries of the index are on their way together.
template <class Each>
IKBO_DEVICE void for_candidates(const AttentionPlanParams &p, Each each) {
    constexpr int together = 4;
    for (int begin = static_cast<int>(threadIdx.x); begin < p.batch; begin += together * kThreads) {
        int64_t user[together];
#pragma unroll
        for (int i = 0; i < together; ++i) user[i] = begin + i * kThreads < p.batch ? user_of(p, begin + i * kThreads) : 0;
#pragma unroll
        for (int i = 0; i < together; ++i)
            if (begin + i * kThreads < p.batch) each(begin + i * kThreads, user[i]);
    }
}

// Counts the candidates of every user and notes what is wrong.
IKBO_DEVICE void count(const AttentionPlanParams &p, Scratch &scratch, const PlanWork &work) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < attention_bad_kinds) scratch.bad[thread] = INT_MAX;
    for (int u = thread; u < p.users; u += kThreads) work.counts[u] = 0;
    __syncthreads();
    for_candidates(p, [&](int b, int64_t user) {
        if (user < 0 || user >= p.users) atomicMin(&scratch.bad[attention_bad_index], b);
        else atomicAdd(&work.counts[user], 1);
    });
    if (p.key_offsets != nullptr) {
        if (thread == 0 && p.key_offsets[0] != 0) scratch.bad[attention_bad_first_offset] = 0;
        if (thread == 0 && p.key_offsets[p.users] != p.total_keys) scratch.bad[attention_bad_last_offset] = p.users;
        for (int u = thread; u < p.users; u += kThreads) {
            const int64_t keys = static_cast<int64_t>(p.key_offsets[u + 1]) - p.key_offsets[u];
            if (keys < 0) atomicMin(&scratch.bad[attention_bad_descending], u);
            if (keys > p.keys) atomicMin(&scratch.bad[attention_bad_length], u);
        }
    }
    __syncthreads();
}

// Whether all is well; if not, the header says what is not.
IKBO_DEVICE bool check(const AttentionPlanParams &p, const Scratch &scratch) {
    int kind = 0;
    while (kind < attention_bad_kinds && scratch.bad[kind] == INT_MAX) ++kind;
    if (kind == attention_bad_kinds) return true;
    if (threadIdx.x == 0) {
        AttentionPlanHeader header{0, kind, scratch.bad[kind], 0, 0};
        if (kind == attention_bad_index) header.bad_value = entry(p, header.bad_row);
        else if (kind == attention_bad_length) header.bad_value = keys_of(p, header.bad_row);
        else header.bad_value = p.key_offsets[header.bad_row];
        *p.header = header;
    }
    return false;
}

// order and counts: the candidates of user u are order[counts[u]] ... order[counts[u + 1] - 1].
IKBO_DEVICE void group_by_user(const AttentionPlanParams &p, Scratch &scratch, const PlanWork &work) {
    const int total = scan_all(
        scratch, p.users, [&](int u) { return work.counts[u]; },
        [&](int u, int start) {
            work.counts[u] = start;
            work.cursor[u] = start;
        });
    if (threadIdx.x == 0) work.counts[p.users] = total;
    __syncthreads();
    const bool mapped = p.index != nullptr;
    for_candidates(p, [&](int b, int64_t user) { p.order[mapped ? atomicAdd(&work.cursor[user], 1) : b] = b; });
    __syncthreads();
}

// ranked: users by descending number of keys, to the precision of the buckets.
IKBO_DEVICE void rank_users(const AttentionPlanParams &p, Scratch &scratch, const PlanWork &work) {
    if (work.ranked == nullptr) return;
    const int thread = static_cast<int>(threadIdx.x);
    const int width = p.keys / kBuckets + 1;
    const auto bucket = [&](int u) { return kBuckets - 1 - keys_of(p, u) / width; };
    scratch.bucket[thread] = 0;
    __syncthreads();
    for (int u = thread; u < p.users; u += kThreads) atomicAdd(&scratch.bucket[bucket(u)], 1);
    __syncthreads();
    scan_all(
        scratch, kBuckets, [&](int i) { return scratch.bucket[i]; }, [&](int i, int start) { scratch.bucket[i] = start; });
    for (int u = thread; u < p.users; u += kThreads) work.ranked[atomicAdd(&scratch.bucket[bucket(u)], 1)] = u;
    __syncthreads();
}

IKBO_DEVICE void list_tiles(const AttentionPlanParams &p, Scratch &scratch, const PlanWork &work) {
    const int slots_of_tile = p.units * p.pack;
    const auto user_at = [&](int i) { return work.ranked == nullptr ? i : work.ranked[i]; };
    const auto tiles_of_head = [&](int user) {
        return ((work.counts[user + 1] - work.counts[user]) * p.chunks + slots_of_tile - 1) / slots_of_tile;
    };
    int32_t *const first_tile = work.cursor; // of the user ranked i-th
    const int whole = scan_all(
        scratch, p.users, [&](int i) { return tiles_of_head(user_at(i)) * p.key_heads; },
        [&](int i, int start) { first_tile[i] = start; });
    // The last round leaves clusters idle. Where there are enough, each of its tiles is cut into parts for one warpgroup of each
    // block, or a few: a warpgroup alone is slower than its share of a block that all of them fill, but not by as much.
    const int last = whole % p.clusters;
    const int parts = last == 0 ? 1 : min(p.units / p.cluster, p.clusters / last);
    const int cut_from = whole - (parts > 1 ? last : 0);
    const int slots_of_part = (p.units / p.cluster + parts - 1) / parts * p.cluster * p.pack;
    const int total = cut_from + (whole - cut_from) * parts;
    for (int t = static_cast<int>(threadIdx.x); t < total; t += kThreads) {
        const int tile = t < cut_from ? t : cut_from + (t - cut_from) / parts;
        const int part = t < cut_from ? 0 : (t - cut_from) % parts;
        int low = 0, high = p.users - 1; // the last i with first_tile[i] <= tile; users without candidates share their start
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (first_tile[middle] <= tile) low = middle;
            else high = middle - 1;
        }
        const int user = user_at(low);
        const int per_head = tiles_of_head(user);
        const int in_user = tile - first_tile[low];
        const int begin = work.counts[user] * p.chunks + in_user % per_head * slots_of_tile + part * slots_of_part;
        const int room = t < cut_from ? slots_of_tile : min(slots_of_part, slots_of_tile - part * slots_of_part);
        const int count = min(room, work.counts[user + 1] * p.chunks - begin);
        p.tiles[t] = count > 0 ? AttentionTile{user, in_user / per_head, begin, count} : AttentionTile{-1, 0, 0, 0};
    }
    if (threadIdx.x == 0) *p.header = {total, attention_bad_kinds, 0, 0, 0};
}

IKBO_DEVICE void plan(const AttentionPlanParams &p, Scratch &scratch, const PlanWork &work) {
    count(p, scratch, work);
    if (!check(p, scratch)) {
        if (p.trap != 0) __trap();
        return;
    }
    group_by_user(p, scratch, work);
    rank_users(p, scratch, work);
    list_tiles(p, scratch, work);
}

} // namespace
} // namespace ikbo

extern "C" __global__ void __launch_bounds__(ikbo::kThreads, 1) ikbo_attention_plan(const ikbo::AttentionPlanParams p) {
    __shared__ ikbo::Scratch scratch;
    extern __shared__ int32_t arrays[];
    ptx::let_next_grid_start(); // attention_ws.cu sets itself up meanwhile
    const bool ragged = p.key_offsets != nullptr;
    if (p.counts == nullptr) {
        int32_t *const cursor = arrays + p.users + 1;
        ikbo::plan(p, scratch, {arrays, cursor, ragged ? cursor + p.users : nullptr});
    } else {
        ikbo::plan(p, scratch, {p.counts, p.cursor, ragged ? p.ranked : nullptr});
    }
}
