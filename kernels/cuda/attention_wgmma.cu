// Attention forward for sm_90a with one role: every block loads, computes and stores by itself. The step between
// attention_mma.cu and attention_ws.cu, kept to show what roles, shared K and V and overlap are worth.
//
// One warpgroup for 64 rows of one candidate and one key head, as in attention_mma.cu; blocks of 128 keys. Q, K and V pass
// through the copy engine, one buffer each: the next K is on its way during softmax and P V, the next V during Q K^T. The
// blocks that share a multiprocessor overlap by chance. Online softmax in fp32, P rounded to T.
//
// Shared memory: Q 64 rows (then O), K and V 128 rows each: 80 KB at D = 128 (two blocks on a multiprocessor), 40 KB at 64.
// Registers: 154 at D = 128, 122 at 64.
#include "attention_rows.cuh"

namespace ikbo {
namespace {

using ptx::Major;

template <typename T, int D>
struct Block {
    static constexpr int kKeys = attention_single_keys;
    static constexpr int kHalves = D / 64;
    static constexpr int kRowHalf = attention_unit_rows * 128, kKeyHalf = kKeys * 128;
    static constexpr int kQ = 0, kK = kHalves * kRowHalf, kV = kK + kHalves * kKeyHalf;
    static constexpr int kQFull = kV + kHalves * kKeyHalf, kKFull = kQFull + 8, kVFull = kKFull + 8;
    static_assert(kVFull + 8 == attention_single_shared_bytes(D));

    const CUtensorMap *const q_map, *const k_map, *const v_map, *const out_map;
    const AttentionLookupParams &p;
    const uint32_t shared;
    const int thread = static_cast<int>(threadIdx.x);
    int candidate, key_head, first_query, user, first_key, keys;

    IKBO_DEVICE void load_q() const {
        ptx::barrier_arrive_expect(shared + kQFull, p.box_queries * p.group * 128 * kHalves);
        for (int h = 0; h < kHalves; ++h)
            ptx::tma_load(shared + kQ + h * kRowHalf, q_map, shared + kQFull, 64 * h, key_head * p.group, first_query,
                          candidate);
    }
    IKBO_DEVICE void load_keys(const CUtensorMap *map, uint32_t buffer, uint32_t full, int block) const {
        ptx::barrier_arrive_expect(full, kHalves * kKeyHalf);
        for (int h = 0; h < kHalves; ++h)
            ptx::tma_load(buffer + h * kKeyHalf, map, full, 64 * h, key_head, first_key + block * kKeys,
                          p.key_offsets == nullptr ? user : 0);
    }

    IKBO_DEVICE void run() const {
        if (thread == 0) {
            for (int i = 0; i < 3; ++i) ptx::barrier_init(shared + kQFull + 8 * i, 1);
            ptx::fence_barrier_init();
        }
        __syncthreads();
        const int blocks = (keys + kKeys - 1) / kKeys;
        if (thread == 0 && blocks > 0) {
            load_q();
            load_keys(k_map, shared + kK, shared + kKFull, 0);
            load_keys(v_map, shared + kV, shared + kVFull, 0);
        }
        const float scale = p.scale * kLog2E;
        const uint64_t q = ptx::swizzled_descriptor(shared + kQ), k = ptx::swizzled_descriptor(shared + kK);
        const uint64_t v = ptx::swizzled_descriptor(shared + kV, kKeyHalf);
        float s[kKeys / 2], o[D / 2];
        // Finite, so that a row of -inf gives exponentials of -inf and not of NaN.
        float reference[2] = {-1e30f, -1e30f}, sum[2] = {0, 0};
        uint32_t probability[kKeys / 16][4];
#pragma unroll
        for (int i = 0; i < D / 2; ++i) o[i] = 0;
        if (blocks > 0) ptx::barrier_wait(shared + kQFull, 0);
#pragma unroll 1
        for (int j = 0; j < blocks; ++j) {
            ptx::barrier_wait(shared + kKFull, j % 2);
            ptx::wgmma_fence();
#pragma unroll
            for (int i = 0; i < D / 16; ++i)
                ptx::wgmma_ss<T, kKeys, Major::K, Major::K>(s, q + ptx::descriptor_step(i % 4 * 32 + i / 4 * kRowHalf),
                                                            k + ptx::descriptor_step(i % 4 * 32 + i / 4 * kKeyHalf), i > 0);
            ptx::wgmma_commit();
            ptx::wgmma_wait<0>();
            ptx::pin(s);
            __syncthreads();
            if (thread == 0 && j + 1 < blocks) load_keys(k_map, shared + kK, shared + kKFull, j + 1);

            const int tail = keys - j * kKeys;
            if (tail < kKeys) mask_scores(s, tail, thread);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                const float top = fmaxf(reference[h], row_max(s, h) * scale);
                const float factor = ptx::ex2(reference[h] - top);
                reference[h] = top;
                sum[h] *= factor;
                scale_row(o, h, factor);
            }
            float block[2];
            exponentials(s, scale, reference, block);
            sum[0] += block[0];
            sum[1] += block[1];
            pack_fragments<T>(s, probability);

            ptx::barrier_wait(shared + kVFull, j % 2);
            if (tail < kKeys && p.key_offsets != nullptr) {
                clear_rows<kKeys, kHalves>(shared + kV, tail, thread);
                __syncthreads();
            }
            ptx::pin(o);
            ptx::wgmma_fence();
#pragma unroll
            for (int i = 0; i < kKeys / 16; ++i)
                ptx::wgmma_rs<T, D, Major::MN>(o, probability[i], v + ptx::descriptor_step(i * 2048), true);
            ptx::wgmma_commit();
            ptx::wgmma_wait<0>();
            ptx::pin(o);
            __syncthreads();
            if (thread == 0 && j + 1 < blocks) load_keys(v_map, shared + kV, shared + kVFull, j + 1);
        }
        store(o, reference, sum);
    }

    IKBO_DEVICE void store(const float (&o)[D / 2], const float (&reference)[2], const float (&sum)[2]) const {
        float weight[2];
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            const float total = quad_sum(sum[h]);
            weight[h] = keys == 0 ? 0 : 1 / total;
            const int row = thread / 32 * 16 + thread % 32 / 4 + 8 * h;
            const int query = first_query + row / p.group;
            if (p.lse == nullptr || thread % 4 != 0 || row >= p.box_queries * p.group || query >= p.queries) continue;
            const int64_t head = static_cast<int64_t>(candidate) * p.heads + key_head * p.group + row % p.group;
            p.lse[head * p.queries + query] = keys == 0 ? -INFINITY : (reference[h] + ptx::lg2(total)) * kLn2;
        }
        stage_rows<T>(o, weight, shared + kQ, thread);
        ptx::fence_shared_for_copies();
        __syncthreads();
        if (thread == 0) {
            for (int h = 0; h < kHalves; ++h)
                ptx::tma_store(out_map, shared + kQ + h * kRowHalf, 64 * h, key_head * p.group, first_query, candidate);
            ptx::copies_commit();
            ptx::copies_written<0>();
        }
    }
};

template <typename T, int D>
IKBO_DEVICE void attention(const CUtensorMap *q, const CUtensorMap *k, const CUtensorMap *v, const CUtensorMap *out,
                           const AttentionLookupParams &p) {
    extern __shared__ __align__(1024) uint8_t memory[];
    Block<T, D> block{q, k, v, out, p, ptx::shared_address(memory)};
    const int blocks_of_head = (p.queries + p.box_queries - 1) / p.box_queries;
    const int index = static_cast<int>(blockIdx.x);
    block.first_query = index % blocks_of_head * p.box_queries;
    block.key_head = index / blocks_of_head % p.key_heads;
    block.candidate = index / blocks_of_head / p.key_heads;
    block.user = p.user_of[block.candidate];
    block.first_key = p.key_offsets == nullptr ? 0 : p.key_offsets[block.user];
    block.keys = p.key_offsets == nullptr ? p.keys : p.key_offsets[block.user + 1] - block.first_key;
    block.run();
}

} // namespace
} // namespace ikbo

#define IKBO_ATTENTION(name, T, width)                                                                                       \
    extern "C" __global__ void __launch_bounds__(128, 2) name(                                                               \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v, \
        const __grid_constant__ CUtensorMap out, const ikbo::AttentionLookupParams p) {                                      \
        ikbo::attention<T, width>(&q, &k, &v, &out, p);                                                                      \
    }

IKBO_ATTENTION(ikbo_attention_wgmma_bf16_64, __nv_bfloat16, 64)
IKBO_ATTENTION(ikbo_attention_wgmma_fp16_64, __half, 64)
IKBO_ATTENTION(ikbo_attention_wgmma_bf16_128, __nv_bfloat16, 128)
IKBO_ATTENTION(ikbo_attention_wgmma_fp16_128, __half, 128)
