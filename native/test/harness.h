// Device memory with canaries, random operands, index maps, and the comparison with the fp64 reference. The device is the
// CPU, or the one that IKBO_TEST_DEVICE names by its ordinal.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ikbo.h"
#include "reference.h"

namespace ikbo::test {

ikbo_device *device();
bool on_cpu();

// Host bytes in a dtype.
using Bytes = std::vector<uint8_t>;
std::size_t size_of(int32_t dtype);
Bytes encode(int32_t dtype, const std::vector<double> &values); // rounds to nearest even
Bytes normal(int32_t dtype, int64_t count, uint32_t seed, double scale = 1);
void plant_nan(int32_t dtype, Bytes &bytes, int64_t first, int64_t count);

// Device memory between two canaries, which check() verifies.
class Guarded {
  public:
    explicit Guarded(const Bytes &content);
    static Guarded poisoned(std::size_t bytes); // 0xff everywhere: NaN in every dtype
    ~Guarded();
    Guarded(Guarded &&other) noexcept;
    Guarded(const Guarded &) = delete;
    Guarded &operator=(const Guarded &) = delete;

    void *data() const { return static_cast<uint8_t *>(memory_) + margin; }
    Bytes read() const;   // fails the test when a canary was overwritten
    void expect_unchanged(const Bytes &content) const { EXPECT_EQ(read(), content) << "an input was written"; }

  private:
    static constexpr std::size_t margin = 256;
    void *memory_ = nullptr;
    std::size_t bytes_ = 0;
};

enum class Order { sorted, reversed, random, all_same, all_distinct, uneven };
std::vector<int64_t> make_index(Order order, int64_t rows, int64_t sources, uint32_t seed);
// Every second entry counted from the end of the `sources` rows.
std::vector<int64_t> from_end(std::vector<int64_t> index, int64_t sources);
Bytes encode_index(const std::vector<int64_t> &index, int32_t bits);

// Relative error in the L2 norm and the number of elements that are not finite or still poison.
struct Error {
    double relative = 0;
    int64_t not_finite = 0;
};
Error compare(int32_t dtype, const Bytes &out, const std::vector<double> &reference);

// What a stage may be off: 1.2 times the decomposed stage's own error. In fp32 all rounding happens inside sums, whose
// order may differ (one chain of K terms is off by sqrt(2) against two of K / 2): 1.5 times, and never less than 2^-20.
// For outputs too small for a ratio to mean anything: one unit in the last place.
double limit(int32_t dtype, double decomposed, std::size_t elements);
// What the decomposed stage itself may be off.
double decomposed_limit(int32_t dtype);

std::vector<int32_t> stages(); // of the device

} // namespace ikbo::test
