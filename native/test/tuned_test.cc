// Rows of measured choices: what is read, what is passed over, and where they lie.
#include "tuned.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace ikbo::test {
namespace {

ikbo_linear_compression_shape published() {
    ikbo_linear_compression_shape s{};
    s.dtype = IKBO_BF16;
    s.batch = 1024;
    s.users = 15;
    s.outputs = 433;
    s.columns = 256;
    s.user_width = 1178;
    s.candidate_width = 866;
    return s;
}

} // namespace

TEST(Tuned, ShapesOfOneClassShareARow) {
    auto s = published();
    EXPECT_EQ(class_of(s), "linear-compression bf16 10 4 9 8 10 10");
    s.batch = 1100;
    s.users = 17;
    EXPECT_EQ(class_of(s), "linear-compression bf16 10 4 9 8 10 10");
    s.dtype = IKBO_FP16;
    EXPECT_NE(class_of(s), class_of(published()));
    s = published();
    s.users = 0;
    EXPECT_EQ(class_of(s), "linear-compression bf16 10 - 9 8 10 10");
}

TEST(Tuned, RowsAreReadAndRubbishIsNot) {
    const Choices choices("# card, date\n"
                          "a b 1 = 3 128   12.1 us\n"
                          "a b 2 = 4\n"          // no tile
                          "a b 3 = 9 0\n"        // no such stage
                          "a b 4 = 4 -1\n"       // no such tile
                          "\x01\xff\xfe garbage = \n=\n"
                          "a b 5 = 4 0");        // and no newline
    EXPECT_EQ(choices.size(), 2u);
    EXPECT_EQ(choices.find("a b 1").stage, 3);
    EXPECT_EQ(choices.find("a b 1").tile, 128);
    EXPECT_EQ(choices.find("a b 5").stage, 4);
    for (const char *other : {"a b 2", "a b 3", "a b 4", "", "a b"}) EXPECT_EQ(choices.find(other).stage, IKBO_STAGE_BEST);
}

TEST(Tuned, TheMachinesRowsComeBeforeTheShippedOnes) {
    const std::string file = testing::TempDir() + "ikbo-tuned-test.txt";
    std::ofstream(file) << "x = 4 64\n";
    const Choices choices = load_choices("x = 3 0\ny = 1 0\n", file);
    EXPECT_EQ(choices.find("x").tile, 64);
    EXPECT_EQ(choices.find("y").stage, 1);
    EXPECT_EQ(load_choices("x = 3 0\n", file + ".missing").find("x").stage, 3);
    std::remove(file.c_str());
}

TEST(Tuned, TheFileIsNamedAfterCardDriverAndVersion) {
    const char *before = std::getenv("XDG_CACHE_HOME");
    const std::string kept = before == nullptr ? "" : before;
    setenv("XDG_CACHE_HOME", "/caches", 1);
    EXPECT_EQ(tuned_file("NVIDIA H200", "13.0"), std::string("/caches/ikbo-lens/tuned/NVIDIA_H200-13.0-") + ikbo_version() + ".txt");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/someone", 1);
    EXPECT_EQ(tuned_file("a/../b", "1").find("/home/someone/.cache/ikbo-lens/tuned/a_.._b-1-"), 0u);
    if (before == nullptr) unsetenv("XDG_CACHE_HOME");
    else setenv("XDG_CACHE_HOME", kept.c_str(), 1);
}

} // namespace ikbo::test
