// Thin wrappers over the PTX that the kernels use: one instruction (or one fixed idiom) each, no policy.
//
// Addresses of shared memory are 32-bit values of the shared window (see `shared_address`); inside a cluster the same value
// names the executing block's own copy. Barriers ("mbarrier") are 8-byte objects in shared memory, also passed by address.
// Everything from `setmaxnreg` on needs sm_90a; the section at the end (ldmatrix, mma.sync, cp.async) needs sm_80.
#pragma once

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#define IKBO_DEVICE __device__ __forceinline__

namespace ptx {

// ---------------------------------------------------------------------------------------------------------------------
// Addresses, lanes

IKBO_DEVICE uint32_t shared_address(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// True in exactly one lane of a converged warp; the compiler knows that the branch is taken by one lane.
IKBO_DEVICE bool elect_one() {
    uint32_t elected;
    asm volatile(
        "{\n.reg .pred p;\n"
        "elect.sync _|p, 0xffffffff;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(elected));
    return elected != 0;
}

// The warpgroup of this thread as a value that the compiler knows to be uniform over the warp.
IKBO_DEVICE int warpgroup_index() { return __shfl_sync(0xffffffffu, static_cast<int>(threadIdx.x) / 128, 0); }

// Instrumented builds (IKBO_DELAY=cycles) make roles fall behind at random, which brings out missing synchronization. By
// spinning: a sleep ends when a coarse timer ticks.
IKBO_DEVICE void fall_behind() {
#ifdef IKBO_DELAY
    const uint32_t start = static_cast<uint32_t>(clock64());
    const uint32_t mixed = (start + blockIdx.x * 977 + threadIdx.x / 32 * 131) * 2654435761u;
    if (mixed >> 30 != 0) return;
    while (static_cast<uint32_t>(clock64()) - start < mixed % (IKBO_DELAY)) {
    }
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Arithmetic

// Two floats rounded to nearest even and packed; `low` lands in bits 0..15.
template <typename T>
IKBO_DEVICE uint32_t pack(float low, float high) {
    static_assert(std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>);
    uint32_t packed;
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    } else {
        asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(packed) : "f"(high), "f"(low));
    }
    return packed;
}

// The inverse of `pack` (exact).
template <typename T>
IKBO_DEVICE float2 unpack(uint32_t packed) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        return {__uint_as_float(packed << 16), __uint_as_float(packed & 0xffff0000u)};
    } else {
        return __half22float2(*reinterpret_cast<const __half2 *>(&packed));
    }
}

// 2^x, about 2 ulp, subnormal results flushed to zero; ex2(-inf) = 0.
IKBO_DEVICE float ex2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// log2(x), about 1 ulp; lg2(0) = -inf.
IKBO_DEVICE float lg2(float x) {
    float y;
    asm("lg2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// ---------------------------------------------------------------------------------------------------------------------
// Global memory

// 16 bytes through L2, never through the non-coherent path: legal for data that the running grid writes.
IKBO_DEVICE uint4 load_global_16(const void *from) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(from));
    return v;
}

IKBO_DEVICE uint32_t load_acquire(const uint32_t *from) {
    uint32_t v;
    asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(from) : "memory");
    return v;
}

// Adds with release order at device scope: what this thread (and those it synchronized with) wrote is visible first.
IKBO_DEVICE void add_release(uint32_t *to, uint32_t value) {
    asm volatile("red.release.gpu.global.add.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

// Waits until `*counter` is `count`; what was written before the additions is visible then. Built with IKBO_SPIN_LIMIT=n, it
// traps after n attempts.
IKBO_DEVICE void await_count(const uint32_t *counter, uint32_t count) {
#ifdef IKBO_SPIN_LIMIT
    for (uint32_t attempt = 0; load_acquire(counter) < count; ++attempt) {
        if (attempt > IKBO_SPIN_LIMIT) asm volatile("trap;");
    }
#else
    while (load_acquire(counter) < count) {
    }
#endif
}

// ---------------------------------------------------------------------------------------------------------------------
// Dependent launches (programmatic stream serialization)

// Waits until the grids that this one depends on have finished and flushed.
IKBO_DEVICE void wait_for_previous_grid() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
// Lets the dependent grid start once every block has called this or exited.
IKBO_DEVICE void let_next_grid_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

// ---------------------------------------------------------------------------------------------------------------------
// Registers, named barriers

// `Count` registers per thread from here on, for the whole warpgroup. Needs __launch_bounds__(threads, 1), one role per
// branch, and a sum over the warpgroups that fits the register file; asking for too many hangs.
template <int Count>
IKBO_DEVICE void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(Count));
}
template <int Count>
IKBO_DEVICE void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(Count));
}

// Hardware barrier `id` (1..15; 0 is __syncthreads) among `threads` threads, a multiple of 32.
IKBO_DEVICE void named_barrier_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
IKBO_DEVICE void named_barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---------------------------------------------------------------------------------------------------------------------
// Clusters

IKBO_DEVICE uint32_t cluster_rank() {
    uint32_t rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// Barrier over all threads of the cluster. The unaligned form: callers may have diverged within a warp.
IKBO_DEVICE void cluster_sync() {
    asm volatile(
        "barrier.cluster.arrive.release;\n"
        "barrier.cluster.wait.acquire;" ::
            : "memory");
}

// The shared::cluster address of the same offset in block `rank`.
IKBO_DEVICE uint32_t map_to_block(uint32_t address, uint32_t rank) {
    uint32_t mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}

// ---------------------------------------------------------------------------------------------------------------------
// mbarrier

IKBO_DEVICE void barrier_init(uint32_t barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

// After the last barrier_init and before the cluster barrier: makes the barriers usable by copies and by other blocks.
IKBO_DEVICE void fence_barrier_init() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

// One arrival that also announces `bytes` of copies; call before issuing them. Clipped boxes count in full.
IKBO_DEVICE void barrier_arrive_expect(uint32_t barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

IKBO_DEVICE void barrier_arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// Arrival on the same barrier of block `rank`. Default semantics on purpose: `.release.cluster` compiles to a memory barrier
// of the whole GPU, and the data that the arrival hands over was read by wgmma or is ordered by the wait before it.
IKBO_DEVICE void barrier_arrive_at(uint32_t barrier, uint32_t rank) {
    asm volatile(
        "{\n.reg .b32 remote;\n"
        "mapa.shared::cluster.u32 remote, %0, %1;\n"
        "mbarrier.arrive.shared::cluster.b64 _, [remote];\n}" ::"r"(barrier),
        "r"(rank)
        : "memory");
}

// One attempt (the hardware sleeps for a while inside it): has the phase of this parity completed?
IKBO_DEVICE bool barrier_try_wait(uint32_t barrier, uint32_t parity) {
    uint32_t done;
    asm volatile(
        "{\n.reg .pred p;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(done)
        : "r"(barrier), "r"(parity)
        : "memory");
    return done != 0;
}

// Waits until the phase of this parity has completed. A fresh barrier counts as having completed parity 1, so that a
// producer's first wait for an empty slot passes. Built with IKBO_SPIN_LIMIT=n, a wait traps after n attempts instead of
// hanging the card.
IKBO_DEVICE void barrier_wait(uint32_t barrier, uint32_t parity) {
#ifdef IKBO_SPIN_LIMIT
    for (uint32_t attempt = 0; !barrier_try_wait(barrier, parity); ++attempt) {
        if (attempt > IKBO_SPIN_LIMIT) asm volatile("trap;");
    }
#else
    asm volatile(
        "{\n.reg .pred p;\n"
        "WAIT:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
        "@p bra.uni DONE;\n"
        "bra.uni WAIT;\n"
        "DONE:\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
#endif
}

// A position in a ring of `Slots` buffers: which slot, and which parity its barriers have in this lap.
template <int Slots>
struct Ring {
    int slot = 0;
    uint32_t parity = 0;
    IKBO_DEVICE void advance() {
        if (++slot == Slots) {
            slot = 0;
            parity ^= 1;
        }
    }
};

// ---------------------------------------------------------------------------------------------------------------------
// Bulk tensor copies (TMA). `map` is a __grid_constant__ kernel parameter. Coordinates are in elements, innermost first;
// they may lie past the tensor's ends: loads fill zeros there, stores skip. Only loads may begin before it, and what is stored
// must have rows of multiples of 16 bytes.

IKBO_DEVICE void prefetch_tensor_map(const CUtensorMap *map) {
    asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

IKBO_DEVICE void tma_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
            to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1)
        : "memory");
}

IKBO_DEVICE void tma_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1, int c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], [%2];" ::"r"(
            to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

IKBO_DEVICE void tma_load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int c0, int c1, int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
        "[%2];" ::"r"(to),
        "l"(map), "r"(barrier), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

// Multicast: the box lands at the same offset in every block whose bit is set in `blocks`, and completes on the barrier at
// the same offset there.
IKBO_DEVICE void tma_load_multicast(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint16_t blocks, int c0, int c1) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5}], [%2], %3;" ::"r"(to),
        "l"(map), "r"(barrier), "h"(blocks), "r"(c0), "r"(c1)
        : "memory");
}

IKBO_DEVICE void tma_load_multicast(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint16_t blocks, int c0, int c1,
                                    int c2) {
    asm volatile(
        "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5, %6}], [%2], %3;" ::"r"(to),
        "l"(map), "r"(barrier), "h"(blocks), "r"(c0), "r"(c1), "r"(c2)
        : "memory");
}

IKBO_DEVICE void tma_load_multicast(uint32_t to, const CUtensorMap *map, uint32_t barrier, uint16_t blocks, int c0, int c1,
                                    int c2, int c3) {
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%4, %5, %6, %7}], [%2], %3;" ::"r"(to),
        "l"(map), "r"(barrier), "h"(blocks), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
        : "memory");
}

// Stores read shared memory asynchronously: fence_shared_for_copies in each writing thread and a barrier come first, and
// the buffer is free again only after copies_read.
IKBO_DEVICE void tma_store(const CUtensorMap *map, uint32_t from, int c0, int c1) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map), "r"(from),
                 "r"(c0), "r"(c1)
                 : "memory");
}

IKBO_DEVICE void tma_store(const CUtensorMap *map, uint32_t from, int c0, int c1, int c2) {
    asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1), "r"(c2)
                 : "memory");
}

IKBO_DEVICE void tma_store(const CUtensorMap *map, uint32_t from, int c0, int c1, int c2, int c3) {
    asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
                 "r"(from), "r"(c0), "r"(c1), "r"(c2), "r"(c3)
                 : "memory");
}

IKBO_DEVICE void copies_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
// All but the `Pending` newest groups of this thread's stores have read their shared memory.
template <int Pending>
IKBO_DEVICE void copies_read() {
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}
// ... have been written; needed before the block exits or tells others.
template <int Pending>
IKBO_DEVICE void copies_written() {
    asm volatile("cp.async.bulk.wait_group %0;" ::"n"(Pending) : "memory");
}

// Orders this thread's ordinary writes to shared memory before later reads by copies and wgmma.
IKBO_DEVICE void fence_shared_for_copies() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---------------------------------------------------------------------------------------------------------------------
// wgmma support; the instructions themselves are in wgmma.cuh

// Before the first wgmma of a group when registers or shared memory were touched by ordinary instructions.
IKBO_DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
IKBO_DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int Pending>
IKBO_DEVICE void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Pending) : "memory");
}

// Pins accumulators at this point of the program. After the wgmma_wait<0> that completes them and after loading them by
// ordinary instructions: without it ptxas moves accesses over the wait and serializes every wgmma (C7514).
template <int Count>
IKBO_DEVICE void pin(float (&d)[Count]) {
#pragma unroll
    for (int i = 0; i < Count; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Descriptor of an operand of 16-bit elements in shared memory, tile aligned to 1024 bytes, 128-byte swizzle.
//   K-major (rows of 64 k = 128 bytes): next k16 is +32 bytes. `block_stride` is ignored.
//   MN-major (rows are k, each 64 m/n = 128 bytes): next k16 is +2048 bytes; `block_stride` is the distance in bytes between
//   consecutive blocks of 64 m/n.
// Groups of 8 rows lie 1024 bytes apart in both.
IKBO_DEVICE uint64_t swizzled_descriptor(uint32_t address, uint32_t block_stride = 16) {
    constexpr uint64_t swizzle_128 = 1ull << 62;
    return static_cast<uint64_t>((address & 0x3ffff) >> 4) | static_cast<uint64_t>(block_stride >> 4) << 16 |
           static_cast<uint64_t>(1024 >> 4) << 32 | swizzle_128;
}
// What to add to a descriptor to move its address.
IKBO_DEVICE constexpr uint64_t descriptor_step(int bytes) { return static_cast<uint64_t>(bytes >> 4); }

// ---------------------------------------------------------------------------------------------------------------------
// Matrices of 8 x 8 16-bit elements between registers and shared memory; lanes 8i..8i+7 give the row addresses of matrix i

IKBO_DEVICE void store_matrix_x4(uint32_t row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(r0), "r"(r1), "r"(r2),
                 "r"(r3)
                 : "memory");
}

IKBO_DEVICE void store_matrix_x4_transposed(uint32_t row, uint32_t r0, uint32_t r1, uint32_t r2, uint32_t r3) {
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(row), "r"(r0), "r"(r1),
                 "r"(r2), "r"(r3)
                 : "memory");
}

IKBO_DEVICE void load_matrix_x4(uint32_t row, uint32_t (&r)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}

IKBO_DEVICE void load_matrix_x4_transposed(uint32_t row, uint32_t (&r)[4]) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(row)
                 : "memory");
}

// ---------------------------------------------------------------------------------------------------------------------
// sm_80: warp-wide products and asynchronous copies

// d[16 x 8] += a[16 x 16] b[16 x 8], fp32 accumulation.
template <typename T>
IKBO_DEVICE void mma_16x8x16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
    if constexpr (std::is_same_v<T, __nv_bfloat16>) {
        asm(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    } else {
        asm(
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
    }
}

// 16 bytes from global to shared memory, of which `valid` (0..16) are read and the rest becomes zero. Both sides 16-byte
// aligned.
IKBO_DEVICE void copy_16(uint32_t to, const void *from, int valid) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
}
// 16 bytes, or nothing at all: neither side is touched then.
IKBO_DEVICE void copy_16_if(bool copies, uint32_t to, const void *from) {
    asm volatile(
        "{\n.reg .pred p;\n"
        "setp.ne.b32 p, %2, 0;\n"
        "@p cp.async.cg.shared.global [%0], [%1], 16;\n}" ::"r"(to),
        "l"(from), "r"(static_cast<int>(copies))
        : "memory");
}
// As copy_16 for 4 bytes.
IKBO_DEVICE void copy_4(uint32_t to, const void *from, int valid) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(to), "l"(from), "r"(valid) : "memory");
}
IKBO_DEVICE void store_shared_16(uint32_t to, uint4 v) {
    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}
IKBO_DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int Pending>
IKBO_DEVICE void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(Pending) : "memory");
}

}  // namespace ptx
