// AVX2, FMA and F16C: 6 x 16 tile, 12 of 16 registers.
#define IKBO_ISA avx2
#define IKBO_LANES 8
#define IKBO_ROWS 6
#define IKBO_REGISTERS 2
#include "isa.inc"

namespace ikbo::cpu {
extern const Simd avx2_simd;
const Simd avx2_simd = avx2::make_simd("avx2", avx2::fp32_kernel("avx2"), avx2::fp32_kernel("avx2"));
} // namespace ikbo::cpu
