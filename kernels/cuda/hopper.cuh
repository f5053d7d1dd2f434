// Wrappers like those of ptx.cuh over what needs sm_90a: clusters, mbarrier, the copy engine, stmatrix, what goes with wgmma.
//
// Inside a cluster an address of shared memory names the executing block's own copy. Barriers ("mbarrier") are 8-byte objects in
// shared memory, also passed by address.
#pragma once

#include <cuda.h>

#include "ptx.cuh"

namespace ptx {

// ---------------------------------------------------------------------------------------------------------------------
// Warps, registers

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
// Matrices of 8 x 8 16-bit elements to shared memory; lanes 8i..8i+7 give the row addresses of matrix i

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

}  // namespace ptx
