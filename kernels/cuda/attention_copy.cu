// Writes every candidate's own copy of its user's K and V: what a model does that indexes them before attention.
// One block per candidate and part of its rows; 16 bytes a thread and step. 256 threads, 32 registers, no shared memory.
#include "attention.h"
#include "ptx.cuh"

extern "C" __global__ void __launch_bounds__(ikbo::attention_copy_threads)
    ikbo_attention_copy(const ikbo::AttentionCopyParams p) {
    const int64_t candidate = blockIdx.x;
    const int user = p.user_of[candidate];
    const int64_t from = p.key_offsets == nullptr ? static_cast<int64_t>(user) * p.keys : p.key_offsets[user];
    const int64_t count = p.key_offsets == nullptr ? p.keys : p.key_offsets[user + 1] - p.key_offsets[user];
    const int64_t to = p.copy_offsets == nullptr ? candidate * p.keys : p.copy_offsets[candidate];
    const int64_t chunks = p.row_bytes / 16; // of a row
    const auto *const k = static_cast<const uint4 *>(p.k) + from * chunks;
    const auto *const v = static_cast<const uint4 *>(p.v) + from * chunks;
    auto *const k_copy = static_cast<uint4 *>(p.k_copy) + to * chunks;
    auto *const v_copy = static_cast<uint4 *>(p.v_copy) + to * chunks;
    for (int64_t i = blockIdx.y * blockDim.x + threadIdx.x; i < count * chunks; i += gridDim.y * blockDim.x) {
        k_copy[i] = k[i];
        v_copy[i] = v[i];
    }
}
