#include "simd.h"

#include <cstdlib>
#include <string>
#include <vector>

#if defined(IKBO_HAVE_AMX)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "error.h"

namespace ikbo::cpu {

extern const Simd portable_simd;
#if defined(__x86_64__)
extern const Simd avx2_simd;
extern const Simd avx512_simd;
#endif
#if defined(IKBO_HAVE_AMX)
extern const Simd amx_simd;
#endif

namespace {

#if defined(IKBO_HAVE_AMX)
// Linux saves the tiles of a process only after it has asked for them.
bool has_amx() {
    constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
    constexpr long request_permission = 0x1023, tile_data = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (d & amx_bf16) == 0 || (d & amx_tile) == 0) return false;
    return syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

std::vector<const Simd *> detect() {
    std::vector<const Simd *> sets;
#if defined(__x86_64__)
    // These also ask the operating system whether it saves the wide registers.
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    {
#if defined(IKBO_HAVE_AMX)
        if (has_amx()) sets.push_back(&amx_simd);
#endif
        sets.push_back(&avx512_simd);
    }
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
