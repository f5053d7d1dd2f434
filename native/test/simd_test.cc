// Every instruction set that this processor has against plain arithmetic: conversions bit by bit, the multiply, softmax.
#include "harness.h"
#include "../cpu/pack.h"

namespace ikbo::test {
namespace {

using cpu::Simd;

template <class Body> void for_each_set(Body body) {
    for (int32_t i = 0; i < cpu::simd_count(); ++i) {
        SCOPED_TRACE(cpu::simd_at(i).name);
        body(cpu::simd_at(i));
    }
}

} // namespace

TEST(Simd, WidensEveryHalf) {
    std::vector<uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
    for_each_set([&](const Simd &simd) {
        for (const int32_t dtype : {IKBO_FP16, IKBO_BF16}) {
            std::vector<float> wide(all.size());
            simd.widen(dtype, all.data(), wide.data(), static_cast<int64_t>(all.size()));
            for (std::size_t i = 0; i < all.size(); ++i) {
                const double expected = element(dtype, all.data(), static_cast<int64_t>(i));
                if (std::isnan(expected)) {
                    EXPECT_TRUE(std::isnan(wide[i])) << i;
                } else {
                    EXPECT_EQ(static_cast<double>(wide[i]), expected) << i;
                }
            }
        }
    });
}

TEST(Simd, NarrowsToNearestEven) {
    std::vector<double> values = {0, -0.0, 1, -1, 65504, 65519.9, 65520, 1e6, -1e6, 6e-8, 2.9e-8, 3e-8, 1e-10, 6.1e-5, 1.0 + 0x1p-11,
                                  1.0 + 0x1p-8, 1.0 + 3 * 0x1p-11, INFINITY, -INFINITY, NAN, 3.3e38};
    std::mt19937 generator(1);
    std::normal_distribution<double> distribution(0, 1);
    for (int i = 0; i < 5000; ++i) values.push_back(static_cast<float>(std::ldexp(distribution(generator), i % 44 - 26)));
    std::vector<float> wide(values.begin(), values.end());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(wide[i]);
    for_each_set([&](const Simd &simd) {
        for (const int32_t dtype : {IKBO_FP16, IKBO_BF16}) {
            std::vector<uint16_t> narrow(values.size());
            simd.narrow(dtype, wide.data(), narrow.data(), static_cast<int64_t>(values.size()));
            const Bytes expected = encode(dtype, values);
            for (std::size_t i = 0; i < values.size(); ++i) {
                const double got = element(dtype, narrow.data(), static_cast<int64_t>(i));
                const double want = element(dtype, expected.data(), static_cast<int64_t>(i));
                if (std::isnan(want)) {
                    EXPECT_TRUE(std::isnan(got));
                } else {
                    EXPECT_EQ(got, want) << values[i] << " dtype " << dtype;
                }
            }
        }
    });
}

TEST(Simd, MultipliesPackedStrips) {
    for_each_set([&](const Simd &simd) {
        for (const int32_t dtype : {IKBO_FP32, IKBO_BF16})
            for (const int64_t depth : {1, 2, 31, 64, 300}) {
                const cpu::Kernel &kernel = cpu::kernel_for(simd, dtype);
                const int64_t rows = 2 * kernel.a.step - 1, columns = 2 * kernel.b.step - 1, total = cpu::round_up(depth, kernel.depth_unit);
                const Bytes a = normal(dtype, rows * depth, 1), b = normal(dtype, depth * columns, 2);
                const cpu::Buffer packed_a(cpu::packed_bytes(kernel, kernel.a, rows, depth));
                const cpu::Buffer packed_b(cpu::packed_bytes(kernel, kernel.b, columns, depth));
                std::vector<const void *> vectors;
                for (int64_t i = 0; i < rows; ++i) vectors.push_back(a.data() + static_cast<std::size_t>(i * depth) * size_of(dtype));
                const cpu::Strips to_a{simd, kernel, kernel.a, total, packed_a.as<void>()};
                const cpu::Strips to_b{simd, kernel, kernel.b, total, packed_b.as<void>()};
                cpu::pack_vectors(to_a, dtype, vectors.data(), rows, 0, depth);
                cpu::pack_zeros(to_a, rows, depth);
                cpu::pack_columns(to_b, dtype, b.data(), columns, columns, 0, depth);
                cpu::pack_zeros(to_b, columns, depth);
                const int64_t stride = 2 * kernel.b.step;
                std::vector<float> c(static_cast<std::size_t>(2 * kernel.a.step * stride), 1.0f);
                cpu::multiply(kernel, {packed_a.as<void>(), 2, total}, {packed_b.as<void>(), 2, total}, total, c.data(), stride);
                for (int64_t i = 0; i < rows; ++i)
                    for (int64_t j = 0; j < columns; ++j) {
                        double sum = 1;
                        for (int64_t k = 0; k < depth; ++k)
                            sum += element(dtype, a.data(), i * depth + k) * element(dtype, b.data(), k * columns + j);
                        ASSERT_NEAR(c[static_cast<std::size_t>(i * stride + j)], sum, 1e-4) << i << " " << j << " depth " << depth;
                    }
            }
    });
}

TEST(Simd, SoftmaxIsExactToAFewUnits) {
    for_each_set([](const Simd &simd) {
        std::vector<float> row(300);
        for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(std::sin(static_cast<double>(i)) * 60);
        std::vector<float> p = row;
        float maximum = -INFINITY, sum = 0;
        EXPECT_EQ(simd.softmax(p.data(), 290, 300, 0.5f, &maximum, &sum), 0.0f);
        double total = 0;
        for (std::size_t i = 0; i < 290; ++i) {
            const float exponent = 0.5f * row[i] - maximum; // rounded as in the kernel, so that only exp is compared
            const double expected = std::exp(static_cast<double>(exponent));
            EXPECT_NEAR(p[i], expected, 3e-7 * expected + 2e-38);
            total += expected;
        }
        EXPECT_NEAR(sum, total, 1e-5 * total);
        for (std::size_t i = 290; i < 300; ++i) EXPECT_EQ(p[i], 0.0f);
        const float before = maximum;
        p.assign(16, 100.0f);
        EXPECT_NEAR(simd.softmax(p.data(), 16, 16, 1, &maximum, &sum), std::exp(before - 100), 1e-30);
        EXPECT_EQ(maximum, 100.0f);
        p.assign(16, NAN);
        simd.softmax(p.data(), 16, 16, 1, &maximum, &sum);
        EXPECT_TRUE(std::isnan(p[0]));
        EXPECT_TRUE(std::isnan(sum));
    });
}

} // namespace ikbo::test
