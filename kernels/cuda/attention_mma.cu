// Attention forward with mma.sync for sm_80 and newer: the lookup of K and V by the candidate's user, nothing else.
//
// One block of 4 warps for 64 rows of one candidate and one key head (its query rows times the query heads that share the
// key head), 16 rows a warp. K and V pass through shared memory in blocks of keys: the copy of V runs under Q K^T, the
// copy of the next K under the softmax and P V. Online softmax in fp32, P rounded to T.
//
// Width = D rounded up to 64, 128, 192 or 256; columns past D are zeros. Blocks of 64 keys, of 32 where Width > 128, so that
// the accumulators fit. Shared memory: 64 + 2 x keys rows of Width, one stage: 24, 48, 48, 64 KB. Registers: 168, 249, 250, 254 at
// most.
// 16-byte chunks of a row are swizzled: chunk c of row r lies at c ^ (r % 8).
#include "attention.h"
#include "ptx.cuh"

namespace ikbo {
namespace {

constexpr int kThreads = attention_mma_threads;
constexpr int kRows = attention_unit_rows;
constexpr float kLog2E = 1.4426950408889634f;
constexpr float kLn2 = 0.69314718055994531f;

template <int Width>
IKBO_DEVICE uint32_t chunk(uint32_t tile, int row, int c) {
    return tile + static_cast<uint32_t>(row * Width * 2 + (c ^ row % 8) * 16);
}

template <typename T, int Width, int Keys>
struct Block {
    const AttentionLookupParams &p;
    const uint32_t q_tile, k_tile, v_tile;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;

    int64_t candidate, first_key;
    int key_head, first_row, keys;

    IKBO_DEVICE int rows() const { return p.queries * p.group; }
    // Element offset of row `r` of the candidate and key head.
    IKBO_DEVICE int64_t offset(int r) const {
        return ((candidate * p.queries + r / p.group) * p.heads + key_head * p.group + r % p.group) * p.width;
    }

    IKBO_DEVICE void copy_q() const {
        const T *const q = static_cast<const T *>(p.q);
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < kRows * Width / 8; i += kThreads) {
            const int r = i / (Width / 8), c = i % (Width / 8);
            const bool valid = first_row + r < rows() && c * 8 < p.width;
            ptx::copy_16(chunk<Width>(q_tile, r, c), valid ? q + offset(first_row + r) + c * 8 : q, valid ? 16 : 0);
        }
    }
    // A block of the user's keys from `first` on; zeros past its last one, so that 0 * v is 0.
    IKBO_DEVICE void copy_keys(const void *source, uint32_t tile, int first) const {
        const T *const from = static_cast<const T *>(source);
#pragma unroll 4
        for (int i = static_cast<int>(threadIdx.x); i < Keys * Width / 8; i += kThreads) {
            const int r = i / (Width / 8), c = i % (Width / 8);
            const bool valid = first + r < keys && c * 8 < p.width;
            const int64_t at = ((first_key + first + r) * p.key_heads + key_head) * p.width + c * 8;
            ptx::copy_16(chunk<Width>(tile, r, c), valid ? from + at : from, valid ? 16 : 0);
        }
    }

    // s = Q K^T of this warp's 16 rows.
    IKBO_DEVICE void scores(float (&s)[Keys / 8][4]) const {
#pragma unroll
        for (int n = 0; n < Keys / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) s[n][i] = 0;
#pragma unroll(Width > 192 ? 4 : Width / 16) // all of it would spill at 256
        for (int k = 0; k < Width / 16; ++k) {
            uint32_t a[4];
            ptx::load_matrix_x4(chunk<Width>(q_tile, warp * 16 + lane % 16, 2 * k + lane / 16), a);
#pragma unroll
            for (int n = 0; n < Keys / 16; ++n) { // 16 keys: two n8 halves, each two k8 halves
                uint32_t b[4];
                ptx::load_matrix_x4(chunk<Width>(k_tile, n * 16 + lane / 16 * 8 + lane % 8, 2 * k + lane / 8 % 2), b);
                ptx::mma_16x8x16<T>(s[2 * n], a, b[0], b[1]);
                ptx::mma_16x8x16<T>(s[2 * n + 1], a, b[2], b[3]);
            }
        }
    }
    // o += P V.
    IKBO_DEVICE void output(const float (&s)[Keys / 8][4], float (&o)[Width / 8][4]) const {
#pragma unroll
        for (int k = 0; k < Keys / 16; ++k) {
            const uint32_t a[4] = {ptx::pack<T>(s[2 * k][0], s[2 * k][1]), ptx::pack<T>(s[2 * k][2], s[2 * k][3]),
                                   ptx::pack<T>(s[2 * k + 1][0], s[2 * k + 1][1]),
                                   ptx::pack<T>(s[2 * k + 1][2], s[2 * k + 1][3])};
#pragma unroll
            for (int n = 0; n < Width / 16; ++n) {
                uint32_t b[4];
                ptx::load_matrix_x4_transposed(chunk<Width>(v_tile, k * 16 + lane % 16, 2 * n + lane / 16), b);
                ptx::mma_16x8x16<T>(o[2 * n], a, b[0], b[1]);
                ptx::mma_16x8x16<T>(o[2 * n + 1], a, b[2], b[3]);
            }
        }
    }

    IKBO_DEVICE void run() {
        float o[Width / 8][4], top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};
#pragma unroll
        for (int n = 0; n < Width / 8; ++n)
#pragma unroll
            for (int i = 0; i < 4; ++i) o[n][i] = 0;
        const float scale = p.scale * kLog2E;

        copy_q();
        copy_keys(p.k, k_tile, 0);
        ptx::copy_commit();
        for (int first = 0; first < keys; first += Keys) {
            copy_keys(p.v, v_tile, first);
            ptx::copy_commit();
            ptx::copy_wait<1>();
            __syncthreads();
            float s[Keys / 8][4];
            scores(s);
            __syncthreads();
            copy_keys(p.k, k_tile, first + Keys); // past the end: zeros, never used
            ptx::copy_commit();

            float factor[2];
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float highest = top[h];
#pragma unroll
                for (int n = 0; n < Keys / 8; ++n)
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        const bool valid = first + n * 8 + lane % 4 * 2 + e < keys;
                        float &x = s[n][2 * h + e];
                        x = valid ? x * scale : -INFINITY;
                        highest = fmaxf(highest, x);
                    }
                highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 1));
                highest = fmaxf(highest, __shfl_xor_sync(0xffffffffu, highest, 2));
                const float reference = fmaxf(highest, -1e30f); // finite: a row of -inf has exponentials of -inf, not NaN
                factor[h] = ptx::ex2(top[h] - reference);
                top[h] = highest;
                sum[h] *= factor[h];
#pragma unroll
                for (int n = 0; n < Keys / 8; ++n)
#pragma unroll
                    for (int e = 0; e < 2; ++e) {
                        float &x = s[n][2 * h + e];
                        x = ptx::ex2(x - reference);
                        sum[h] += x;
                    }
            }
#pragma unroll
            for (int n = 0; n < Width / 8; ++n)
#pragma unroll
                for (int i = 0; i < 4; ++i) o[n][i] *= factor[i / 2];
            ptx::copy_wait<1>();
            __syncthreads();
            output(s, o);
            __syncthreads();
        }
        ptx::copy_wait<0>();
        store(o, top, sum);
    }

    IKBO_DEVICE void store(const float (&o)[Width / 8][4], const float (&top)[2], float (&sum)[2]) const {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 1);
            sum[h] += __shfl_xor_sync(0xffffffffu, sum[h], 2);
            const int r = first_row + warp * 16 + lane / 4 + 8 * h;
            if (r >= rows()) continue;
            const float weight = keys == 0 ? 0 : 1 / sum[h];
            T *const to = static_cast<T *>(p.out) + offset(r);
#pragma unroll
            for (int n = 0; n < Width / 8; ++n)
                if (const int c = n * 8 + lane % 4 * 2; c < p.width)
                    *reinterpret_cast<uint32_t *>(to + c) = ptx::pack<T>(o[n][2 * h] * weight, o[n][2 * h + 1] * weight);
            if (p.lse != nullptr && lane % 4 == 0) {
                const int64_t head = candidate * p.heads + key_head * p.group + r % p.group;
                p.lse[head * p.queries + r / p.group] = keys == 0 ? -INFINITY : (top[h] + ptx::lg2(sum[h])) * kLn2;
            }
        }
    }
};

template <typename T, int Width, int Keys>
IKBO_DEVICE void attention(const AttentionLookupParams &p) {
    extern __shared__ __align__(128) uint8_t memory[];
    const uint32_t base = ptx::shared_address(memory);
    constexpr uint32_t q_bytes = kRows * Width * 2, key_bytes = Keys * Width * 2;
    Block<T, Width, Keys> block{p, base, base + q_bytes, base + q_bytes + key_bytes};
    const int64_t blocks_of_head = (block.rows() + kRows - 1) / kRows;
    const int64_t index = blockIdx.x;
    block.first_row = static_cast<int>(index % blocks_of_head) * kRows;
    block.key_head = static_cast<int>(index / blocks_of_head % p.key_heads);
    block.candidate = index / blocks_of_head / p.key_heads;
    const int user = p.user_of[block.candidate];
    block.first_key = p.key_offsets == nullptr ? static_cast<int64_t>(user) * p.keys : p.key_offsets[user];
    block.keys = p.key_offsets == nullptr ? p.keys : p.key_offsets[user + 1] - p.key_offsets[user];
    block.run();
}

} // namespace
} // namespace ikbo

#define IKBO_ATTENTION(width)                                                      \
    extern "C" __global__ void __launch_bounds__(ikbo::attention_mma_threads)      \
        ikbo_attention_mma_bf16_##width(const ikbo::AttentionLookupParams p) {     \
        ikbo::attention<__nv_bfloat16, width, ikbo::attention_mma_keys<width>>(p); \
    }                                                                              \
    extern "C" __global__ void __launch_bounds__(ikbo::attention_mma_threads)      \
        ikbo_attention_mma_fp16_##width(const ikbo::AttentionLookupParams p) {     \
        ikbo::attention<__half, width, ikbo::attention_mma_keys<width>>(p);        \
    }

IKBO_ATTENTION(64)
IKBO_ATTENTION(128)
IKBO_ATTENTION(192)
IKBO_ATTENTION(256)
