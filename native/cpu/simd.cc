#include "simd.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "error.h"

namespace ikbo::cpu {

extern const Simd portable_simd;
#if defined(__x86_64__)
extern const Simd avx2_simd;
extern const Simd avx512_simd;
#endif

namespace {

std::vector<const Simd *> detect() {
    std::vector<const Simd *> sets;
#if defined(__x86_64__)
    // These also ask the operating system whether it saves the wide registers.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        sets.push_back(&avx512_simd);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        sets.push_back(&avx2_simd);
#endif
    sets.push_back(&portable_simd);
    return sets;
}

const std::vector<const Simd *> &sets() {
    static const std::vector<const Simd *> found = detect();
    return found;
}

} // namespace

int32_t simd_count() { return static_cast<int32_t>(sets().size()); }
const Simd &simd_at(int32_t i) { return *sets().at(static_cast<std::size_t>(i)); }

const Simd &simd() {
    const char *wanted = std::getenv("IKBO_SIMD");
    if (wanted == nullptr || *wanted == '\0') return *sets().front();
    for (const Simd *set : sets())
        if (std::string(set->name) == wanted) return *set;
    fail(IKBO_UNSUPPORTED, "IKBO_SIMD=%s: this processor does not have it", wanted);
}

} // namespace ikbo::cpu
