#include "rings.h"

#include <algorithm>

namespace ikbo {
namespace {

// K blocks until the last run is done; INT64_MAX where a run would get less than nothing.
int64_t longest_run(const RingWork &ring, int64_t late) {
    int64_t longest = 0;
    for (int32_t residue = 0; residue < ring.stride; ++residue) {
        const int32_t total = (ring.groups - residue + ring.stride - 1) / ring.stride;
        for (int32_t run = 0; run < ring.runs; ++run) {
            const int64_t count = ring_begin(ring, total, run + 1) - ring_begin(ring, total, run);
            if (count < 0) return INT64_MAX;
            const bool light = run >= ring.light_first && run < ring.light_first + ring.light_runs;
            longest = std::max(longest, count * ring.k_blocks + (light ? late : 0));
        }
    }
    return longest;
}

} // namespace

void share_runs(RingWork &ring, int32_t first, int32_t count, int64_t late) {
    ring.light_first = std::clamp(first, 0, ring.runs);
    ring.light_runs = std::clamp(count, 0, ring.runs - ring.light_first);
    int32_t best = 0;
    int64_t shortest = INT64_MAX;
    const int64_t most = late / ring.k_blocks + 1;
    for (ring.light = 0; ring.light <= most; ++ring.light) {
        const int64_t longest = longest_run(ring, late);
        if (longest < shortest) {
            shortest = longest;
            best = ring.light;
        }
    }
    ring.light = best;
}

} // namespace ikbo
