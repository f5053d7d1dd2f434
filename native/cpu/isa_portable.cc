// Any processor: four lanes of plain C++ vectors. Defines what the others must compute.
#define IKBO_ISA portable
#define IKBO_LANES 4
#define IKBO_ROWS 4
#define IKBO_REGISTERS 2
#include "isa.inc"

namespace ikbo::cpu {
extern const Simd portable_simd;
const Simd portable_simd =
    portable::make_simd("portable", portable::fp32_kernel("portable"), portable::fp32_kernel("portable"));
} // namespace ikbo::cpu
