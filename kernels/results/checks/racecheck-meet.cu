// A program that is right, and which compute-sanitizer's racecheck (2025.3) reports all the same: a loader writes entries of a table, two groups of four
// warps read theirs and meet at a named barrier, and one thread of the group gives the slot back. Entries outlive their slot by one unit of the same
// group, as in attention. With every thread giving back there is no report, nor before the table is used anew:
//   nvcc -arch=sm_90 -o meet racecheck-meet.cu && compute-sanitizer --tool racecheck ./meet one 20
// One NVIDIA H200, 2026-11-30: `one 4` 0 hazards; `one 20` errors between the loader's writes and the groups' reads; `every 20` 0 hazards; sums right in all.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>

__device__ uint32_t at(void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
__device__ void init(uint32_t barrier, int count) { asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count)); }
__device__ void arrive(uint32_t barrier) { asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(barrier) : "memory"); }
__device__ void wait(uint32_t barrier, int parity) {
    asm volatile("{\n.reg .pred p;\nL: mbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n@!p bra L;\n}" ::"r"(barrier), "r"(parity)
                 : "memory");
}

template <bool Every>
__global__ void table(int *out, int units) {
    constexpr int kSlots = 4, kEntries = kSlots + 2;
    __shared__ __align__(8) uint64_t full[kSlots], empty[kSlots];
    __shared__ volatile int entry[kEntries][3];
    const int t = static_cast<int>(threadIdx.x);
    if (t == 0) {
        for (int i = 0; i < kSlots; ++i) {
            init(at(&full[i]), 1);
            init(at(&empty[i]), Every ? 128 : 1);
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (t >= 256) {
        for (int n = 0; n < units; ++n) {
            wait(at(&empty[n % kSlots]), n / kSlots % 2 ^ 1);
            if (t == 256) {
                for (int i = 0; i < 3; ++i) entry[n % kEntries][i] = n + i;
                arrive(at(&full[n % kSlots]));
            }
            __syncwarp();
        }
        return;
    }
    int sum = 0;
    for (int n = t / 128; n < units; n += 2) {
        wait(at(&full[n % kSlots]), n / kSlots % 2);
        for (int i = 0; i < 3; ++i) sum += entry[n % kEntries][i];
        asm volatile("bar.sync %0, 128;" ::"r"(1 + t / 128) : "memory");
        if (Every || t % 128 == 0) arrive(at(&empty[n % kSlots]));
    }
    out[t] = sum;
}

int main(int count, char **words) {
    if (count < 3) return 2;
    const bool every = std::strcmp(words[1], "every") == 0;
    const int units = std::atoi(words[2]);
    int *out = nullptr, sums[256];
    cudaMalloc(&out, sizeof sums);
    if (every) table<true><<<1, 288>>>(out, units);
    else table<false><<<1, 288>>>(out, units);
    const cudaError_t error = cudaMemcpy(sums, out, sizeof sums, cudaMemcpyDeviceToHost);
    int wrong = 0;
    for (int t = 0; t < 256; ++t) {
        int right = 0;
        for (int n = t / 128; n < units; n += 2) right += 3 * n + 3;
        wrong += sums[t] != right;
    }
    std::printf("%s, %d wrong sums\n", cudaGetErrorString(error), wrong);
    return wrong != 0;
}
