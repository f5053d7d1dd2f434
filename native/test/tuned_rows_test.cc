// The shipped rows of measured choices: each can be read, and none is slower than stage 1 or than what follows from the sizes.
#include "tuned.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>

namespace ikbo {
extern const char *const tuned_rows_h100; // kernels/tuned/h100.txt

namespace test {

TEST(TunedRows, NoneIsSlowerThanStageOne) {
    std::istringstream lines(tuned_rows_h100);
    std::size_t rows = 0;
    for (std::string line; std::getline(lines, line);) {
        if (line.empty() || line[0] == '#') continue;
        SCOPED_TRACE(line);
        ++rows;
        const auto times = line.rfind(": ");
        ASSERT_NE(times, std::string::npos);
        double chosen = 0, derived = 0, first = 0;
        ASSERT_EQ(std::sscanf(line.c_str() + times, ": %lf us; derived %lf, stage 1 %lf", &chosen, &derived, &first), 3);
        EXPECT_LE(chosen, derived);
        EXPECT_LE(chosen, first);
    }
    EXPECT_GT(rows, 50u);
    EXPECT_EQ(Choices(tuned_rows_h100).size(), rows);
}

} // namespace test
} // namespace ikbo
