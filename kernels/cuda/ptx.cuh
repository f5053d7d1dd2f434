// Thin wrappers over the PTX that the kernels use: one instruction (or one fixed idiom) each, no policy. Here what sm_80 has, and
// dependent launches (sm_90); hopper.cuh has the rest of Hopper.
//
// Addresses of shared memory are 32-bit values of the shared window (see `shared_address`).
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#define IKBO_DEVICE __device__ __forceinline__

namespace ptx {

// ---------------------------------------------------------------------------------------------------------------------
// Addresses, lanes

IKBO_DEVICE uint32_t shared_address(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

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
// Named barriers

// Hardware barrier `id` (1..15; 0 is __syncthreads) among `threads` threads, a multiple of 32.
IKBO_DEVICE void named_barrier_sync(int id, int threads) { asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory"); }
IKBO_DEVICE void named_barrier_arrive(int id, int threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

// ---------------------------------------------------------------------------------------------------------------------
// Matrices of 8 x 8 16-bit elements between registers and shared memory; lanes 8i..8i+7 give the row addresses of matrix i

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
// Warp-wide products, asynchronous copies

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
