// How groups are shared among the runs of a ring kernel: every group once, and late runs get fewer only where that helps.
#include "rings.h"

#include <gtest/gtest.h>

#include <random>

namespace ikbo::test {
namespace {

// Groups of each run of one residue.
std::vector<int32_t> counts(const RingWork &ring, int32_t residue) {
    const int32_t total = (ring.groups - residue + ring.stride - 1) / ring.stride;
    std::vector<int32_t> result;
    for (int32_t run = 0; run < ring.runs; ++run) result.push_back(ring_begin(ring, total, run + 1) - ring_begin(ring, total, run));
    return result;
}

int64_t longest(const RingWork &ring, int32_t first, int32_t count, int64_t late) {
    int64_t result = 0;
    for (int32_t residue = 0; residue < ring.stride; ++residue) {
        const std::vector<int32_t> groups = counts(ring, residue);
        for (int32_t run = 0; run < ring.runs; ++run)
            result = std::max(result, int64_t{groups[static_cast<std::size_t>(run)]} * ring.k_blocks +
                                          (run >= first && run < first + count ? late : 0));
    }
    return result;
}

} // namespace

TEST(Rings, EveryGroupOnceAndNeverLonger) {
    std::mt19937 generator(20261129);
    const auto up_to = [&](int32_t most) { return 1 + static_cast<int32_t>(generator() % static_cast<uint32_t>(most)); };
    for (int i = 0; i < 5000; ++i) {
        RingWork ring{};
        ring.stride = up_to(4);
        ring.runs = up_to(40);
        ring.groups = ring.stride * ring.runs + up_to(3000) - 1;
        ring.k_blocks = up_to(20);
        const int32_t first = up_to(ring.runs + 1) - 1, count = up_to(ring.runs - first + 1) - 1;
        const int64_t late = up_to(60) - 1;
        const int64_t before = longest(ring, first, count, late);
        share_runs(ring, first, count, late);
        int32_t shared = 0;
        for (int32_t residue = 0; residue < ring.stride; ++residue)
            for (const int32_t groups : counts(ring, residue)) {
                ASSERT_GE(groups, 0);
                shared += groups;
            }
        ASSERT_EQ(shared, ring.groups);
        ASSERT_LE(longest(ring, first, count, late), before);
    }
}

// Linear compression, 256 candidates of 4 users: 512 pairs of chunks on 66 clusters, of which 16 have a user's chunk first.
TEST(Rings, BusyClustersGetFewer) {
    RingWork ring{};
    ring.stride = 2;
    ring.runs = 33;
    ring.groups = 512;
    ring.k_blocks = 14;
    share_runs(ring, 0, 8, 9);
    EXPECT_EQ(ring.light, 1);
    EXPECT_EQ(longest(ring, 0, 8, 9), 8 * 14); // as long as without the users
}

} // namespace ikbo::test
