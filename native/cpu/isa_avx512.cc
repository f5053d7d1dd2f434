// AVX-512: 14 x 32 tile, 28 of 32 registers.
#define IKBO_ISA avx512
#define IKBO_LANES 16
#define IKBO_ROWS 14
#define IKBO_REGISTERS 2
#include "isa.inc"

namespace ikbo::cpu {
extern const Simd avx512_simd;
const Simd avx512_simd = avx512::make_simd("avx512", avx512::fp32_kernel("avx512"), avx512::fp32_kernel("avx512"));
} // namespace ikbo::cpu
