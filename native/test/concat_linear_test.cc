#include <algorithm>
#include <cmath>

#include "harness.h"

namespace ikbo::test {
namespace {

struct Block {
    int64_t sources, width;
    int32_t map_kind = IKBO_MAP_NONE;
    Order order = Order::random;
    int32_t bits = 64;
    int64_t gap = 0;
};

struct Case {
    int64_t rows, outputs;
    std::vector<Block> blocks;
    bool bias = true;
    int32_t activation = IKBO_IDENTITY;
    int64_t weight_gap = 0, out_gap = 0;
};

std::string describe(const Case &c, int32_t dtype) {
    std::string text = "dtype " + std::to_string(dtype) + " rows " + std::to_string(c.rows) + " outputs " + std::to_string(c.outputs);
    for (const Block &b : c.blocks)
        text += " [" + std::to_string(b.sources) + " x " + std::to_string(b.width) + " map " + std::to_string(b.map_kind) +
                " order " + std::to_string(static_cast<int>(b.order)) + "]";
    return text;
}

struct Problem {
    ikbo_concat_linear_shape shape{};
    std::vector<Bytes> x, index;
    Bytes weight, bias;

    Problem(const Case &c, int32_t dtype) {
        shape.dtype = dtype;
        shape.activation = c.activation;
        shape.blocks = static_cast<int32_t>(c.blocks.size());
        shape.has_bias = c.bias;
        shape.rows = c.rows;
        shape.outputs = c.outputs;
        int64_t width = 0;
        for (std::size_t i = 0; i < c.blocks.size(); ++i) {
            const Block &b = c.blocks[i];
            const int64_t repeats = b.map_kind == IKBO_MAP_REPEATS ? c.rows / b.sources : 0;
            shape.block[i] = {b.sources, b.width, b.width + b.gap, b.map_kind, b.bits, repeats};
            Bytes data = normal(dtype, b.sources * (b.width + b.gap), 10 + static_cast<uint32_t>(i));
            for (int64_t row = 0; row < b.sources; ++row) // what lies between rows must never be read
                plant_nan(dtype, data, row * (b.width + b.gap) + b.width, b.gap);
            x.push_back(std::move(data));
            const std::vector<int64_t> rows_of_sources = make_index(b.order, c.rows, b.sources, 20 + static_cast<uint32_t>(i));
            const bool negative = b.map_kind == IKBO_MAP_INDEX_FROM_END;
            index.push_back(encode_index(negative ? from_end(rows_of_sources, b.sources) : rows_of_sources, b.bits));
            width += b.width;
        }
        shape.weight_stride = width + c.weight_gap;
        shape.out_stride = c.outputs + c.out_gap;
        weight = normal(dtype, c.outputs * shape.weight_stride, 3, 0.1);
        bias = normal(dtype, c.outputs, 4);
    }

    ikbo_concat_linear_args host() const {
        ikbo_concat_linear_args a{};
        for (std::size_t i = 0; i < x.size(); ++i) {
            a.x[i] = x[i].data();
            a.index[i] = index[i].data();
        }
        a.weight = weight.data();
        a.bias = bias.data();
        return a;
    }

    std::vector<double> reference() const {
        std::vector<double> all;
        for (int64_t row = 0; row < shape.rows; ++row)
            for (double value : reference_row(shape, host(), row)) all.push_back(value);
        return all;
    }
};

// Rows without the gap after each; checks that the gap was left alone.
Bytes without_gaps(const ikbo_concat_linear_shape &shape, const Bytes &raw) {
    const std::size_t size = size_of(shape.dtype), row = static_cast<std::size_t>(shape.outputs) * size,
                      stride = static_cast<std::size_t>(shape.out_stride) * size;
    Bytes out;
    for (std::size_t at = 0; at < raw.size(); at += stride) {
        out.insert(out.end(), raw.begin() + static_cast<std::ptrdiff_t>(at), raw.begin() + static_cast<std::ptrdiff_t>(at + row));
        for (std::size_t i = at + row; i < at + stride; ++i)
            if (raw[i] != 0xff) ADD_FAILURE() << "wrote between the rows of the output";
    }
    return out;
}

Bytes run(const Problem &problem, int32_t stage, ikbo_status expected_prepare = IKBO_OK) {
    auto shape = problem.shape;
    shape.stage = stage;
    ikbo_op *op = nullptr;
    const ikbo_status created = ikbo_concat_linear_create(device(), &shape, &op);
    if (created == IKBO_UNSUPPORTED && !on_cpu()) return {};
    EXPECT_EQ(created, IKBO_OK) << ikbo_last_error();
    std::vector<Guarded> x, index;
    ikbo_concat_linear_args args{};
    for (std::size_t i = 0; i < problem.x.size(); ++i) {
        x.emplace_back(problem.x[i]);
        index.emplace_back(problem.index[i]);
        args.x[i] = x[i].data();
        args.index[i] = index[i].data();
    }
    const Guarded weight(problem.weight), bias(problem.bias);
    const Guarded out = Guarded::poisoned(static_cast<std::size_t>(shape.rows * shape.out_stride) * size_of(shape.dtype));
    args.weight = weight.data();
    args.bias = bias.data();
    args.out = out.data();
    const ikbo_status prepared = ikbo_concat_linear_prepare(op, &args, nullptr);
    EXPECT_EQ(prepared, expected_prepare) << ikbo_last_error();
    if (prepared == IKBO_BAD_INDEX) {
        EXPECT_NE(std::string(ikbo_last_error()).find("position 2"), std::string::npos) << ikbo_last_error();
    }
    if (prepared == IKBO_OK) {
        EXPECT_EQ(ikbo_concat_linear_run(op, &args, nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_synchronize(device(), nullptr), IKBO_OK) << ikbo_last_error();
    }
    ikbo_op_destroy(op);
    for (std::size_t i = 0; i < x.size(); ++i) x[i].expect_unchanged(problem.x[i]);
    weight.expect_unchanged(problem.weight);
    return without_gaps(shape, out.read());
}

void check(const Case &c, int32_t dtype) {
    SCOPED_TRACE(describe(c, dtype));
    const Problem problem(c, dtype);
    const std::vector<double> reference = problem.reference();
    const Bytes eager = run(problem, IKBO_STAGE_DECOMPOSED);
    if (eager.empty() && !reference.empty()) return; // the device has no kernel for it
    const Error decomposed = compare(dtype, eager, reference);
    // A device may round each part of a sum, as separate operators do; in a handful of elements the parts may then cancel.
    if (on_cpu() || reference.size() >= 64) {
        // Separate operators round the sum after every block.
        EXPECT_LE(decomposed.relative, decomposed_limit(dtype) * std::sqrt(std::max(1.0, static_cast<double>(c.blocks.size()) / 4)));
    }
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

TEST(ConcatLinear, Sizes) {
    for (const int32_t dtype : dtypes)
        for (const int64_t outputs : {1, 7, 33, 64, 513})
            for (const int64_t rows : {1, 2, 15, 130})
                check({rows, outputs, {{3, 17, IKBO_MAP_INDEX}, {rows, 40}}}, dtype);
}

TEST(ConcatLinear, DepthBeyondOneCacheBlock) {
    for (const int32_t dtype : dtypes) check({40, 70, {{5, 700, IKBO_MAP_INDEX}, {40, 333}}}, dtype);
}

// Few tiles: a cluster that starts late may get none.
TEST(ConcatLinear, FewTilesBehindALongMappedBlock) { check({256, 512, {{4, 512, IKBO_MAP_REPEATS}, {256, 320}}}, IKBO_BF16); }

// On Hopper a long K is cut into pieces: within the launch for one mapped block, before it for several.
TEST(ConcatLinear, LongMappedBlocks) {
    check({200, 136, {{70, 1200, IKBO_MAP_INDEX}, {200, 72}}}, IKBO_BF16);
    check({100, 72, {{3, 1100, IKBO_MAP_INDEX}, {100, 400}}}, IKBO_FP16);
    check({100, 72, {{3, 1100, IKBO_MAP_INDEX}, {1, 700, IKBO_MAP_ALL}, {100, 64}}}, IKBO_BF16);
    check({200, 136, {{520, 1200, IKBO_MAP_INDEX}, {200, 72}}}, IKBO_BF16);
    // So long that it has a launch of its own, where both warpgroups multiply.
    check({200, 136, {{1000, 2112, IKBO_MAP_INDEX, Order::sorted}, {200, 72}}}, IKBO_FP16);
    // Several of its chunks, each by one warpgroup of a cluster.
    check({300, 72, {{150, 100, IKBO_MAP_INDEX, Order::sorted}, {300, 72}}}, IKBO_BF16);
}

TEST(ConcatLinear, EmptySizes) {
    for (const Case &c : {Case{0, 5, {{0, 3, IKBO_MAP_INDEX}, {0, 4}}}, Case{4, 0, {{2, 3, IKBO_MAP_REPEATS}, {4, 4}}},
                          Case{4, 5, {{2, 0, IKBO_MAP_REPEATS}, {4, 4}}}, Case{4, 5, {{2, 3, IKBO_MAP_REPEATS}, {4, 0}}},
                          Case{4, 5, {{4, 0}}}})
        check(c, IKBO_FP32);
}

TEST(ConcatLinear, Maps) {
    for (const int32_t dtype : {IKBO_FP32, IKBO_BF16}) {
        for (const Order order : {Order::sorted, Order::reversed, Order::random, Order::all_same, Order::uneven})
            for (const int32_t bits : {32, 64}) check({29, 50, {{6, 21, IKBO_MAP_INDEX, order, bits}, {29, 10}}}, dtype);
        check({29, 50, {{29, 21, IKBO_MAP_INDEX, Order::all_distinct}, {29, 10}}}, dtype);
        check({29, 50, {{500, 21, IKBO_MAP_INDEX, Order::random}, {29, 10}}}, dtype);
        for (const int32_t bits : {32, 64}) check({29, 50, {{6, 21, IKBO_MAP_INDEX_FROM_END, Order::random, bits}, {29, 10}}}, dtype);
        check({28, 50, {{7, 21, IKBO_MAP_REPEATS}, {28, 10}}}, dtype);
        check({28, 50, {{1, 21, IKBO_MAP_ALL}, {28, 10}}}, dtype);
    }
}

TEST(ConcatLinear, NeighboursOfOneSourceAndOfSeveral) { // on Hopper, what warps of one source look up is read once
    for (const int64_t sources : {4, 70})
        for (const Order order : {Order::sorted, Order::random, Order::all_same})
            check({260, 392, {{sources, 72, IKBO_MAP_INDEX, order}, {260, 64}}}, IKBO_BF16);
}

TEST(ConcatLinear, ManyBlocksInAnyOrder) {
    for (const int32_t dtype : dtypes)
        check({24, 40, {{24, 9}, {4, 13, IKBO_MAP_REPEATS}, {24, 5}, {3, 8, IKBO_MAP_INDEX}, {1, 6, IKBO_MAP_ALL}, {90, 7, IKBO_MAP_INDEX}}},
              dtype);
    check({24, 40, {{4, 13, IKBO_MAP_REPEATS}, {3, 8, IKBO_MAP_INDEX}}}, IKBO_FP32); // nothing at the output's own rows
    check({24, 40, std::vector<Block>(16, {24, 3})}, IKBO_FP32);
}

TEST(ConcatLinear, AsManyBlocksAsThereCanBe) { // on Hopper, eight of them are multiplied by the main kernel
    std::vector<Block> blocks(8, {24, 8});
    while (blocks.size() < IKBO_MAX_BLOCKS) {
        blocks.push_back({4, 13, IKBO_MAP_REPEATS});
        blocks.push_back({5, 8, IKBO_MAP_INDEX});
        blocks.push_back({1, 6, IKBO_MAP_ALL});
        blocks.push_back({90, 7, IKBO_MAP_INDEX});
    }
    ASSERT_EQ(blocks.size(), std::size_t{IKBO_MAX_BLOCKS});
    for (const int32_t dtype : dtypes) check({24, 40, blocks}, dtype);
    for (const int32_t dtype : dtypes) check({24, 40, std::vector<Block>(IKBO_MAX_BLOCKS, {24, 3})}, dtype);
}

TEST(ConcatLinear, OneBlock) { // how ready-made copies are run
    for (const int32_t dtype : dtypes) check({70, 40, {{70, 41}}, false}, dtype);
}

TEST(ConcatLinear, BiasAndActivations) {
    for (const int32_t dtype : dtypes)
        for (const int32_t activation : {IKBO_IDENTITY, IKBO_RELU, IKBO_GELU, IKBO_SILU})
            for (const bool bias : {false, true}) check({30, 40, {{5, 20, IKBO_MAP_REPEATS}, {30, 12}}, bias, activation}, dtype);
}

TEST(ConcatLinear, Strides) {
    for (const int32_t dtype : dtypes)
        check({30, 37, {{5, 20, IKBO_MAP_REPEATS, Order::sorted, 64, 3}, {30, 11, IKBO_MAP_NONE, Order::sorted, 64, 5}}, true, IKBO_RELU, 9, 6},
              dtype);
}

TEST(ConcatLinear, RefusesAnIndexOutOfRange) {
    for (const int64_t bad : {int64_t{-1}, int64_t{3}, int64_t{1} << 40})
        for (const int32_t stage : stages()) {
            Problem problem({5, 6, {{3, 4, IKBO_MAP_INDEX}, {5, 4}}}, IKBO_FP32);
            problem.index[0] = encode_index({0, 1, bad, 2, 0}, 64);
            const Bytes out = run(problem, stage, IKBO_BAD_INDEX);
            EXPECT_EQ(out, Bytes(out.size(), 0xff)) << "wrote in spite of a bad index";
        }
}

TEST(ConcatLinear, ANanStaysWithItsUser) {
    for (const int32_t dtype : dtypes)
        for (const int32_t stage : stages()) {
            Problem clean({7, 19, {{3, 9, IKBO_MAP_INDEX}, {7, 6}}}, dtype);
            clean.index[0] = encode_index({0, 1, 2, 0, 1, 2, 2}, 64);
            Problem planted = clean;
            plant_nan(dtype, planted.x[0], 1 * 9, 9);
            plant_nan(dtype, planted.x[1], 6 * 6, 6);
            const Bytes expected = run(clean, stage), out = run(planted, stage);
            if (out.empty()) continue;
            for (int64_t b = 0; b < 7; ++b)
                for (int64_t i = b * 19; i < (b + 1) * 19; ++i) {
                    const double value = element(dtype, out.data(), i);
                    if (b == 1 || b == 4 || b == 6) {
                        EXPECT_TRUE(std::isnan(value)) << b;
                    } else {
                        EXPECT_EQ(value, element(dtype, expected.data(), i)) << b;
                    }
                }
        }
}

} // namespace ikbo::test
