// Plans an attention call: checks the map and the key offsets, groups the candidates by user and lists the tiles.
// One block of 1024 threads, 32 registers, 4 KB of shared memory; about 10 us for a few thousand candidates. Nothing that it reads
// from the caller is used as an address before it was checked; where something is wrong the header says so and the plan has no
// tiles.
//
// Tiles are ordered by descending number of keys, then by user and key head, so that blocks that run at the same time read
// the same keys and the longest work starts first. The order of a user's candidates, and of users of about the same length,
// is left to the atomics: no result depends on it.
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

IKBO_DEVICE int64_t user_of(const AttentionPlanParams &p, int row) {
    switch (p.map_kind) {
    case attention_map_repeats: return row / p.repeats;
    case attention_map_index:
        return p.index_bits == 64 ? static_cast<const int64_t *>(p.index)[row] : static_cast<const int32_t *>(p.index)[row];
    case attention_map_all: return 0;
    default: return row;
    }
}

IKBO_DEVICE int keys_of(const AttentionPlanParams &p, int user) {
    return p.key_offsets == nullptr ? p.keys : p.key_offsets[user + 1] - p.key_offsets[user];
}

// Sets the header; true when all is well.
IKBO_DEVICE bool check(const AttentionPlanParams &p, Scratch &scratch) {
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < attention_bad_kinds) scratch.bad[thread] = INT_MAX;
    __syncthreads();
    for (int b = thread; b < p.batch; b += kThreads) {
        const int64_t user = user_of(p, b);
        if (user < 0 || user >= p.users) atomicMin(&scratch.bad[attention_bad_index], b);
    }
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
    int kind = 0;
    while (kind < attention_bad_kinds && scratch.bad[kind] == INT_MAX) ++kind;
    if (thread == 0) {
        AttentionPlanHeader header{0, kind, kind < attention_bad_kinds ? scratch.bad[kind] : 0, 0, 0};
        if (kind == attention_bad_index) header.bad_value = user_of(p, header.bad_row);
        else if (kind == attention_bad_length) header.bad_value = keys_of(p, header.bad_row);
        else if (kind < attention_bad_kinds) header.bad_value = p.key_offsets[header.bad_row];
        *p.header = header;
    }
    return kind == attention_bad_kinds;
}

// order and counts: the candidates of user u are order[counts[u]] ... order[counts[u + 1] - 1].
IKBO_DEVICE void group_by_user(const AttentionPlanParams &p, Scratch &scratch) {
    const int thread = static_cast<int>(threadIdx.x);
    for (int u = thread; u < p.users; u += kThreads) p.counts[u] = 0;
    __syncthreads();
    for (int b = thread; b < p.batch; b += kThreads) atomicAdd(&p.counts[user_of(p, b)], 1);
    __syncthreads();
    const int total = scan_all(
        scratch, p.users, [&](int u) { return p.counts[u]; },
        [&](int u, int start) {
            p.counts[u] = start;
            p.cursor[u] = start;
        });
    if (thread == 0) p.counts[p.users] = total;
    if (p.map_kind == attention_map_index) {
        for (int b = thread; b < p.batch; b += kThreads) p.order[atomicAdd(&p.cursor[user_of(p, b)], 1)] = b;
    } else {
        for (int b = thread; b < p.batch; b += kThreads) p.order[b] = b;
    }
    __syncthreads();
}

// ranked: users by descending number of keys, to the precision of the buckets.
IKBO_DEVICE void rank_users(const AttentionPlanParams &p, Scratch &scratch) {
    const int thread = static_cast<int>(threadIdx.x);
    if (p.key_offsets == nullptr) {
        for (int u = thread; u < p.users; u += kThreads) p.ranked[u] = u;
        __syncthreads();
        return;
    }
    const int width = p.keys / kBuckets + 1;
    const auto bucket = [&](int u) { return kBuckets - 1 - keys_of(p, u) / width; };
    scratch.bucket[thread] = 0;
    __syncthreads();
    for (int u = thread; u < p.users; u += kThreads) atomicAdd(&scratch.bucket[bucket(u)], 1);
    __syncthreads();
    scan_all(
        scratch, kBuckets, [&](int i) { return scratch.bucket[i]; }, [&](int i, int start) { scratch.bucket[i] = start; });
    for (int u = thread; u < p.users; u += kThreads) p.ranked[atomicAdd(&scratch.bucket[bucket(u)], 1)] = u;
    __syncthreads();
}

IKBO_DEVICE void list_tiles(const AttentionPlanParams &p, Scratch &scratch) {
    const int slots_of_tile = p.units * p.pack;
    const auto tiles_of_head = [&](int user) {
        return ((p.counts[user + 1] - p.counts[user]) * p.chunks + slots_of_tile - 1) / slots_of_tile;
    };
    int32_t *const first_tile = p.cursor; // of the user ranked i-th
    const int total = scan_all(
        scratch, p.users, [&](int i) { return tiles_of_head(p.ranked[i]) * p.key_heads; },
        [&](int i, int start) { first_tile[i] = start; });
    for (int t = static_cast<int>(threadIdx.x); t < total; t += kThreads) {
        int low = 0, high = p.users - 1; // the last i with first_tile[i] <= t; users without candidates share their start
        while (low < high) {
            const int middle = (low + high + 1) / 2;
            if (first_tile[middle] <= t) low = middle;
            else high = middle - 1;
        }
        const int user = p.ranked[low];
        const int per_head = tiles_of_head(user);
        const int in_user = t - first_tile[low];
        const int begin = p.counts[user] * p.chunks + in_user % per_head * slots_of_tile;
        p.tiles[t] = {user, in_user / per_head, begin, min(slots_of_tile, p.counts[user + 1] * p.chunks - begin)};
    }
    if (threadIdx.x == 0) p.header->tiles = total;
}

} // namespace
} // namespace ikbo

extern "C" __global__ void __launch_bounds__(ikbo::kThreads, 1) ikbo_attention_plan(const ikbo::AttentionPlanParams p) {
    __shared__ ikbo::Scratch scratch;
    if (!ikbo::check(p, scratch)) {
        if (p.trap != 0) __trap();
        return;
    }
    ikbo::group_by_user(p, scratch);
    ikbo::rank_users(p, scratch);
    ikbo::list_tiles(p, scratch);
}
