// One small kernel for each group of wrappers in kernels/cuda (ptx.cuh, hopper.cuh, wgmma.cuh); wrappers_test.cc says what each must
// give.
#include "wgmma.cuh"

using namespace ptx;

namespace {

constexpr int kTile = 64 * 128;  // bytes of 64 rows of 64 elements

IKBO_DEVICE uint32_t shared_base() {
    extern __shared__ __align__(1024) uint8_t memory[];
    return (shared_address(memory) + 1023) & ~1023u;
}
IKBO_DEVICE uint32_t load_word(uint32_t address) {
    uint32_t word;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(word) : "r"(address) : "memory");
    return word;
}
IKBO_DEVICE void store_word(uint32_t address, uint32_t word) {
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}

// d[64 x N] = a b over 64 k. A comes from shared memory, or through ldmatrix from registers.
template <typename T, int N, Major A, Major B, bool Registers>
IKBO_DEVICE void multiply(const CUtensorMap *a_map, const CUtensorMap *b_map, float *out) {
    constexpr int steps = 4, b_bytes = N * 128;
    const uint32_t a = shared_base(), b = a + kTile, barrier = b + 4 * kTile;
    if (threadIdx.x == 0) {
        barrier_init(barrier, 1);
        fence_barrier_init();
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_arrive_expect(barrier, kTile + b_bytes);
        tma_load(a, a_map, barrier, 0, 0);
        for (int n = 0; n < (B == Major::MN ? N : 1); n += 64) tma_load(b + n * 128, b_map, barrier, n, 0);
    }
    barrier_wait(barrier, 0);
    uint32_t fragment[steps][4];
    if constexpr (Registers) {
        const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane % 16;
#pragma unroll
        for (int step = 0; step < steps; ++step)
            load_matrix_x4(a + row * 128 + ((2 * step + lane / 16) ^ (row & 7)) * 16, fragment[step]);
    }
    float d[N / 2];
    wgmma_fence();
#pragma unroll
    for (int step = 0; step < steps; ++step) {
        const uint64_t second =
            swizzled_descriptor(b, kTile) + step * descriptor_step(B == Major::K ? 32 : 16 * 128);
        if constexpr (Registers) {
            wgmma_rs<T, N, B>(d, fragment[step], second, step != 0);
        } else {
            wgmma_ss<T, N, A, B>(d, swizzled_descriptor(a) + step * descriptor_step(A == Major::K ? 32 : 16 * 128),
                                 second, step != 0);
        }
    }
    wgmma_commit();
    wgmma_wait<0>();
    pin(d);
#pragma unroll
    for (int i = 0; i < N / 2; ++i) out[threadIdx.x * (N / 2) + i] = d[i];
}

IKBO_DEVICE void dump(uint32_t from, uint32_t *to, int bytes) {
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) to[i] = load_word(from + 4 * i);
}

template <int Rank>
IKBO_DEVICE void load(uint32_t to, const CUtensorMap *map, uint32_t barrier, int4 at) {
    if constexpr (Rank == 2) tma_load(to, map, barrier, at.x, at.y);
    if constexpr (Rank == 3) tma_load(to, map, barrier, at.x, at.y, at.z);
    if constexpr (Rank == 4) tma_load(to, map, barrier, at.x, at.y, at.z, at.w);
}
template <int Rank>
IKBO_DEVICE void load_multicast(uint32_t to, const CUtensorMap *map, uint32_t barrier, int4 at) {
    if constexpr (Rank == 2) tma_load_multicast(to, map, barrier, 0b11, at.x, at.y);
    if constexpr (Rank == 3) tma_load_multicast(to, map, barrier, 0b11, at.x, at.y, at.z);
    if constexpr (Rank == 4) tma_load_multicast(to, map, barrier, 0b11, at.x, at.y, at.z, at.w);
}
template <int Rank>
IKBO_DEVICE void store(const CUtensorMap *map, uint32_t from, int4 at) {
    if constexpr (Rank == 2) tma_store(map, from, at.x, at.y);
    if constexpr (Rank == 3) tma_store(map, from, at.x, at.y, at.z);
    if constexpr (Rank == 4) tma_store(map, from, at.x, at.y, at.z, at.w);
}

// A box of 16 rows of 64 elements to shared memory, its image to `image`, its sign bits flipped, and back to another place.
template <int Rank>
IKBO_DEVICE void copy_box(const CUtensorMap *from, const CUtensorMap *to, int4 at, int4 target, uint32_t *image) {
    constexpr int bytes = 16 * 128;
    const uint32_t box = shared_base(), barrier = box + bytes;
    if (threadIdx.x == 0) {
        prefetch_tensor_map(from);
        barrier_init(barrier, 1);
        fence_barrier_init();
    }
    __syncthreads();
    if (threadIdx.x < 32 && elect_one()) {
        barrier_arrive_expect(barrier, bytes);
        load<Rank>(box, from, barrier, at);
    }
    barrier_wait(barrier, 0);
    dump(box, image, bytes);
    __syncthreads();
    for (int i = threadIdx.x; i < bytes / 4; i += blockDim.x) store_word(box + 4 * i, load_word(box + 4 * i) ^ 0x80008000u);
    fence_shared_for_copies();
    __syncthreads();
    if (threadIdx.x == 0) {
        store<Rank>(to, box, target);
        copies_commit();
        copies_read<0>();
        copies_written<0>();
    }
}

// Two blocks load half of a box each and multicast it to both; each then frees the buffer in both.
template <int Rank>
IKBO_DEVICE void share_box(const CUtensorMap *from, int4 at, int4 second, uint32_t *images) {
    constexpr int half = 8 * 128;
    const uint32_t box = shared_base(), full = box + 2 * half, free = full + 8, rank = cluster_rank();
    if (threadIdx.x == 0) {
        barrier_init(full, 1);
        barrier_init(free, 2);
        fence_barrier_init();
    }
    cluster_sync();
    if (threadIdx.x == 0) {
        barrier_arrive_expect(full, 2 * half);
        load_multicast<Rank>(box + rank * half, from, full, rank == 0 ? at : second);
    }
    barrier_wait(full, 0);
    dump(box, images + rank * (2 * half / 4), 2 * half);
    __syncthreads();
    if (threadIdx.x < 2) barrier_arrive_at(free, threadIdx.x);
    barrier_wait(free, 0);
    cluster_sync();
}

template <typename T>
IKBO_DEVICE void multiply_warp(const uint32_t *a, const uint32_t *b, float *out) {
    const int lane = threadIdx.x;
    float d[4] = {};
    const uint32_t fragment[4] = {a[4 * lane], a[4 * lane + 1], a[4 * lane + 2], a[4 * lane + 3]};
    mma_16x8x16<T>(d, fragment, b[2 * lane], b[2 * lane + 1]);
    for (int i = 0; i < 4; ++i) out[4 * lane + i] = d[i];
}

template <typename T>
IKBO_DEVICE void convert(const float *in, uint32_t *packed, float *out) {
    const int i = threadIdx.x;
    packed[i] = pack<T>(in[2 * i], in[2 * i + 1]);
    const float2 pair = unpack<T>(packed[i]);
    out[2 * i] = pair.x;
    out[2 * i + 1] = pair.y;
}

}  // namespace

#define IKBO_MULTIPLY(name, T, n, a, b, registers)                                                                     \
    extern "C" __global__ void __launch_bounds__(128, 1)                                                               \
        name(const __grid_constant__ CUtensorMap a_map, const __grid_constant__ CUtensorMap b_map, float *out) {       \
        multiply<T, n, a, b, registers>(&a_map, &b_map, out);                                                          \
    }
// First letter: how A lies (k, m: MN-major, r: registers); second: how B lies.
#define IKBO_N(n)                                                                                                      \
    IKBO_MULTIPLY(multiply_bf16_kk_##n, __nv_bfloat16, n, Major::K, Major::K, false)                                   \
    IKBO_MULTIPLY(multiply_bf16_mk_##n, __nv_bfloat16, n, Major::MN, Major::K, false)                                  \
    IKBO_MULTIPLY(multiply_fp16_kk_##n, __half, n, Major::K, Major::K, false)                                          \
    IKBO_MULTIPLY(multiply_fp16_mk_##n, __half, n, Major::MN, Major::K, false)
#define IKBO_N_OF_BLOCKS(n)                                                                                            \
    IKBO_N(n)                                                                                                          \
    IKBO_MULTIPLY(multiply_bf16_km_##n, __nv_bfloat16, n, Major::K, Major::MN, false)                                  \
    IKBO_MULTIPLY(multiply_bf16_rm_##n, __nv_bfloat16, n, Major::K, Major::MN, true)                                   \
    IKBO_MULTIPLY(multiply_fp16_rm_##n, __half, n, Major::K, Major::MN, true)
IKBO_N(32)
IKBO_N(96)
IKBO_N(160)
IKBO_N(224)
IKBO_N_OF_BLOCKS(64)
IKBO_N_OF_BLOCKS(128)
IKBO_N_OF_BLOCKS(192)
IKBO_N_OF_BLOCKS(256)

#define IKBO_RANK(rank)                                                                                                \
    extern "C" __global__ void copy_box_##rank(const __grid_constant__ CUtensorMap from,                               \
                                               const __grid_constant__ CUtensorMap to, int4 at, int4 target,           \
                                               uint32_t *image) {                                                      \
        copy_box<rank>(&from, &to, at, target, image);                                                                 \
    }                                                                                                                  \
    extern "C" __global__ void share_box_##rank(const __grid_constant__ CUtensorMap from, int4 at, int4 second,        \
                                                uint32_t *images) {                                                    \
        share_box<rank>(&from, at, second, images);                                                                    \
    }
IKBO_RANK(2)
IKBO_RANK(3)
IKBO_RANK(4)

// What one thread sees of a barrier of two arrivals, phase by phase: pairs (parity 0 done, parity 1 done).
extern "C" __global__ void barrier_phases(uint32_t *seen) {
    const uint32_t barrier = shared_base();
    barrier_init(barrier, 2);
    fence_barrier_init();
    const auto look = [&](int at) {
        seen[2 * at] = barrier_try_wait(barrier, 0);
        seen[2 * at + 1] = barrier_try_wait(barrier, 1);
    };
    look(0);
    for (int i = 1; i <= 4; ++i) {
        barrier_arrive(barrier);
        look(i);
    }
    Ring<3> ring;
    for (int i = 0; i < 7; ++i, ring.advance()) seen[10 + i] = ring.slot * 2 + ring.parity;
}

// 16 rows of 32 bytes: four 8 x 8 matrices through stmatrix, read back through ldmatrix, straight and transposed.
extern "C" __global__ void matrices(const uint32_t *in, uint32_t *images, uint32_t *back) {
    const int lane = threadIdx.x;
    const uint32_t plain = shared_base(), turned = plain + 512;
    const uint32_t at = (lane % 16) * 32 + lane / 16 * 16;
    const uint32_t *w = in + 4 * lane;
    store_matrix_x4(plain + at, w[0], w[1], w[2], w[3]);
    store_matrix_x4_transposed(turned + at, w[0], w[1], w[2], w[3]);
    __syncwarp();
    dump(plain, images, 1024);
    uint32_t r[4];
    load_matrix_x4(plain + at, r);
    for (int i = 0; i < 4; ++i) back[4 * lane + i] = r[i];
    load_matrix_x4_transposed(plain + at, r);
    for (int i = 0; i < 4; ++i) back[128 + 4 * lane + i] = r[i];
}

extern "C" __global__ void multiply_warp_bf16(const uint32_t *a, const uint32_t *b, float *out) {
    multiply_warp<__nv_bfloat16>(a, b, out);
}
extern "C" __global__ void multiply_warp_fp16(const uint32_t *a, const uint32_t *b, float *out) {
    multiply_warp<__half>(a, b, out);
}
extern "C" __global__ void convert_bf16(const float *in, uint32_t *packed, float *out) { convert<__nv_bfloat16>(in, packed, out); }
extern "C" __global__ void convert_fp16(const float *in, uint32_t *packed, float *out) { convert<__half>(in, packed, out); }
extern "C" __global__ void exponentials(const float *in, float *powers, float *logarithms) {
    powers[threadIdx.x] = ex2(in[threadIdx.x]);
    logarithms[threadIdx.x] = lg2(powers[threadIdx.x]);
}

// Thread i copies i bytes (0..16) of its 16, then the same in pieces of 4.
extern "C" __global__ void partial_copies(const uint8_t *in, uint32_t *images) {
    const uint32_t base = shared_base(), thread = threadIdx.x;
    for (int i = 0; i < 4; ++i) store_word(base + 16 * thread + 4 * i, ~0u);
    copy_16(base + 16 * thread, in + 16 * thread, static_cast<int>(thread));
    for (int i = 0; i < 4; ++i)
        copy_4(base + 512 + 16 * thread + 4 * i, in + 16 * thread + 4 * i, max(0, min(4, static_cast<int>(thread) - 4 * i)));
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    dump(base, images, 1024);
}

// Thread i copies its 16 bytes unless i is a multiple of 3; beside them, 16 bytes that it stores itself.
extern "C" __global__ void conditional_copies(const uint8_t *in, uint32_t *images) {
    const uint32_t base = shared_base(), thread = threadIdx.x;
    for (int i = 0; i < 4; ++i) store_word(base + 16 * thread + 4 * i, ~0u);
    copy_16_if(thread % 3 != 0, base + 16 * thread, in + 16 * thread);
    copy_commit();
    store_shared_16(base + 512 + 16 * thread, make_uint4(4 * thread, 4 * thread + 1, 4 * thread + 2, 4 * thread + 3));
    copy_wait<0>();
    __syncthreads();
    dump(base, images, 1024);
}

// Each block of a cluster of two reads the other's word at the same offset.
extern "C" __global__ void look_across(uint32_t *out) {
    const uint32_t word = shared_base(), rank = cluster_rank();
    store_word(word, 100 + rank);
    cluster_sync();
    uint32_t seen;
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(seen) : "r"(map_to_block(word, 1 - rank)) : "memory");
    out[rank] = seen;
    cluster_sync();  // no block leaves while the other reads
}

// The last block waits for all others' counts and adds up what they wrote before.
extern "C" __global__ void gather_late(uint32_t *values, uint32_t *counter, uint32_t *out) {
    const uint32_t others = gridDim.x - 1;
    if (blockIdx.x < others) {
        const long long start = clock64();
        while (clock64() - start < 20000 * blockIdx.x) {
        }
        values[blockIdx.x] = 1000 + blockIdx.x;
        fall_behind();
        add_release(counter, 2);
    } else {
        await_count(counter, 2 * others);
        uint32_t sum = 0;
        for (uint32_t i = 0; i < others; ++i) sum += *static_cast<volatile uint32_t *>(values + i);
        *out = sum;
    }
}

// Two warpgroups with many registers and one with few; each of the former waits for the latter's word by a named barrier.
extern "C" __global__ void __launch_bounds__(384, 1) roles(uint32_t *out) {
    const uint32_t base = shared_base();
    const int group = warpgroup_index();
    if (group == 2) {
        fewer_registers<40>();
        store_word(base + 4 * (threadIdx.x % 128), threadIdx.x % 128 * 3);
        named_barrier_arrive(1, 256);
        named_barrier_arrive(2, 256);
    } else {
        more_registers<232>();
        named_barrier_sync(1 + group, 256);
        out[group * 128 + threadIdx.x % 128] = load_word(base + 4 * (127 - threadIdx.x % 128));
    }
}

// The first grid lets the second start, takes its time, and writes; the second must see it all.
extern "C" __global__ void write_late(uint32_t *values, uint32_t *arrivals) {
    let_next_grid_start();
    const long long start = clock64();
    while (clock64() - start < 2000000) {
    }
    values[blockIdx.x * blockDim.x + threadIdx.x] = 7 + threadIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) add_release(arrivals, 1);
}
extern "C" __global__ void read_after(const uint32_t *values, const uint32_t *arrivals, uint32_t *out) {
    wait_for_previous_grid();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const uint4 four = load_global_16(values + i / 4 * 4);
    const uint32_t words[4] = {four.x, four.y, four.z, four.w};
    out[i] = words[i % 4];
    if (i == 0) out[gridDim.x * blockDim.x] = load_acquire(arrivals);
}
