// Attention forward for sm_90a: warp-specialized, persistent, K and V read once per cluster.
//
//   out[b, q, h] = softmax(scale * Q[b, q, h] K[u(b), :, h / group]^T) V[u(b), :, h / group]
//
// Work: tiles of the plan (attention.h), dealt to the clusters in turn. Unit i of a tile goes to block i % Cluster,
// warpgroup i / Cluster. Each block of a cluster loads its share of every K and V block and multicasts it.
//
// Roles (384 threads): warpgroups 0 and 1 compute, 232 registers each; warpgroup 2 loads, 40 registers: warp 0 K, warp 1 V,
// warp 2 the units (Q by TMA, one box per slot, and the row table by ordinary stores).
//
// Shared memory, D = 128, Keys = 176: K and V 2 stages x 44 KB each, Q 3 slots x 16 KB, unit table 2 KB: 226 KB of 227.
//
// Order of work of a warpgroup, one continuous stream over its tiles (S: scores, j counts key blocks from the last, ragged
// one down to the first):
//   S(j) = Q K(j)^T and O += P(j-1) V(j-1) are issued together; softmax of S(j) runs under the second product. At the end of a
//   tile the first scores of the next one are issued beside the last product, and O is written under them.
//   The two warpgroups take turns in issuing (a pair of named barriers), so that one computes exponentials while the
//   tensor cores work for the other.
//
// Softmax with a fixed reference. P = 2^(scale_log2 * s - m) where m is the row's maximum over the tile's *first* block.
// Any m gives the same quotient as long as nothing overflows, so later blocks need no maximum: their partial sums tell. A
// sum beyond `sum_limit` (rows that grow by more than 2^40 in bf16, 2^15 in fp16) makes the warpgroup compute that block's
// scores again and move the reference; rows that did not grow keep theirs, so a row's bits do not depend on its neighbors.
#include "attention.h"
#include "wgmma.cuh"

namespace ikbo {
namespace {

using ptx::Major;

constexpr int kConsumers = attention_consumers;
constexpr int kThreads = attention_threads;
constexpr int kUnitRows = attention_unit_rows;
// Not less than Q slots + 2: a unit's rows are read after its Q slot was given back.
constexpr int kUnitTable = attention_unit_table;

constexpr int kBarrierOrder = 1; // first named barrier of the turns, one per warpgroup; then one for each warpgroup alone

constexpr float kLn2 = 0.69314718055994531f;

struct Work {
    int32_t blocks; // of keys; 0: the user has none; -1: no more units
    int32_t tail;   // keys in the first block that is taken, the last of the user, 1..Keys
    int32_t slots;  // 0: this warpgroup has no rows in the tile
};

struct Unit {
    int32_t row[kUnitRows]; // (candidate * queries + query) * heads + head, or -1
    Work work;
};

template <int D, int Keys, int Stages, int QSlots>
struct Shared {
    static constexpr int half = Keys * 128;        // bytes of 64 columns of a key block
    static constexpr int block = half * (D / 64);  // bytes of a key block
    static constexpr int q_half = kUnitRows * 128;
    static constexpr int q_bytes = q_half * (D / 64);
    static constexpr int k = 0;
    static constexpr int v = k + Stages * block;
    static constexpr int q = v + Stages * block;
    static constexpr int units = q + QSlots * q_bytes;
    static constexpr int barriers = units + kUnitTable * static_cast<int>(sizeof(Unit));
    static constexpr int k_full = barriers, k_empty = k_full + 8 * Stages;
    static constexpr int v_full = k_empty + 8 * Stages, v_empty = v_full + 8 * Stages;
    static constexpr int q_full = v_empty + 8 * Stages, q_empty = q_full + 8 * QSlots;
    static constexpr int bytes = q_empty + 8 * QSlots;
    static_assert(block % 1024 == 0 && QSlots + 2 <= kUnitTable && bytes <= 227 * 1024);
    static_assert(sizeof(Unit) == attention_unit_bytes && bytes == attention_shared_bytes(D, Keys, Stages, QSlots));
};

// Largest sum of a thread's exponentials of a block: keeps every one below the largest value of T and leaves O room.
template <typename T>
constexpr float kSumLimit = std::is_same_v<T, __half> ? 32768.0f : 1099511627776.0f;

// The tile that a cluster works on as its `turn`-th; every role walks the list in the same way. user is -1 past its end.
template <int Cluster>
IKBO_DEVICE AttentionTile tile_at(const AttentionParams &p, int turn) {
    const int index = (turn * static_cast<int>(gridDim.x) + static_cast<int>(blockIdx.x)) / Cluster;
    if (index >= __ldg(&p.header->tiles)) return {-1, 0, 0, 0};
    const int4 t = __ldg(reinterpret_cast<const int4 *>(p.tiles + index));
    return {t.x, t.y, t.z, t.w};
}

struct KeyRange {
    int start, count;
};
IKBO_DEVICE KeyRange key_range(const AttentionParams &p, int user) {
    if (p.key_offsets == nullptr) return {0, p.keys};
    const int start = __ldg(p.key_offsets + user);
    return {start, __ldg(p.key_offsets + user + 1) - start};
}

// Where a slot's rows are.
struct Slot {
    int candidate, query;
    IKBO_DEVICE Slot(const AttentionParams &p, int slot) {
        const int position = slot / p.chunks;
        candidate = __ldg(p.order + position);
        query = (slot - position * p.chunks) * p.box_queries;
    }
};

// ---------------------------------------------------------------------------------------------------------------------
// Loading

// K or V blocks of all tiles, last block of a tile first.
template <int D, int Keys, int Stages, int Cluster>
IKBO_DEVICE void load_keys(const CUtensorMap *map, const AttentionParams &p, uint32_t buffers, uint32_t full, uint32_t empty) {
    constexpr int half = Keys * 128;
    constexpr int share = Keys / Cluster;
    const int rank = Cluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
    ptx::Ring<Stages> ring;
    for (int turn = 0;; ++turn) {
        const AttentionTile tile = tile_at<Cluster>(p, turn);
        if (tile.user < 0) return;
        const KeyRange keys = key_range(p, tile.user);
        const int user = p.key_offsets == nullptr ? tile.user : 0;
#pragma unroll 1
        for (int j = (keys.count + Keys - 1) / Keys - 1; j >= 0; --j) {
            ptx::barrier_wait(empty + 8 * ring.slot, ring.parity ^ 1);
            if (ptx::elect_one()) {
                ptx::barrier_arrive_expect(full + 8 * ring.slot, half * (D / 64));
                const int row = keys.start + j * Keys + rank * share;
#pragma unroll
                for (int h = 0; h < D / 64; ++h) {
                    const uint32_t to = buffers + ring.slot * half * (D / 64) + h * half + rank * share * 128;
                    if constexpr (Cluster > 1) {
                        ptx::tma_load_multicast(to, map, full + 8 * ring.slot, (1 << Cluster) - 1, 64 * h, tile.key_head, row, user);
                    } else {
                        ptx::tma_load(to, map, full + 8 * ring.slot, 64 * h, tile.key_head, row, user);
                    }
                }
            }
            __syncwarp();
            ring.advance();
        }
    }
}

// Units of this block, warpgroup 0 and 1 of every tile in turn, then one end mark for each.
template <int D, int Keys, int QSlots, int Cluster>
IKBO_DEVICE void load_units(const CUtensorMap *map, const AttentionParams &p, Unit *units, uint32_t buffers, uint32_t full,
                            uint32_t empty) {
    constexpr int q_half = kUnitRows * 128;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int rank = Cluster > 1 ? static_cast<int>(ptx::cluster_rank()) : 0;
    AttentionTile tile;
#pragma unroll 1
    for (int sequence = 0;; ++sequence) {
        const int w = sequence % kConsumers;
        if (w == 0) tile = tile_at<Cluster>(p, sequence / kConsumers);
        const bool end = tile.user < 0;
        const int keys = end ? 0 : key_range(p, tile.user).count;
        const int first = tile.first + (w * Cluster + rank) * p.pack;
        const int slots = end ? 0 : min(max(tile.first + tile.count - first, 0), p.pack);
        const int q_slot = sequence % QSlots;
        ptx::barrier_wait(empty + 8 * q_slot, sequence / QSlots % 2 ^ 1);
        Unit &unit = units[sequence % kUnitTable];
#pragma unroll 1
        for (int r = lane; r < kUnitRows; r += 32) {
            int row = -1;
            if (const AttentionRow place = p.row[r]; place.slot < slots) {
                const Slot slot(p, first + place.slot);
                const int query = slot.query + place.query;
                if (query < p.queries) row = (slot.candidate * p.queries + query) * p.heads + tile.key_head * p.group + place.head;
            }
            unit.row[r] = row;
        }
        if (lane == 0) unit.work = {end ? -1 : (keys + Keys - 1) / Keys, (keys + Keys - 1) % Keys + 1, slots};
        __syncwarp();
        const int boxes = keys > 0 ? slots : 0;
        if (ptx::elect_one()) ptx::barrier_arrive_expect(full + 8 * q_slot, boxes * p.slot_rows * 128 * (D / 64));
        __syncwarp();
#pragma unroll 1
        for (int s = 0; s < boxes; ++s) {
            const Slot slot(p, first + s);
            if (ptx::elect_one()) {
#pragma unroll
                for (int h = 0; h < D / 64; ++h)
                    ptx::tma_load(buffers + (q_slot * (D / 64) + h) * q_half + s * p.slot_rows * 128, map, full + 8 * q_slot, 64 * h,
                                  tile.key_head * p.group, slot.query, slot.candidate);
            }
            __syncwarp();
        }
        if (end && w == kConsumers - 1) return;
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Computing

// Lane q of each four holds words a[0..3]; returns word q of lanes 0..3: a 4 x 4 transpose over the quad.
IKBO_DEVICE uint4 transpose_quad(const uint32_t (&a)[4]) {
    const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
    const uint32_t x0 = __shfl_xor_sync(0xffffffffu, odd ? a[0] : a[1], 1);
    const uint32_t x1 = __shfl_xor_sync(0xffffffffu, odd ? a[2] : a[3], 1);
    const uint32_t t0 = odd ? x0 : a[0], t1 = odd ? a[1] : x0;
    const uint32_t t2 = odd ? x1 : a[2], t3 = odd ? a[3] : x1;
    const uint32_t y0 = __shfl_xor_sync(0xffffffffu, high ? t0 : t2, 2);
    const uint32_t y1 = __shfl_xor_sync(0xffffffffu, high ? t1 : t3, 2);
    return {high ? y0 : t0, high ? y1 : t1, high ? t2 : y0, high ? t3 : y1};
}

IKBO_DEVICE float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
IKBO_DEVICE float quad_sum(float x) {
    x += __shfl_xor_sync(0xffffffffu, x, 1);
    return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// The same value in every lane, as a value that the compiler keeps in a uniform register: descriptors built on it cost no
// vector registers.
IKBO_DEVICE int uniform(int x) { return __shfl_sync(0xffffffffu, x, 0); }

// The same value, computed where it is used: kept in a register across the main loop it would make the loop spill.
IKBO_DEVICE int recompute(int x) {
    asm volatile("" : "+r"(x));
    return x;
}
IKBO_DEVICE int group_thread() {
    uint32_t x;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
    return static_cast<int>(x % 128);
}

// Per thread: two rows, h = 0 and 1 (rows lane / 4 and + 8 of the warp's 16), in accumulator order (wgmma.cuh).
template <typename T, int D, int Keys, int Stages, int QSlots, int Cluster>
struct Consumer {
    using Smem = Shared<D, Keys, Stages, QSlots>;

    const AttentionParams &p;
    const uint32_t shared;
    const Unit *const units;
    const int turn;   // named barrier of this warpgroup's turn
    const int thread; // in the warpgroup

    // Counted, not kept as slot and parity: registers are short. Stage of block n is n % Stages, its lap n / Stages.
    int at = 0;   // the key block, over all tiles, whose scores come next
    int sequence; // this warpgroup's unit among all of this block

    float s[Keys / 2];
    float o[D / 2];
    uint32_t probability[Keys / 16][4];
    float reference[2]; // m, in units of log2
    float sum[2];       // this thread's share of the row sums

    IKBO_DEVICE Consumer(const AttentionParams &params, uint32_t shared_base, const Unit *table, int warpgroup)
        : p(params), shared(shared_base), units(table), turn(kBarrierOrder + warpgroup),
          thread(static_cast<int>(threadIdx.x) % 128), sequence(warpgroup) {}

    // Turns between the warpgroups ----------------------------------------------------------------------------------
    IKBO_DEVICE void order_start() const {
        if (turn != kBarrierOrder) ptx::named_barrier_arrive(kBarrierOrder, 256);
    }
    IKBO_DEVICE void order_wait() const { ptx::named_barrier_sync(turn, 256); }
    IKBO_DEVICE void order_pass() const { ptx::named_barrier_arrive(recompute(2 * kBarrierOrder + 1 - turn), 256); }
    IKBO_DEVICE int group_barrier() const { return recompute(turn + kConsumers); }

    // Buffers -------------------------------------------------------------------------------------------------------
    IKBO_DEVICE void wait_k() const { ptx::barrier_wait(shared + Smem::k_full + 8 * (at % Stages), at / Stages % 2); }
    IKBO_DEVICE void wait_v(int n) const { ptx::barrier_wait(shared + Smem::v_full + 8 * (n % Stages), n / Stages % 2); }
    // One thread per block of the cluster tells it that this warpgroup has read the stage.
    IKBO_DEVICE void give_back(uint32_t barrier) const {
        if constexpr (Cluster > 1) {
            if (thread < Cluster) ptx::barrier_arrive_at(barrier, thread);
        } else {
            if (thread == 0) ptx::barrier_arrive(barrier);
        }
    }
    IKBO_DEVICE void give_back_k() const { give_back(shared + Smem::k_empty + 8 * (at % Stages)); }
    IKBO_DEVICE void give_back_v(int n) const { give_back(shared + Smem::v_empty + 8 * (n % Stages)); }
    IKBO_DEVICE Work wait_unit() const {
        ptx::barrier_wait(shared + Smem::q_full + 8 * (sequence % QSlots), sequence / QSlots % 2);
        return units[sequence % kUnitTable].work;
    }
    IKBO_DEVICE void give_back_unit(bool now) const {
        if (now && thread == 0) ptx::barrier_arrive(shared + Smem::q_empty + 8 * (sequence % QSlots));
    }

    // Products ------------------------------------------------------------------------------------------------------
    IKBO_DEVICE void issue_scores() {
        const uint64_t a = ptx::swizzled_descriptor(shared + Smem::q + uniform(sequence % QSlots) * Smem::q_bytes);
        const uint64_t b = ptx::swizzled_descriptor(shared + Smem::k + uniform(at % Stages) * Smem::block);
#pragma unroll
        for (int k = 0; k < D / 16; ++k)
            ptx::wgmma_ss<T, Keys, Major::K, Major::K>(s, a + ptx::descriptor_step(k % 4 * 32 + k / 4 * Smem::q_half),
                                                       b + ptx::descriptor_step(k % 4 * 32 + k / 4 * Smem::half), k > 0);
        ptx::wgmma_commit();
    }
    IKBO_DEVICE void issue_output(int n, bool accumulate) {
        const uint64_t b = ptx::swizzled_descriptor(shared + Smem::v + uniform(n % Stages) * Smem::block, Smem::half);
#pragma unroll
        for (int k = 0; k < Keys / 16; ++k)
            ptx::wgmma_rs<T, D, Major::MN>(o, probability[k], b + ptx::descriptor_step(k * 2048), accumulate || k > 0);
        ptx::wgmma_commit();
    }

    // Softmax -------------------------------------------------------------------------------------------------------
    IKBO_DEVICE void mask(int tail) {
        const int mine = tail - group_thread() % 4 * 2;
#pragma unroll
        for (int i = 0; i < Keys / 2; ++i)
            if (i / 4 * 8 + i % 2 >= mine) s[i] = -INFINITY;
    }
    IKBO_DEVICE float row_max(int h) const {
        float a = s[2 * h], b = s[2 * h + 1];
#pragma unroll
        for (int i = 4; i < Keys / 2; i += 4) {
            a = fmaxf(a, s[i + 2 * h]);
            b = fmaxf(b, s[i + 2 * h + 1]);
        }
        return quad_max(fmaxf(a, b));
    }
    // s becomes 2^(scale s - reference); returns the sums of this block.
    IKBO_DEVICE void exponentials(float (&block)[2]) {
        float even[2] = {0, 0}, odd[2] = {0, 0};
#pragma unroll
        for (int i = 0; i < Keys / 2; i += 2) {
            const int h = i / 2 % 2;
            s[i] = ptx::ex2(fmaf(s[i], p.scale_log2, -reference[h]));
            s[i + 1] = ptx::ex2(fmaf(s[i + 1], p.scale_log2, -reference[h]));
            even[h] += s[i];
            odd[h] += s[i + 1];
        }
        block[0] = even[0] + odd[0];
        block[1] = even[1] + odd[1];
    }
    IKBO_DEVICE void pack_probabilities() {
#pragma unroll
        for (int i = 0; i < Keys / 4; ++i) {
            uint32_t &word = probability[i / 4][i % 4];
            word = ptx::pack<T>(s[2 * i], s[2 * i + 1]);
            asm volatile("" : "+r"(word)::"memory");
        }
    }
    // The tile's first block sets the reference.
    IKBO_DEVICE void first_softmax(int tail) {
        if (tail < Keys) mask(tail);
        // Finite, so that a row of -inf gives exponentials of -inf and not of NaN.
#pragma unroll
        for (int h = 0; h < 2; ++h) reference[h] = fmaxf(row_max(h) * p.scale_log2, -1e30f);
        exponentials(sum);
        pack_probabilities();
    }
    IKBO_DEVICE bool group_any(bool mine) const {
        uint32_t any;
        asm volatile(
            "{\n.reg .pred p, q;\n"
            "setp.ne.u32 p, %3, 0;\n"
            "bar.red.or.pred q, %1, %2, p;\n"
            "selp.u32 %0, 1, 0, q;\n}"
            : "=r"(any)
            : "r"(group_barrier()), "r"(128), "r"(static_cast<uint32_t>(mine))
            : "memory");
        return any != 0;
    }
    // Rare: some row grew too far above its reference. Scores again, then the usual online step for those rows.
    IKBO_DEVICE void move_reference(float (&block)[2]) {
        bool grew[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) grew[h] = quad_max(block[h]) > kSumLimit<T>;
        ptx::pin(s);
        ptx::wgmma_fence();
        issue_scores();
        ptx::wgmma_wait<0>();
        ptx::pin(s);
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (const float top = row_max(h) * p.scale_log2; grew[h] && top > reference[h]) {
                const float factor = ptx::ex2(reference[h] - top);
                reference[h] = top;
                sum[h] *= factor;
#pragma unroll
                for (int i = 0; i < D / 2; i += 4) {
                    o[i + 2 * h] *= factor;
                    o[i + 2 * h + 1] *= factor;
                }
            }
        }
        ptx::pin(o);
        exponentials(block);
    }

    // Results -------------------------------------------------------------------------------------------------------
    IKBO_DEVICE int output_row(int unit, int h) const {
        const int t = group_thread();
        return units[unit % kUnitTable].row[t / 32 * 16 + t % 32 / 4 + 8 * h];
    }
    IKBO_DEVICE void store(int unit, int h, float weight) const {
        const int row = output_row(unit, h);
        T *const to = static_cast<T *>(p.out) + static_cast<int64_t>(row) * D + group_thread() % 4 * 8;
#pragma unroll
        for (int c = 0; c < D / 32; ++c) { // 32 columns: 4 groups of 8, one word of each in this lane
            uint32_t word[4];
#pragma unroll
            for (int i = 0; i < 4; ++i)
                word[i] = ptx::pack<T>(o[16 * c + 4 * i + 2 * h] * weight, o[16 * c + 4 * i + 2 * h + 1] * weight);
            const uint4 columns = transpose_quad(word);
            if (row >= 0) *reinterpret_cast<uint4 *>(to + 32 * c) = columns;
        }
    }
    IKBO_DEVICE void store_lse(int unit, int h, float value) const {
        const int row = output_row(unit, h);
        if (row < 0 || group_thread() % 4 != 0) return;
        const int head = row % p.heads, query = row / p.heads % p.queries, candidate = row / p.heads / p.queries;
        p.lse[(static_cast<int64_t>(candidate) * p.heads + head) * p.queries + query] = value;
    }
    IKBO_DEVICE void finish(int unit) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float total = quad_sum(sum[h]);
            if (p.lse != nullptr) store_lse(unit, h, (reference[h] + ptx::lg2(total)) * kLn2);
            store(unit, h, 1.0f / total);
        }
    }
    IKBO_DEVICE void finish_without_keys(int unit) {
#pragma unroll
        for (int i = 0; i < D / 2; ++i) o[i] = 0;
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            if (p.lse != nullptr) store_lse(unit, h, -INFINITY);
            store(unit, h, 0);
        }
    }

    // Rows of V past the user's keys are another user's: their probability is 0, but 0 * NaN is NaN. Both warpgroups write
    // the same zeros.
    IKBO_DEVICE void clear_v(int tail) const {
        wait_v(at);
        const uint32_t stage = shared + Smem::v + at % Stages * Smem::block;
#pragma unroll 1
        for (int i = tail * 8 + group_thread(); i < Keys * 8; i += 128)
#pragma unroll
            for (int h = 0; h < D / 64; ++h)
                asm volatile("st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(stage + h * Smem::half + i * 16), "r"(0) : "memory");
        ptx::fence_shared_for_copies();
        ptx::named_barrier_sync(group_barrier(), 128);
    }

    // Tiles ------------------------------------------------------------------------------------------------------------
    IKBO_DEVICE void first_block(const Work &work) {
        give_back_k();
        give_back_unit(work.blocks == 1);
        first_softmax(work.tail);
        if (p.key_offsets != nullptr && work.tail < Keys) clear_v(work.tail);
    }

    // This tile and those after it up to one where this warpgroup has nothing to compute; returns that one.
    IKBO_DEVICE Work chain(Work work) {
        wait_k();
        order_wait();
        ptx::wgmma_fence();
        issue_scores();
        order_pass();
        ptx::wgmma_wait<0>();
        ptx::pin(s);
        first_block(work);
        for (;;) {
            const int blocks = work.blocks;
#pragma unroll 1
            for (int j = 1; j < blocks; ++j) {
                ++at;
                wait_k();
                order_wait();
                ptx::wgmma_fence();
                issue_scores();
                wait_v(at - 1);
                ptx::wgmma_fence();
                issue_output(at - 1, j > 1);
                order_pass();
                ptx::wgmma_wait<1>();
                ptx::pin(s);
                float block[2];
                exponentials(block);
                const bool grew = group_any(fmaxf(block[0], block[1]) > kSumLimit<T>);
                ptx::wgmma_wait<0>();
                ptx::pin(o);
                give_back_v(at - 1);
                if (grew) move_reference(block);
                give_back_k();
                give_back_unit(j + 1 == blocks);
                sum[0] += block[0];
                sum[1] += block[1];
                pack_probabilities();
            }
            sequence += kConsumers;
            ++at;
            work = wait_unit();
            wait_v(at - 1);
            if (work.blocks <= 0 || work.slots == 0) {
                ptx::wgmma_fence();
                issue_output(at - 1, blocks > 1);
                ptx::wgmma_wait<0>();
                ptx::pin(o);
                give_back_v(at - 1);
                finish(sequence - kConsumers);
                return work;
            }
            wait_k();
            order_wait();
            ptx::wgmma_fence();
            issue_output(at - 1, blocks > 1);
            issue_scores();
            order_pass();
            ptx::wgmma_wait<1>();
            ptx::pin(o);
            give_back_v(at - 1);
            finish(sequence - kConsumers);
            ptx::wgmma_wait<0>();
            ptx::pin(s);
            first_block(work);
        }
    }

    // A warpgroup without rows still takes part in the tile: it passes the turn and gives the stages back.
    IKBO_DEVICE void pass(int blocks) {
        for (int j = 0; j < blocks; ++j) {
            wait_k();
            order_wait();
            order_pass();
            give_back_k();
            wait_v(at);
            give_back_v(at);
            ++at;
        }
    }

    IKBO_DEVICE void run() {
        order_start();
        Work work = wait_unit();
        while (work.blocks >= 0) {
            if (work.blocks > 0 && work.slots > 0) {
                work = chain(work);
                continue;
            }
            if (work.blocks == 0) finish_without_keys(sequence);
            else pass(work.blocks);
            give_back_unit(true);
            sequence += kConsumers;
            work = wait_unit();
        }
    }
};

template <typename T, int D, int Keys, int Stages, int QSlots, int Cluster>
IKBO_DEVICE void attention(const CUtensorMap *q, const CUtensorMap *k, const CUtensorMap *v, const AttentionParams &p) {
    using Smem = Shared<D, Keys, Stages, QSlots>;
    extern __shared__ __align__(1024) uint8_t memory[];
    const uint32_t shared = ptx::shared_address(memory);
    Unit *const units = reinterpret_cast<Unit *>(memory + Smem::units);
    const int group = ptx::warpgroup_index();
    if (threadIdx.x == 0) {
        if (shared % 1024 != 0) asm volatile("trap;");
        for (int i = 0; i < Stages; ++i) {
            ptx::barrier_init(shared + Smem::k_full + 8 * i, 1);
            ptx::barrier_init(shared + Smem::v_full + 8 * i, 1);
            ptx::barrier_init(shared + Smem::k_empty + 8 * i, kConsumers * Cluster);
            ptx::barrier_init(shared + Smem::v_empty + 8 * i, kConsumers * Cluster);
        }
        for (int i = 0; i < QSlots; ++i) {
            ptx::barrier_init(shared + Smem::q_full + 8 * i, 1);
            ptx::barrier_init(shared + Smem::q_empty + 8 * i, 1);
        }
        ptx::fence_barrier_init();
    }
    __syncthreads();
    if constexpr (Cluster > 1) ptx::cluster_sync();

    if (group == kConsumers) {
        ptx::fewer_registers<40>();
        const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
        if (warp == 0) load_keys<D, Keys, Stages, Cluster>(k, p, shared + Smem::k, shared + Smem::k_full, shared + Smem::k_empty);
        if (warp == 1) load_keys<D, Keys, Stages, Cluster>(v, p, shared + Smem::v, shared + Smem::v_full, shared + Smem::v_empty);
        if (warp == 2) load_units<D, Keys, QSlots, Cluster>(q, p, units, shared + Smem::q, shared + Smem::q_full, shared + Smem::q_empty);
        // No block leaves while another one still copies into it or arrives at its barriers.
        if constexpr (Cluster > 1) ptx::cluster_sync();
    } else {
        ptx::more_registers<232>();
        Consumer<T, D, Keys, Stages, QSlots, Cluster> consumer(p, shared, units, group);
        consumer.run();
        if constexpr (Cluster > 1) ptx::cluster_sync();
    }
}

} // namespace
} // namespace ikbo

#define IKBO_ATTENTION(name, T, D, Keys, Stages, QSlots, Cluster)                                                       \
    extern "C" __global__ void __launch_bounds__(ikbo::kThreads, 1)                                                     \
        name(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,                              \
             const __grid_constant__ CUtensorMap v, const __grid_constant__ ikbo::AttentionParams p) {                   \
        ikbo::attention<T, D, Keys, Stages, QSlots, Cluster>(&q, &k, &v, p);                                            \
    }

#define IKBO_ATTENTION_ALL(suffix, D, Keys, Stages, QSlots)                                                             \
    IKBO_ATTENTION(ikbo_attention_ws_bf16_##suffix##_c1, __nv_bfloat16, D, Keys, Stages, QSlots, 1)                      \
    IKBO_ATTENTION(ikbo_attention_ws_bf16_##suffix##_c2, __nv_bfloat16, D, Keys, Stages, QSlots, 2)                      \
    IKBO_ATTENTION(ikbo_attention_ws_fp16_##suffix##_c1, __half, D, Keys, Stages, QSlots, 1)                             \
    IKBO_ATTENTION(ikbo_attention_ws_fp16_##suffix##_c2, __half, D, Keys, Stages, QSlots, 2)

IKBO_ATTENTION_ALL(d128_n176, 128, 176, 2, 3)
IKBO_ATTENTION_ALL(d128_n128, 128, 128, 2, 4)
IKBO_ATTENTION_ALL(d64_n176, 64, 176, 3, 4)
