// The computing warpgroups of attention_ws.cu.
//
// One continuous stream over a warpgroup's tiles (S: scores; blocks of keys are taken from the last, ragged one down to the
// first): S(n) = Q K(n)^T and O += P(n-1) V(n-1) are issued together, and the softmax of S(n) runs under the second product.
// At the end of a tile S(n) is the next tile's, and O is written under it.
//
// Softmax with a fixed reference. P = 2^(scale_log2 * s - m) where m is the row's maximum over the tile's *first* block.
// Any m gives the same quotient as long as nothing overflows, so later blocks need no maximum: their partial sums tell. A
// sum beyond kSumLimit (rows that grow by more than 2^40 in bf16, 2^15 in fp16) makes the warpgroup compute that block's
// scores again and move the reference; rows that did not grow keep theirs, so a row's bits do not depend on its neighbors.
#pragma once

#include "attention_load.cuh"
#include "attention_rows.cuh"

namespace ikbo {

using ptx::Major;

constexpr int kFirstTurn = 1; // first named barrier of the turns, one per warpgroup; then one for each warpgroup alone

// Largest sum of a thread's exponentials of a block: keeps every one below the largest value of T and leaves O room.
template <typename T>
constexpr float kSumLimit = std::is_same_v<T, __half> ? 32768.0f : 1099511627776.0f;

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

template <typename T, AttentionBuild B>
struct AttentionConsumer {
    using Smem = AttentionShared<B>;
    static constexpr int kSteps = B.keys / 16; // of k16 in P V
    struct Work {
        int blocks, tail, slots;
    };

    const AttentionParams &p;
    const CUtensorMap *const out;
    const uint32_t shared;
    const AttentionUnit *const units;
    const int turn; // named barrier of this warpgroup's turn
    // Counted, not kept as slot and parity: registers are short. Stage of block n is n % stages, its lap n / stages.
    int at = 0;   // the block of keys, over all tiles, whose scores come next
    int sequence; // this warpgroup's unit among all of this block

    float s[B.keys / 2];
    float o[B.width / 2];
    uint32_t probability[kSteps][4];
    float reference[2]; // m, in units of log2
    float sum[2];       // this thread's share of the row sums

    IKBO_DEVICE AttentionConsumer(const AttentionParams &params, const CUtensorMap *out_map, uint32_t shared_base,
                                  const AttentionUnit *table, int warpgroup)
        : p(params), out(out_map), shared(shared_base), units(table), turn(kFirstTurn + warpgroup), sequence(warpgroup) {}

    // Turns between the warpgroups: one computes exponentials while the tensor cores work for another ---------------------
    IKBO_DEVICE void order_start() const {
        if (turn == kFirstTurn + B.consumers - 1) ptx::named_barrier_arrive(kFirstTurn, 256);
    }
    IKBO_DEVICE void order_wait() const {
        ptx::fall_behind();
        ptx::named_barrier_sync(turn, 256);
    }
    IKBO_DEVICE void order_pass() const {
        const int next = recompute(turn + 1);
        ptx::named_barrier_arrive(next == kFirstTurn + B.consumers ? kFirstTurn : next, 256);
    }
    IKBO_DEVICE int group_barrier() const { return recompute(turn + B.consumers); }
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

    // Buffers -------------------------------------------------------------------------------------------------------------
    IKBO_DEVICE void wait_k() const { ptx::barrier_wait(shared + Smem::k_full + 8 * (at % B.stages), at / B.stages % 2); }
    IKBO_DEVICE void wait_v(int n) const { ptx::barrier_wait(shared + Smem::v_full + 8 * (n % B.stages), n / B.stages % 2); }
    // One thread per block of the cluster tells it that this warpgroup has read the stage.
    IKBO_DEVICE void give_back(uint32_t barrier) const {
        ptx::fall_behind();
        if constexpr (B.cluster > 1) {
            if (const int thread = group_thread(); thread < B.cluster) ptx::barrier_arrive_at(barrier, thread);
        } else {
            if (group_thread() == 0) ptx::barrier_arrive(barrier);
        }
    }
    IKBO_DEVICE void give_back_k() const { give_back(shared + Smem::k_empty + 8 * (at % B.stages)); }
    IKBO_DEVICE void give_back_v(int n) const { give_back(shared + Smem::v_empty + 8 * (n % B.stages)); }
    IKBO_DEVICE Work wait_unit() const {
        ptx::barrier_wait(shared + Smem::q_full + 8 * (sequence % B.q_slots), sequence / B.q_slots % 2);
        const AttentionUnit &unit = units[sequence % Smem::unit_table];
        return {unit.blocks, unit.tail, unit.slots};
    }
    IKBO_DEVICE void give_back_unit(bool now) const {
        if (now && group_thread() == 0) ptx::barrier_arrive(shared + Smem::q_empty + 8 * (sequence % B.q_slots));
    }

    // Products ------------------------------------------------------------------------------------------------------------
    IKBO_DEVICE void issue_scores() {
        const uint64_t a = ptx::swizzled_descriptor(shared + Smem::q + uniform(sequence % B.q_slots) * Smem::q_bytes);
        const uint64_t b = ptx::swizzled_descriptor(shared + Smem::k + uniform(at % B.stages) * Smem::key_bytes);
#pragma unroll
        for (int k = 0; k < B.width / 16; ++k)
            ptx::wgmma_ss<T, B.keys, Major::K, Major::K>(s, a + ptx::descriptor_step(k % 4 * 32 + k / 4 * Smem::q_half),
                                                         b + ptx::descriptor_step(k % 4 * 32 + k / 4 * Smem::key_half), k > 0);
        ptx::wgmma_commit();
    }
    IKBO_DEVICE void issue_output(int n, bool accumulate) {
        const uint64_t b = ptx::swizzled_descriptor(shared + Smem::v + uniform(n % B.stages) * Smem::key_bytes, Smem::key_half);
#pragma unroll
        for (int k = 0; k < kSteps; ++k)
            ptx::wgmma_rs<T, B.width, Major::MN>(o, probability[k], b + ptx::descriptor_step(k * 2048), accumulate || k > 0);
        ptx::wgmma_commit();
    }

    // Softmax -------------------------------------------------------------------------------------------------------------
    // The tile's first block sets the reference: finite, so that a row of -inf gives exponentials of -inf and not of NaN.
    IKBO_DEVICE void first_softmax(int tail) {
        if (tail < B.keys) mask_scores(s, tail, group_thread());
#pragma unroll
        for (int h = 0; h < 2; ++h) reference[h] = fmaxf(row_max(s, h) * p.scale_log2, -1e30f);
        exponentials(s, p.scale_log2, reference, sum);
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
            if (const float top = row_max(s, h) * p.scale_log2; grew[h] && top > reference[h]) {
                const float factor = ptx::ex2(reference[h] - top);
                reference[h] = top;
                sum[h] *= factor;
                scale_row(o, h, factor);
            }
        }
        ptx::pin(o);
        exponentials(s, p.scale_log2, reference, block);
    }

    // Results -------------------------------------------------------------------------------------------------------------
    // O of a unit, times the rows' weights, through the staging buffer; the copy engine leaves out rows that are not there.
    IKBO_DEVICE void store(int number, const float (&weight)[2]) const {
        const AttentionUnit &unit = units[number % Smem::unit_table];
        const int t = group_thread();
        const uint32_t staging = shared + Smem::o + (turn - kFirstTurn) * Smem::q_bytes;
        if constexpr (B.stores) {
            await_staging(number);
            stage_rows<T>(o, weight, staging, t);
            arrive_staged();
            return;
        }
        if (t == 0) ptx::copies_read<0>();
        ptx::named_barrier_sync(group_barrier(), 128);
        stage_rows<T>(o, weight, staging, t);
        ptx::fence_shared_for_copies();
        ptx::named_barrier_sync(group_barrier(), 128);
        ptx::fall_behind();
        if (t == 0) store_unit<B>(out, p, unit, staging);
    }
    // The unit before `number` has left the staging buffer.
    IKBO_DEVICE void await_staging(int number) const {
        ptx::fall_behind();
        ptx::barrier_wait(shared + Smem::stored + 8 * (turn - kFirstTurn), number / B.consumers % 2 ^ 1);
    }
    // For the storing warp: this warp has staged its rows, or there is nothing to stage.
    IKBO_DEVICE void arrive_staged() const {
        __syncwarp();
        if (group_thread() % 32 == 0) ptx::barrier_arrive(shared + Smem::staged + 8 * (turn - kFirstTurn));
    }
    IKBO_DEVICE void stage_nothing(int number) const {
        await_staging(number);
        arrive_staged();
    }
    IKBO_DEVICE void store_lse(int number, int h, float value) const {
        const AttentionUnit &unit = units[number % Smem::unit_table];
        const int t = group_thread();
        const AttentionRow place = p.row[t / 32 * 16 + t % 32 / 4 + 8 * h];
        const int query = unit.query + place.query;
        if (t % 4 != 0 || place.slot >= unit.slots || query >= p.queries) return;
        p.lse[(static_cast<int64_t>(unit.candidate[place.slot]) * p.heads + unit.head + place.head) * p.queries + query] =
            value;
    }
    IKBO_DEVICE void finish(int number) const {
        float weight[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float total = quad_sum(sum[h]);
            if (p.lse != nullptr) store_lse(number, h, (reference[h] + ptx::lg2(total)) * kLn2);
            weight[h] = 1.0f / total;
        }
        store(number, weight);
    }
    IKBO_DEVICE void finish_without_keys(int number) {
#pragma unroll
        for (int i = 0; i < B.width / 2; ++i) o[i] = 0;
        const float weight[2] = {0, 0};
        store(number, weight);
        if (p.lse != nullptr)
            for (int h = 0; h < 2; ++h) store_lse(number, h, -INFINITY);
    }

    // Rows of V past the user's keys are another user's. All warpgroups write the same zeros.
    IKBO_DEVICE void clear_v(int tail) const {
        wait_v(at);
        clear_rows<B.keys, Smem::halves>(shared + Smem::v + at % B.stages * Smem::key_bytes, tail, group_thread());
        ptx::named_barrier_sync(group_barrier(), 128);
    }

    // Tiles ---------------------------------------------------------------------------------------------------------------
    // A tile's first scores are there and nothing is in flight.
    IKBO_DEVICE void first_block(const Work &work) {
        give_back_k();
        if (B.stores && work.blocks == 1) ptx::named_barrier_sync(group_barrier(), 128);
        give_back_unit(work.blocks == 1);
        first_softmax(work.tail);
        if (p.key_offsets != nullptr && work.tail < B.keys) clear_v(work.tail);
        pack_fragments<T>(s, probability);
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
            bool accumulate = false;
#pragma unroll 1
            for (int left = work.blocks - 1; left > 0; --left) {
                ++at;
                wait_k();
                order_wait();
                ptx::wgmma_fence();
                issue_scores();
                wait_v(at - 1);
                ptx::wgmma_fence();
                issue_output(at - 1, accumulate);
                accumulate = true;
                order_pass();
                ptx::wgmma_wait<1>();
                ptx::pin(s);
                float block[2];
                exponentials(s, p.scale_log2, reference, block);
                const bool grew = group_any(fmaxf(block[0], block[1]) > kSumLimit<T>);
                ptx::wgmma_wait<0>();
                ptx::pin(o);
                give_back_v(at - 1);
                if (grew) move_reference(block);
                give_back_k();
                give_back_unit(left == 1);
                sum[0] += block[0];
                sum[1] += block[1];
                pack_fragments<T>(s, probability);
            }
            sequence += B.consumers;
            ++at;
            work = wait_unit();
            wait_v(at - 1);
            if (work.blocks <= 0 || work.slots == 0) {
                ptx::wgmma_fence();
                issue_output(at - 1, accumulate);
                ptx::wgmma_wait<0>();
                ptx::pin(o);
                give_back_v(at - 1);
                finish(sequence - B.consumers);
                return work;
            }
            wait_k();
            order_wait();
            ptx::wgmma_fence();
            issue_output(at - 1, accumulate);
            issue_scores();
            order_pass();
            ptx::wgmma_wait<1>();
            ptx::pin(o);
            give_back_v(at - 1);
            finish(sequence - B.consumers);
            ptx::wgmma_wait<0>();
            ptx::pin(s);
            first_block(work);
        }
    }

    // A warpgroup without rows still takes part in the tile: it passes the turn and gives the stages back. No product keeps its
    // warps together here: a stage given back before every warp has seen it full could be full again, one lap on, and the late
    // warp would wait for a phase that nobody completes.
    IKBO_DEVICE void pass(int blocks) {
        for (int j = 0; j < blocks; ++j) {
            wait_k();
            order_wait();
            order_pass();
            give_back_k();
            wait_v(at);
            ptx::named_barrier_sync(group_barrier(), 128);
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
            if (!B.stores && work.blocks == 0) finish_without_keys(sequence);
            else pass(work.blocks);
            if constexpr (B.stores) stage_nothing(sequence);
            give_back_unit(true);
            sequence += B.consumers;
            work = wait_unit();
        }
        if constexpr (B.stores) stage_nothing(sequence);
        else if (group_thread() == 0) ptx::copies_written<0>();
    }
};

} // namespace ikbo
