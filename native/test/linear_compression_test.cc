#include "harness.h"

namespace ikbo::test {
namespace {

struct Case {
    int64_t batch, users, outputs, columns, user_width, candidate_width;
    int32_t map_kind = IKBO_MAP_INDEX;
    Order order = Order::random;
    int32_t bits = 32;
    int32_t candidate_first = 0;
    int64_t weight_gap = 0;
};

std::string describe(const Case &c, int32_t dtype) {
    return "dtype " + std::to_string(dtype) + " B " + std::to_string(c.batch) + " U " + std::to_string(c.users) + " M " +
           std::to_string(c.outputs) + " N " + std::to_string(c.columns) + " Ku " + std::to_string(c.user_width) + " Kc " +
           std::to_string(c.candidate_width) + " map " + std::to_string(c.map_kind) + " order " +
           std::to_string(static_cast<int>(c.order));
}

struct Problem {
    ikbo_linear_compression_shape shape{};
    Bytes user, candidate, weight, index;

    Problem(const Case &c, int32_t dtype) {
        shape.dtype = dtype;
        shape.map_kind = c.map_kind;
        shape.index_bits = c.bits;
        shape.repeats = c.map_kind == IKBO_MAP_REPEATS ? c.batch / std::max<int64_t>(1, c.users) : 0;
        shape.batch = c.batch;
        shape.users = c.users;
        shape.outputs = c.outputs;
        shape.columns = c.columns;
        shape.user_width = c.user_width;
        shape.candidate_width = c.candidate_width;
        shape.weight_stride = c.user_width + c.candidate_width + c.weight_gap;
        shape.candidate_first = c.candidate_first;
        user = normal(dtype, c.users * c.user_width * c.columns, 1);
        candidate = normal(dtype, c.batch * c.candidate_width * c.columns, 2);
        weight = normal(dtype, c.outputs * shape.weight_stride, 3, 0.05);
        const std::vector<int64_t> rows_of_users = make_index(c.order, c.batch, c.users, 4);
        index = encode_index(c.map_kind == IKBO_MAP_INDEX_FROM_END ? from_end(rows_of_users, c.users) : rows_of_users, c.bits);
    }

    ikbo_linear_compression_args host() const { return {user.data(), candidate.data(), index.data(), weight.data(), nullptr}; }

    std::vector<double> reference() const {
        std::vector<double> all;
        for (int64_t row = 0; row < shape.batch * shape.outputs; ++row)
            for (double value : reference_row(shape, host(), row)) all.push_back(value);
        return all;
    }
};

// Runs one stage; an empty result means that the device does not have it.
Bytes run(const Problem &problem, int32_t stage, ikbo_status expected_prepare = IKBO_OK) {
    auto shape = problem.shape;
    shape.stage = stage;
    ikbo_op *op = nullptr;
    const ikbo_status created = ikbo_linear_compression_create(device(), &shape, &op);
    if (created == IKBO_UNSUPPORTED && !on_cpu()) return {};
    EXPECT_EQ(created, IKBO_OK) << ikbo_last_error();
    const Guarded user(problem.user), candidate(problem.candidate), index(problem.index), weight(problem.weight);
    const auto elements = static_cast<std::size_t>(shape.batch * shape.outputs * shape.columns);
    const Guarded out = Guarded::poisoned(elements * size_of(shape.dtype));
    const ikbo_linear_compression_args args{user.data(), candidate.data(), index.data(), weight.data(), out.data()};
    const ikbo_status prepared = ikbo_linear_compression_prepare(op, &args, nullptr);
    EXPECT_EQ(prepared, expected_prepare) << ikbo_last_error();
    if (prepared == IKBO_BAD_INDEX) {
        const std::string sizes = "[linear compression fp32, B 5, U 3, M 4, N 8, Ku 3, Kc 3]";
        EXPECT_NE(std::string(ikbo_last_error()).find(sizes), std::string::npos) << ikbo_last_error();
    }
    if (prepared == IKBO_OK) {
        EXPECT_EQ(ikbo_linear_compression_run(op, &args, nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_synchronize(device(), nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_NE(std::string(ikbo_op_kernel(op)), "");
    }
    ikbo_op_destroy(op);
    user.expect_unchanged(problem.user);
    candidate.expect_unchanged(problem.candidate);
    weight.expect_unchanged(problem.weight);
    return out.read();
}

void check(const Case &c, int32_t dtype) {
    SCOPED_TRACE(describe(c, dtype));
    const Problem problem(c, dtype);
    const std::vector<double> reference = problem.reference();
    const Bytes eager = run(problem, IKBO_STAGE_DECOMPOSED);
    if (eager.empty() && !reference.empty()) return; // the device has no kernel for it
    const Error decomposed = compare(dtype, eager, reference);
    EXPECT_LE(decomposed.relative, decomposed_limit(dtype));
    for (int32_t stage : stages()) {
        SCOPED_TRACE("stage " + std::to_string(stage));
        const Bytes out = run(problem, stage);
        if (out.empty()) continue;
        const Error error = compare(dtype, out, reference);
        EXPECT_EQ(error.not_finite, 0);
        EXPECT_LE(error.relative, limit(dtype, decomposed.relative, reference.size()));
    }
}

const int32_t dtypes[] = {IKBO_FP32, IKBO_FP16, IKBO_BF16};

} // namespace

TEST(LinearCompression, Sizes) {
    for (const int32_t dtype : dtypes)
        for (const Case &c : {Case{1, 1, 1, 1, 1, 1}, Case{3, 2, 7, 8, 5, 3}, Case{2, 1, 64, 64, 16, 17}, Case{5, 2, 65, 200, 64, 15},
                              Case{9, 4, 433, 40, 118, 86}, Case{4, 2, 1000, 33, 8, 8}, Case{6, 3, 15, 256, 300, 1}})
            check(c, dtype);
}

TEST(LinearCompression, EmptySizes) {
    for (const Case &c : {Case{0, 0, 4, 8, 3, 3}, Case{0, 2, 4, 8, 3, 3}, Case{2, 1, 0, 8, 3, 3}, Case{2, 1, 4, 0, 3, 3},
                          Case{2, 1, 4, 8, 0, 3}, Case{2, 1, 4, 8, 3, 0}, Case{2, 1, 4, 8, 0, 0}})
        check(c, IKBO_FP32);
}

TEST(LinearCompression, Maps) {
    for (const int32_t dtype : {IKBO_FP32, IKBO_BF16}) {
        for (const Order order : {Order::sorted, Order::reversed, Order::random, Order::all_same, Order::uneven})
            for (const int32_t bits : {32, 64}) check({13, 5, 20, 36, 24, 17, IKBO_MAP_INDEX, order, bits}, dtype);
        check({7, 7, 20, 36, 24, 17, IKBO_MAP_INDEX, Order::all_distinct}, dtype);
        check({7, 20, 20, 36, 24, 17, IKBO_MAP_INDEX, Order::random}, dtype);
        for (const int32_t bits : {32, 64}) check({13, 5, 20, 36, 24, 17, IKBO_MAP_INDEX_FROM_END, Order::random, bits}, dtype);
        check({12, 4, 20, 36, 24, 17, IKBO_MAP_REPEATS}, dtype);
        check({12, 1, 20, 36, 24, 17, IKBO_MAP_ALL}, dtype);
        check({12, 12, 20, 36, 24, 17, IKBO_MAP_NONE}, dtype);
    }
}

TEST(LinearCompression, NoUserPart) { // how ready-made copies are run
    for (const int32_t dtype : dtypes) check({6, 6, 20, 36, 0, 41, IKBO_MAP_NONE}, dtype);
}

TEST(LinearCompression, WeightOrderAndStride) {
    check({6, 2, 30, 40, 24, 17, IKBO_MAP_REPEATS, Order::sorted, 32, 1, 0}, IKBO_FP32);
    check({6, 2, 30, 40, 24, 17, IKBO_MAP_REPEATS, Order::sorted, 32, 1, 7}, IKBO_BF16);
    check({6, 2, 30, 40, 24, 17, IKBO_MAP_REPEATS, Order::sorted, 32, 0, 3}, IKBO_FP16);
}

TEST(LinearCompression, RefusesAnIndexOutOfRange) {
    for (const int64_t bad : {int64_t{-1}, int64_t{3}, int64_t{1} << 20})
        for (const int32_t stage : stages()) {
            Problem problem({5, 3, 4, 8, 3, 3}, IKBO_FP32);
            problem.index = encode_index({0, 1, 2, bad, 0}, 32);
            const Bytes out = run(problem, stage, IKBO_BAD_INDEX);
            EXPECT_EQ(out, Bytes(out.size(), 0xff)) << "wrote in spite of a bad index";
            Problem from_end({5, 3, 4, 8, 3, 3, IKBO_MAP_INDEX_FROM_END}, IKBO_FP32);
            from_end.index = encode_index({0, -3, 2, bad == -1 ? -4 : bad, 0}, 32);
            (void)run(from_end, stage, IKBO_BAD_INDEX);
        }
}

// What fp16 cannot hold becomes infinite, what is subnormal in it stays, and zeros of either sign are zeros, as in eager code.
TEST(LinearCompression, OverflowSubnormalsAndZeros) {
    Problem problem({8, 2, 4, 64, 16, 16, IKBO_MAP_REPEATS}, IKBO_FP16);
    const auto filled = [](std::size_t count, double value) { return encode(IKBO_FP16, std::vector<double>(count, value)); };
    problem.user = filled(2 * 16 * 64, 1);
    problem.candidate = filled(8 * 16 * 64, 1);
    problem.weight.clear();
    for (const double value : {2500.0, -2500.0, 0x1p-24, -0.0}) { // two sums of 16: 40000 each in the first row
        const Bytes row = filled(32, value);
        problem.weight.insert(problem.weight.end(), row.begin(), row.end());
    }
    for (const int32_t stage : stages()) {
        SCOPED_TRACE("stage " + std::to_string(stage));
        const Bytes out = run(problem, stage);
        for (int64_t i = 0; i < static_cast<int64_t>(out.size() / 2); ++i) {
            const double expected[] = {INFINITY, -INFINITY, 0x1p-19, 0.0};
            ASSERT_EQ(element(IKBO_FP16, out.data(), i), expected[i / 64 % 4]) << i;
        }
    }
}

TEST(LinearCompression, ANanStaysWithItsUser) {
    for (const int32_t dtype : dtypes)
        for (const int32_t stage : stages()) {
            Problem clean({8, 3, 17, 20, 9, 6, IKBO_MAP_INDEX, Order::random}, dtype);
            clean.index = encode_index({0, 1, 2, 0, 1, 2, 2, 0}, 32);
            Problem planted = clean;
            plant_nan(dtype, planted.user, 1 * 9 * 20, 9 * 20);
            plant_nan(dtype, planted.candidate, 5 * 6 * 20, 6 * 20);
            const Bytes expected = run(clean, stage), out = run(planted, stage);
            if (out.empty()) continue;
            const std::size_t item = 17 * 20;
            for (std::size_t b = 0; b < 8; ++b)
                for (std::size_t i = b * item; i < (b + 1) * item; ++i) {
                    const double value = element(dtype, out.data(), static_cast<int64_t>(i));
                    if (b == 1 || b == 4 || b == 5) {
                        EXPECT_TRUE(std::isnan(value)) << b;
                    } else {
                        EXPECT_EQ(value, element(dtype, expected.data(), static_cast<int64_t>(i))) << b;
                    }
                }
        }
}

} // namespace ikbo::test
