// Memory-bound helpers: packing the weight, writing the replica (stage 0), adding looked-up rows (stages 1 and 2).
//
// One row per block of grid.x (strided) and consecutive threads on consecutive 16-byte groups; rows or widths that do not allow
// that are moved element by element (V = 1). At most 40 registers; no shared memory.
#include "layout.h"

#include "activation.cuh"
#include "ptx.cuh"

namespace {

using namespace ikbo;

template <int V>
using Group = std::conditional_t<V == 8, uint4, uint16_t>;

// A row is shared by the blocks of grid.y.
IKBO_DEVICE int64_t first_group() { return static_cast<int64_t>(blockIdx.y) * blockDim.x + threadIdx.x; }
IKBO_DEVICE int64_t groups() { return static_cast<int64_t>(gridDim.y) * blockDim.x; }

template <int V>
IKBO_DEVICE void gather(const GatherWork &work) {
    for (int64_t row = blockIdx.x; row < work.rows; row += gridDim.x) {
        uint16_t *to = static_cast<uint16_t *>(work.to) + row * work.to_stride;
        for (int i = 0; i < work.blocks; ++i) {
            const GatherWork::Block &block = work.block[i];
            const int64_t source = block.row_of == nullptr ? row : block.row_of[row];
            const auto *from =
                reinterpret_cast<const Group<V> *>(static_cast<const uint16_t *>(block.rows) + source * block.stride);
            auto *into = reinterpret_cast<Group<V> *>(to);
            for (int64_t k = first_group(); k < block.width / V; k += groups()) into[k] = from[k];
            to += block.width;
        }
    }
}

template <typename T, int V>
IKBO_DEVICE void gather_add(const GatherAddWork &work) {
    for (int64_t row = blockIdx.x; row < work.rows; row += gridDim.x) {
        T *to = static_cast<T *>(work.to) + row * work.to_stride;
        for (int64_t k = first_group(); k < work.width / V; k += groups()) {
            float sum[V];
            for (int i = 0; i < work.sources; ++i) {
                const GatherAddWork::Source &source = work.source[i];
                const int64_t from = source.row_of == nullptr ? row : source.row_of[row];
                const Group<V> values =
                    reinterpret_cast<const Group<V> *>(static_cast<const T *>(source.rows) + from * source.stride)[k];
                const T *elements = reinterpret_cast<const T *>(&values);
#pragma unroll
                for (int e = 0; e < V; ++e) {
                    const float x = static_cast<float>(elements[e]);
                    sum[e] = i == 0 ? x : static_cast<float>(static_cast<T>(sum[e] + x));
                }
            }
            Group<V> result;
            T *elements = reinterpret_cast<T *>(&result);
#pragma unroll
            for (int e = 0; e < V; ++e) {
                if (work.sources == 0) sum[e] = 0.0f;
                if (work.bias != nullptr)
                    sum[e] = static_cast<float>(
                        static_cast<T>(sum[e] + static_cast<float>(static_cast<const T *>(work.bias)[k * V + e])));
                elements[e] = static_cast<T>(activate(sum[e], work.activation));
            }
            reinterpret_cast<Group<V> *>(to)[k] = result;
        }
    }
}

template <typename T>
IKBO_DEVICE void sum_parts(const SumPartsWork &work) {
#if __CUDA_ARCH__ >= 900
    ptx::let_next_grid_start();
    ptx::wait_for_previous_grid();
#endif
    for (int64_t i = first_group(); i < work.elements / 4; i += groups()) {
        float4 sum = reinterpret_cast<const float4 *>(work.parts)[i];
#pragma unroll 8
        for (int s = 1; s < work.splits; ++s) {
            const float4 next = reinterpret_cast<const float4 *>(work.parts + s * work.elements)[i];
            sum = {sum.x + next.x, sum.y + next.y, sum.z + next.z, sum.w + next.w};
        }
        static_cast<uint2 *>(work.to)[i] = {ptx::pack<T>(sum.x, sum.y), ptx::pack<T>(sum.z, sum.w)};
    }
}

}  // namespace

extern "C" __global__ void pack_columns(const __grid_constant__ PackWork work) {
    for (int64_t row = blockIdx.x; row < work.rows; row += gridDim.x) {
        const uint16_t *from = static_cast<const uint16_t *>(work.from) + row * work.from_stride;
        uint16_t *to = static_cast<uint16_t *>(work.to) + row * work.to_stride;
        for (int64_t k = threadIdx.x; k < work.padded; k += blockDim.x) to[k] = k < work.width ? from[k] : uint16_t{0};
    }
}

extern "C" __global__ void map_rows(const __grid_constant__ MapRowsWork work) {
    const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
    for (int64_t row = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; row < work.rows; row += step) {
        int64_t source = 0;
        if (work.index == nullptr) {
            source = row / work.repeats;
        } else {
            source = work.index_bits == 64 ? static_cast<const int64_t *>(work.index)[row]
                                           : static_cast<const int32_t *>(work.index)[row];
            if (work.from_end != 0 && source < 0) source += work.source_rows;
            if (source < 0 || source >= work.source_rows) {
                if (work.fault == nullptr) __trap();
                *work.fault = 1;
                source = 0;
            }
        }
        work.to[row] = static_cast<int32_t>(source);
    }
}

extern "C" __global__ void sum_parts_bf16(const __grid_constant__ SumPartsWork work) { sum_parts<__nv_bfloat16>(work); }
extern "C" __global__ void sum_parts_fp16(const __grid_constant__ SumPartsWork work) { sum_parts<__half>(work); }

extern "C" __global__ void gather_wide(const __grid_constant__ GatherWork work) { gather<8>(work); }
extern "C" __global__ void gather_single(const __grid_constant__ GatherWork work) { gather<1>(work); }

extern "C" __global__ void gather_add_bf16(const __grid_constant__ GatherAddWork work) {
    gather_add<__nv_bfloat16, 8>(work);
}
extern "C" __global__ void gather_add_bf16_single(const __grid_constant__ GatherAddWork work) {
    gather_add<__nv_bfloat16, 1>(work);
}
extern "C" __global__ void gather_add_fp16(const __grid_constant__ GatherAddWork work) { gather_add<__half, 8>(work); }
extern "C" __global__ void gather_add_fp16_single(const __grid_constant__ GatherAddWork work) {
    gather_add<__half, 1>(work);
}
