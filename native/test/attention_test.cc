#include "harness.h"

#include <numeric>

namespace ikbo::test {
namespace {

struct Case {
    int64_t batch, users, queries, keys, heads = 2, key_heads = 2, width = 64;
    int32_t map_kind = IKBO_MAP_INDEX;
    Order order = Order::random;
    int32_t bits = 32;
    std::vector<int64_t> lengths = {}; // ragged when not empty
};

std::string describe(const Case &c, int32_t dtype) {
    return "dtype " + std::to_string(dtype) + " B " + std::to_string(c.batch) + " U " + std::to_string(c.users) + " Q " +
           std::to_string(c.queries) + " S " + std::to_string(c.keys) + " H " + std::to_string(c.heads) + "/" +
           std::to_string(c.key_heads) + " D " + std::to_string(c.width) + " map " + std::to_string(c.map_kind) + " order " +
           std::to_string(static_cast<int>(c.order));
}

struct Problem {
    ikbo_attention_shape shape{};
    Bytes q, k, v, index;
    std::vector<int32_t> offsets;

    Problem(const Case &c, int32_t dtype) {
        shape.dtype = dtype;
        shape.map_kind = c.map_kind;
        shape.index_bits = c.bits;
        shape.repeats = c.map_kind == IKBO_MAP_REPEATS ? c.batch / c.users : 0;
        shape.batch = c.batch;
        shape.users = c.users;
        shape.queries = c.queries;
        shape.heads = c.heads;
        shape.key_heads = c.key_heads;
        shape.head_width = c.width;
        shape.keys = c.keys;
        shape.ragged = !c.lengths.empty();
        shape.want_lse = 1;
        shape.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(std::max<int64_t>(1, c.width))));
        offsets.push_back(0);
        for (int64_t length : c.lengths) offsets.push_back(offsets.back() + static_cast<int32_t>(length));
        shape.total_keys = shape.ragged ? offsets.back() : 0;
        const int64_t rows = (shape.ragged ? shape.total_keys : c.users * c.keys) * c.key_heads * c.width;
        q = normal(dtype, c.batch * c.queries * c.heads * c.width, 1, 2); // wide enough that the maximum matters
        k = normal(dtype, rows, 2);
        v = normal(dtype, rows, 3);
        const std::vector<int64_t> rows_of_users = make_index(c.order, c.batch, c.users, 4);
        index = encode_index(c.map_kind == IKBO_MAP_INDEX_FROM_END ? from_end(rows_of_users, c.users) : rows_of_users, c.bits);
    }

    int64_t rows() const { return shape.batch * shape.queries * shape.heads; }
    ikbo_attention_args host() const { return {q.data(), k.data(), v.data(), offsets.data(), index.data(), nullptr, nullptr}; }

    std::vector<double> reference(std::vector<double> &lse) const {
        std::vector<double> all;
        lse.resize(static_cast<std::size_t>(rows()));
        for (int64_t row = 0; row < rows(); ++row) {
            const int64_t b = row / (shape.queries * shape.heads), i = row / shape.heads % shape.queries, h = row % shape.heads;
            double *to = &lse[static_cast<std::size_t>((b * shape.heads + h) * shape.queries + i)];
            for (double value : reference_row(shape, host(), row, to)) all.push_back(value);
        }
        return all;
    }
};

struct Output {
    Bytes out, lse;
};

Output run(const Problem &problem, int32_t stage, ikbo_status expected_prepare = IKBO_OK) {
    auto shape = problem.shape;
    shape.stage = stage;
    ikbo_op *op = nullptr;
    const ikbo_status created = ikbo_attention_create(device(), &shape, &op);
    if (created == IKBO_UNSUPPORTED && !on_cpu()) return {};
    EXPECT_EQ(created, IKBO_OK) << ikbo_last_error();
    Bytes offset_bytes(problem.offsets.size() * 4);
    std::memcpy(offset_bytes.data(), problem.offsets.data(), offset_bytes.size());
    const Guarded q(problem.q), k(problem.k), v(problem.v), index(problem.index), offsets(offset_bytes);
    const auto rows = static_cast<std::size_t>(problem.rows());
    const Guarded out = Guarded::poisoned(rows * static_cast<std::size_t>(shape.head_width) * size_of(shape.dtype));
    const Guarded lse = Guarded::poisoned(rows * 4);
    const ikbo_attention_args args{q.data(),     k.data(),   v.data(), static_cast<const int32_t *>(offsets.data()),
                                   index.data(), out.data(), static_cast<float *>(lse.data())};
    const ikbo_status prepared = ikbo_attention_prepare(op, &args, nullptr);
    EXPECT_EQ(prepared, expected_prepare) << ikbo_last_error();
    if (prepared == IKBO_OK) {
        EXPECT_EQ(ikbo_attention_run(op, &args, nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_synchronize(device(), nullptr), IKBO_OK) << ikbo_last_error();
    }
    ikbo_op_destroy(op);
    q.expect_unchanged(problem.q);
    k.expect_unchanged(problem.k);
    v.expect_unchanged(problem.v);
    return {out.read(), lse.read()};
}

void check_lse(const Bytes &bytes, const std::vector<double> &reference, int32_t dtype) {
    const double tolerance = dtype == IKBO_FP32 ? 1e-5 : 2e-2;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double value = element(IKBO_FP32, bytes.data(), static_cast<int64_t>(i));
        if (std::isinf(reference[i])) {
            EXPECT_EQ(value, reference[i]) << "lse " << i;
        } else {
            EXPECT_NEAR(value, reference[i], tolerance) << "lse " << i;
        }
    }
}

void check(const Case &c, int32_t dtype) {
    SCOPED_TRACE(describe(c, dtype));
    const Problem problem(c, dtype);
    std::vector<double> lse;
    const std::vector<double> reference = problem.reference(lse);
    const Bytes eager = run(problem, IKBO_STAGE_DECOMPOSED).out;
    if (eager.empty() && !reference.empty()) return; // the device has no kernel for it
    const Error decomposed = compare(dtype, eager, reference);
    EXPECT_LE(decomposed.relative, decomposed_limit(dtype));
    // In 16 bits the weights and the result are each rounded once, whatever the decomposed stage happens to be off by.
    const double rounding = compare(dtype, encode(dtype, reference), reference).relative;
    const double attainable = std::max(decomposed.relative, dtype == IKBO_FP32 ? 0 : std::sqrt(2.0) * rounding);
    for (int32_t stage : stages()) {
        SCOPED_TRACE("stage " + std::to_string(stage));
        const Output output = run(problem, stage);
        if (output.out.empty()) continue;
        const Error error = compare(dtype, output.out, reference);
        EXPECT_EQ(error.not_finite, 0);
        EXPECT_LE(error.relative, limit(dtype, attainable, reference.size()));
        check_lse(output.lse, lse, dtype);
    }
}

const int32_t dtypes[] = {IKBO_FP32, IKBO_FP16, IKBO_BF16};

} // namespace

TEST(Attention, KeyCounts) {
    for (const int32_t dtype : dtypes)
        for (const int64_t keys : {0, 1, 15, 16, 127, 128, 175, 256, 257, 500, 1000}) check({5, 2, 8, keys}, dtype);
}

TEST(Attention, QueriesAndHeads) {
    for (const int32_t dtype : dtypes)
        for (const int64_t queries : {1, 2, 5, 16, 130})
            for (const auto &[heads, key_heads] : {std::pair<int64_t, int64_t>{1, 1}, {4, 1}, {6, 2}})
                check({3, 2, queries, 77, heads, key_heads, 64}, dtype);
}

TEST(Attention, OneQueryPerCandidate) { // few rows alone, many when gathered by user: both ways must be as exact
    for (const int32_t dtype : dtypes) {
        check({64, 4, 1, 256, 4, 4, 64}, dtype);
        check({64, 4, 1, 50, 1, 1, 64}, dtype);
    }
}

TEST(Attention, HeadWidths) {
    for (const int64_t width : {1, 8, 63, 128})
        check({4, 2, 9, 130, 2, 1, width}, IKBO_FP32);
}

TEST(Attention, EmptySizes) {
    check({0, 2, 4, 9}, IKBO_FP32);
    check({3, 2, 0, 9}, IKBO_FP32);
    check({3, 2, 4, 9, 2, 2, 0}, IKBO_FP32);
}

TEST(Attention, Maps) {
    for (const int32_t dtype : {IKBO_FP32, IKBO_BF16}) {
        for (const Order order : {Order::sorted, Order::reversed, Order::random, Order::all_same, Order::uneven})
            for (const int32_t bits : {32, 64}) check({11, 4, 6, 90, 2, 2, 64, IKBO_MAP_INDEX, order, bits}, dtype);
        check({6, 6, 6, 90, 2, 2, 64, IKBO_MAP_INDEX, Order::all_distinct}, dtype);
        for (const int32_t bits : {32, 64}) check({11, 4, 6, 90, 2, 2, 64, IKBO_MAP_INDEX_FROM_END, Order::random, bits}, dtype);
        check({12, 3, 6, 90, 2, 2, 64, IKBO_MAP_REPEATS}, dtype);
        check({12, 1, 6, 90, 2, 2, 64, IKBO_MAP_ALL}, dtype);
        check({4, 4, 6, 90, 2, 2, 64, IKBO_MAP_NONE}, dtype);
    }
}

TEST(Attention, Ragged) {
    for (const int32_t dtype : dtypes) {
        check({9, 4, 6, 300, 2, 1, 64, IKBO_MAP_INDEX, Order::random, 32, {300, 0, 17, 256}}, dtype);
        check({8, 4, 1, 20, 2, 2, 64, IKBO_MAP_REPEATS, Order::sorted, 32, {0, 20, 1, 0}}, dtype);
        check({4, 2, 6, 5, 2, 2, 64, IKBO_MAP_INDEX, Order::sorted, 64, {0, 0}}, dtype);
    }
}

TEST(Attention, AllKeysMaskedByLengthGiveZeros) {
    const Problem problem({4, 2, 3, 5, 1, 1, 64, IKBO_MAP_REPEATS, Order::sorted, 32, {5, 0}}, IKBO_FP32);
    for (const int32_t stage : stages()) {
        const Bytes out = run(problem, stage).out;
        if (out.empty()) continue;
        const std::size_t half = out.size() / 2;
        EXPECT_EQ(Bytes(out.begin() + static_cast<std::ptrdiff_t>(half), out.end()), Bytes(half, 0));
    }
}

TEST(Attention, RefusesBadIndicesAndOffsets) {
    for (const int32_t stage : stages()) {
        Problem bad_index({5, 3, 2, 6}, IKBO_FP32);
        bad_index.index = encode_index({0, 1, 2, 3, 0}, 32);
        const Bytes out = run(bad_index, stage, IKBO_BAD_INDEX).out;
        EXPECT_EQ(out, Bytes(out.size(), 0xff));
        for (const int64_t bad : {-4, 3}) {
            Problem from_end({5, 3, 2, 6, 2, 2, 64, IKBO_MAP_INDEX_FROM_END}, IKBO_FP32);
            from_end.index = encode_index({0, -3, 2, bad, 0}, 32);
            (void)run(from_end, stage, IKBO_BAD_INDEX);
        }
        Problem descending({5, 2, 2, 6, 2, 2, 64, IKBO_MAP_INDEX, Order::sorted, 32, {4, 2}}, IKBO_FP32);
        descending.offsets = {0, 8, 6};
        (void)run(descending, stage, IKBO_INVALID);
        Problem too_long({5, 2, 2, 3, 2, 2, 64, IKBO_MAP_INDEX, Order::sorted, 32, {4, 2}}, IKBO_FP32);
        (void)run(too_long, stage, IKBO_INVALID);
    }
}

TEST(Attention, ANanStaysWithItsUser) {
    for (const int32_t dtype : dtypes)
        for (const int64_t queries : {1, 8})
            for (const int32_t stage : stages()) {
                Problem clean({6, 3, queries, 70, 2, 2, 64}, dtype);
                clean.index = encode_index({0, 1, 2, 0, 1, 2}, 32);
                Problem planted = clean;
                plant_nan(dtype, planted.k, 70 * 128, 70 * 128);
                plant_nan(dtype, planted.q, 5 * queries * 128, queries * 128);
                const Bytes expected = run(clean, stage).out, out = run(planted, stage).out;
                if (out.empty()) continue;
                const int64_t item = queries * 128;
                for (int64_t b = 0; b < 6; ++b)
                    for (int64_t i = b * item; i < (b + 1) * item; ++i) {
                        const double value = element(dtype, out.data(), i);
                        if (b == 1 || b == 4 || b == 5) {
                            EXPECT_TRUE(std::isnan(value)) << b;
                        } else {
                            EXPECT_EQ(value, element(dtype, expected.data(), i)) << b;
                        }
                    }
            }
}

} // namespace ikbo::test
