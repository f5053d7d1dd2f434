// AMX for bf16: 32 x 32 tiles as 2 x 2 tile registers of 16 x 16 sums, 32 of the depth a step. fp32 as with AVX-512.
#define IKBO_ISA amx
#define IKBO_LANES 16
#define IKBO_ROWS 14
#define IKBO_REGISTERS 2
#include "isa.inc"

namespace ikbo::cpu {
namespace amx {
namespace {

// LDTILECFG's operand: palette 1, all eight registers 16 rows of 64 bytes.
struct alignas(64) Configuration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

// The configuration belongs to the thread, and other libraries set their own.
void configure() {
    static constexpr Configuration configuration;
    _tile_loadconfig(&configuration);
}

void multiply_bf16(int64_t depth, const void *a_packed, const void *b_packed, float *c, int64_t stride) {
    const auto *a = static_cast<const uint8_t *>(a_packed); // [depth / 32][32 rows][32]
    const auto *b = static_cast<const uint8_t *>(b_packed); // [depth / 2][32 columns][2]
    const int64_t row = stride * 4;
    float *below = c + 16 * stride;
    _tile_loadd(0, c, row);
    _tile_loadd(1, c + 16, row);
    _tile_loadd(2, below, row);
    _tile_loadd(3, below + 16, row);
    for (int64_t k = 0; k < depth; k += 32) {
        _tile_loadd(4, a, 64);
        _tile_loadd(5, a + 1024, 64);
        _tile_loadd(6, b, 128);
        _tile_loadd(7, b + 64, 128);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        a += 2048;
        b += 2048;
    }
    _tile_stored(0, c, row);
    _tile_stored(1, c + 16, row);
    _tile_stored(2, below, row);
    _tile_stored(3, below + 16, row);
}

constexpr Kernel bf16_kernel = {"amx", {32, 32}, {32, 2}, 32, true, configure, multiply_bf16};

} // namespace
} // namespace amx

extern const Simd amx_simd;
const Simd amx_simd = amx::make_simd("amx", amx::fp32_kernel("avx512"), amx::bf16_kernel);
} // namespace ikbo::cpu
