// Attention forward for sm_90a: warp-specialized, persistent, K and V read once per cluster.
//
//   out[b, q, h] = softmax(scale * Q[b, q, h] K[u(b), :, h / group]^T) V[u(b), :, h / group]
//
// Work: tiles of the plan (attention.h), dealt to the clusters in turn. Unit i of a tile goes to block i % cluster, warpgroup
// i / cluster. Each block of a cluster loads its share of every block of K and V and multicasts it.
//
// Roles: warpgroups 0 to consumers - 1 compute (attention_compute.cuh); the last one loads (attention_load.cuh): warp 0 K,
// warp 1 V, warp 2 the units, and in builds for few keys warp 3 stores what the others stage.
//
// Budgets               registers compute / load   shared memory
//   d128, 128 keys      232 / 40                   K, V 2 stages x 32 KB each, Q 4 x 16 KB, O 2 x 16 KB, table 2 KB: 226 KB
//   d64, 128 keys       160 / 32, 3 warpgroups     K, V 4 stages x 16 KB each, Q 6 x 8 KB, O 3 x 8 KB, table 3 KB: 203 KB
#include "attention_compute.cuh"

namespace ikbo {
namespace {

template <typename T, AttentionBuild B>
IKBO_DEVICE void attention(const CUtensorMap *q, const CUtensorMap *k, const CUtensorMap *v, const CUtensorMap *out,
                           const AttentionParams &p) {
    using Smem = AttentionShared<B>;
    extern __shared__ __align__(1024) uint8_t memory[];
    const uint32_t shared = ptx::shared_address(memory);
    AttentionUnit *const units = reinterpret_cast<AttentionUnit *>(memory + Smem::units);
    const int group = ptx::warpgroup_index();
    if (threadIdx.x == 0) {
        for (const CUtensorMap *map : {q, k, v, out}) ptx::prefetch_tensor_map(map);
        if (shared % 1024 != 0) asm volatile("trap;");
        for (int i = 0; i < B.stages; ++i) {
            ptx::barrier_init(shared + Smem::k_full + 8 * i, 1);
            ptx::barrier_init(shared + Smem::v_full + 8 * i, 1);
            ptx::barrier_init(shared + Smem::k_empty + 8 * i, B.consumers * B.cluster);
            ptx::barrier_init(shared + Smem::v_empty + 8 * i, B.consumers * B.cluster);
        }
        for (int i = 0; i < B.q_slots; ++i) {
            ptx::barrier_init(shared + Smem::q_full + 8 * i, 1);
            ptx::barrier_init(shared + Smem::q_empty + 8 * i, 1);
        }
        for (int w = 0; B.stores && w < B.consumers; ++w) {
            ptx::barrier_init(shared + Smem::staged + 8 * w, 4); // warps
            ptx::barrier_init(shared + Smem::stored + 8 * w, 1);
        }
        ptx::fence_barrier_init();
    }
    __syncthreads();
    if constexpr (B.cluster > 1) ptx::cluster_sync();
    ptx::wait_for_previous_grid(); // the plan, where it was launched just before

    if (group == B.consumers) {
        ptx::fewer_registers<B.consumers == 2 ? 40 : 32>();
        const int warp = static_cast<int>(threadIdx.x) / 32 % 4;
        if (warp == 0) load_keys<B>(k, p, shared + Smem::k, shared + Smem::k_full, shared + Smem::k_empty);
        if (warp == 1) load_keys<B>(v, p, shared + Smem::v, shared + Smem::v_full, shared + Smem::v_empty);
        if (warp == 2) load_units<B>(q, p, units, shared + Smem::q, shared + Smem::q_full, shared + Smem::q_empty);
        if constexpr (B.stores) {
            if (warp == 3 && ptx::elect_one()) store_units<B>(out, p, units, shared);
            __syncwarp();
        }
        // No block leaves while another one still copies into it or arrives at its barriers.
        if constexpr (B.cluster > 1) ptx::cluster_sync();
    } else {
        ptx::more_registers<B.consumers == 2 ? 232 : 160>();
        AttentionConsumer<T, B> consumer(p, out, shared, units, group);
        consumer.run();
        if constexpr (B.cluster > 1) ptx::cluster_sync();
    }
}

} // namespace
} // namespace ikbo

#define IKBO_ATTENTION(name, T, build)                                                                                       \
    extern "C" __global__ void __launch_bounds__(ikbo::build.threads(), 1) name(                                             \
        const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k, const __grid_constant__ CUtensorMap v, \
        const __grid_constant__ CUtensorMap out, const __grid_constant__ ikbo::AttentionParams p) {                          \
        ikbo::attention<T, ikbo::build>(&q, &k, &v, &out, p);                                                                \
    }
#define IKBO_ATTENTION_TYPES(build)                           \
    IKBO_ATTENTION(ikbo_##build##_bf16, __nv_bfloat16, build) \
    IKBO_ATTENTION(ikbo_##build##_fp16, __half, build)

IKBO_ATTENTION_TYPES(attention_d128)
IKBO_ATTENTION_TYPES(attention_d128_c2)
IKBO_ATTENTION_TYPES(attention_d128_c2_short)
IKBO_ATTENTION_TYPES(attention_d64)
IKBO_ATTENTION_TYPES(attention_d64_c2)
