// Attention in 16-bit types at the edges of the CUDA kernels' tiles: 64 rows of a unit, 128 keys of a block, units shared by
// candidates and candidates cut into units, references that must move. Runs on whatever device the tests run on.
#include <algorithm>
#include <array>
#include <utility>

#include "harness.h"

namespace ikbo::test {
namespace {

struct Case {
    int64_t batch, users, queries, keys;
    int64_t heads = 2, key_heads = 2, width = 128;
    Order order = Order::random;
    std::vector<int64_t> lengths = {};       // ragged when not empty
    std::pair<double, double> high = {0, 0}; // this part of every user's keys is 40 times as large
};

struct Problem {
    ikbo_attention_shape shape{};
    Bytes q, k, v, index;
    std::vector<int32_t> offsets{0};

    Problem(const Case &c, int32_t dtype) {
        shape.dtype = dtype;
        shape.map_kind = IKBO_MAP_INDEX;
        shape.index_bits = 32;
        shape.batch = c.batch;
        shape.users = c.users;
        shape.queries = c.queries;
        shape.heads = c.heads;
        shape.key_heads = c.key_heads;
        shape.head_width = c.width;
        shape.keys = c.keys;
        shape.ragged = !c.lengths.empty();
        shape.want_lse = 1;
        shape.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(c.width)));
        for (int64_t u = 0; u < c.users; ++u)
            offsets.push_back(offsets.back() +
                              static_cast<int32_t>(shape.ragged ? c.lengths[static_cast<std::size_t>(u)] : c.keys));
        shape.total_keys = shape.ragged ? offsets.back() : 0;
        q = normal(dtype, c.batch * c.queries * row_q(), 1);
        k = encode(dtype, raised_keys(c));
        v = normal(dtype, offsets.back() * row_k(), 3);
        index = encode_index(make_index(c.order, c.batch, c.users, 4), 32);
    }

    int64_t row_q() const { return shape.heads * shape.head_width; }
    int64_t row_k() const { return shape.key_heads * shape.head_width; }
    int64_t rows() const { return shape.batch * shape.queries * shape.heads; }
    int32_t user_of(int64_t b) const {
        int32_t user = 0;
        std::memcpy(&user, &index[static_cast<std::size_t>(b) * 4], 4);
        return user;
    }

    std::vector<double> raised_keys(const Case &c) const {
        std::mt19937 generator(2);
        std::normal_distribution<double> distribution;
        std::vector<double> values;
        for (std::size_t u = 0; u + 1 < offsets.size(); ++u) {
            const int64_t count = offsets[u + 1] - offsets[u];
            for (int64_t i = 0; i < count * row_k(); ++i) {
                const double place = static_cast<double>(i / row_k()) / static_cast<double>(count);
                values.push_back(distribution(generator) * (place >= c.high.first && place < c.high.second ? 40 : 1));
            }
        }
        return values;
    }

    ikbo_attention_args host() const { return {q.data(), k.data(), v.data(), offsets.data(), index.data(), nullptr, nullptr}; }
};

struct Output {
    Bytes out, lse;
};

// Nothing where the device has no such stage.
Output run(const Problem &problem, int32_t stage, int repeats = 1, int32_t tile = 0) {
    auto shape = problem.shape;
    shape.stage = stage;
    shape.tile = tile;
    ikbo_op *op = nullptr;
    const ikbo_status created = ikbo_attention_create(device(), &shape, &op);
    if (created == IKBO_UNSUPPORTED)
        return {};
    EXPECT_EQ(created, IKBO_OK) << ikbo_last_error();
    Bytes offset_bytes(problem.offsets.size() * 4);
    std::memcpy(offset_bytes.data(), problem.offsets.data(), offset_bytes.size());
    const Guarded q(problem.q), k(problem.k), v(problem.v), index(problem.index), offsets(offset_bytes);
    const auto rows = static_cast<std::size_t>(problem.rows());
    const std::size_t bytes = rows * static_cast<std::size_t>(shape.head_width) * 2;
    const Guarded out = Guarded::poisoned(bytes), lse = Guarded::poisoned(rows * 4);
    const ikbo_attention_args args{q.data(),
                                   k.data(),
                                   v.data(),
                                   static_cast<const int32_t *>(offsets.data()),
                                   index.data(),
                                   out.data(),
                                   static_cast<float *>(lse.data())};
    EXPECT_EQ(ikbo_attention_prepare(op, &args, nullptr), IKBO_OK) << ikbo_last_error();
    Output first;
    for (int i = 0; i < repeats; ++i) {
        EXPECT_EQ(ikbo_fill(device(), out.data(), 0xff, bytes, nullptr), IKBO_OK);
        EXPECT_EQ(ikbo_attention_run(op, &args, nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_synchronize(device(), nullptr), IKBO_OK) << ikbo_last_error();
        const Output output{out.read(), lse.read()};
        if (i == 0)
            first = output;
        else
            EXPECT_TRUE(output.out == first.out && output.lse == first.lse) << "repeat " << i << " differs";
    }
    ikbo_op_destroy(op);
    k.expect_unchanged(problem.k);
    v.expect_unchanged(problem.v);
    return first;
}

void check(const Case &c, int32_t dtype) {
    SCOPED_TRACE(testing::Message() << "dtype " << dtype << " B " << c.batch << " U " << c.users << " Q " << c.queries << " S "
                                    << c.keys << " H " << c.heads << "/" << c.key_heads << " D " << c.width << " high "
                                    << c.high.first << ".." << c.high.second << " ragged " << c.lengths.size());
    const Problem problem(c, dtype);
    std::vector<double> reference, lse(static_cast<std::size_t>(problem.rows()));
    for (int64_t row = 0; row < problem.rows(); ++row) {
        const int64_t b = row / (c.queries * c.heads), i = row / c.heads % c.queries, h = row % c.heads;
        const auto at = static_cast<std::size_t>((b * c.heads + h) * c.queries + i);
        for (double value : reference_row(problem.shape, problem.host(), row, &lse[at]))
            reference.push_back(value);
    }
    const double decomposed = compare(dtype, run(problem, IKBO_STAGE_DECOMPOSED).out, reference).relative;
    EXPECT_LE(decomposed, decomposed_limit(dtype));
    std::vector<std::pair<int32_t, int32_t>> choices; // stage, tile
    for (const int32_t stage : stages()) choices.emplace_back(stage, 0);
    // Every build, whatever the sizes would choose.
    if (!on_cpu())
        for (const int32_t tile : {1, 2, 3}) choices.emplace_back(IKBO_STAGE_WARP_SPECIALIZED, tile);
    for (const auto &[stage, tile] : choices) {
        SCOPED_TRACE("stage " + std::to_string(stage) + ", tile " + std::to_string(tile));
        const Output output = run(problem, stage, 1, tile);
        if (output.out.empty())
            continue;
        const Error error = compare(dtype, output.out, reference);
        EXPECT_EQ(error.not_finite, 0);
        // Where one key takes all the weight, stage 1 has a probability of exactly 1 and rounds only the output; a
        // reference that is not the row's own maximum rounds that probability too, by up to half a unit in the last place.
        const double rounding = dtype == IKBO_FP16 ? 0x1p-12 : 0x1p-9;
        const double allowed = c.high.second > 0 ? std::hypot(decomposed, rounding) : 0;
        EXPECT_LE(error.relative, std::max(allowed, limit(dtype, decomposed, reference.size())));
        for (std::size_t i = 0; i < lse.size(); ++i) {
            const double value = element(IKBO_FP32, output.lse.data(), static_cast<int64_t>(i));
            if (std::isinf(lse[i]))
                EXPECT_EQ(value, lse[i]) << "lse " << i;
            else
                EXPECT_NEAR(value, lse[i], 1e-2 + 1e-5 * std::fabs(lse[i])) << "lse " << i;
        }
    }
}

constexpr std::array types = {int32_t{IKBO_FP16}, int32_t{IKBO_BF16}};

} // namespace

TEST(CudaAttention, KeysAroundBlocks) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128})
            for (const int64_t keys : {1, 15, 16, 127, 128, 129, 175, 176, 177, 256, 500})
                check({5, 2, 16, keys, 1, 1, width}, dtype);
}

TEST(CudaAttention, ManyBlocksOfKeys) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128})
            check({5, 2, 32, 1000, 1, 1, width}, dtype);
    check({2, 1, 16, 4096, 1, 1, 128}, IKBO_BF16);
}

// Units that hold several candidates, exactly one, and parts of one; groups of heads that do and do not divide 64.
TEST(CudaAttention, QueriesAndHeads) {
    for (const int64_t width : {64, 128})
        for (const int64_t queries : {1, 5, 16, 32, 63, 64, 128, 200})
            for (const auto &[heads, key_heads] : {std::pair<int64_t, int64_t>{1, 1}, {4, 1}, {6, 2}})
                check({queries > 64 ? 2 : 7, 2, queries, 70, heads, key_heads, width}, IKBO_BF16);
}

// More tiles than a card runs at a time, and fewer: the plan cuts those of a last round that leaves more than half of it idle.
TEST(CudaAttention, WholeTilesAndCutOnes) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128}) {
            check({16, 3, 33, 140, 8, 8, width}, dtype);
            check({16, 3, 33, 20, 16, 16, width}, dtype);
        }
}

// Many short units on every multiprocessor: results that are stored before the copy engine may see them show, and the table of units is used
// over and over.
TEST(CudaAttention, ManyShortUnits) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128}) check({300, 300, 1, 15, 6, 2, width}, dtype);
}

TEST(CudaAttention, OtherWidths) {
    for (const int64_t width : {8, 40, 96, 136, 192, 256})
        check({4, 2, 9, 130, 2, 1, width}, IKBO_BF16);
}

TEST(CudaAttention, Ragged) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128}) {
            check({9, 5, 16, 300, 2, 1, width, Order::random, {300, 0, 17, 256, 128}}, dtype);
            check({40, 4, 1, 129, 2, 2, width, Order::uneven, {0, 129, 1, 0}}, dtype);
        }
}

// The scores of the first block taken (the last keys) stand for the rest: far too low, and far too high.
TEST(CudaAttention, ScoresThatGrowPastTheFirstBlock) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128}) {
            check({4, 2, 16, 700, 1, 1, width, Order::random, {}, {0, 0.3}}, dtype);
            check({4, 2, 16, 700, 1, 1, width, Order::random, {}, {0.4, 0.6}}, dtype);
            check({4, 2, 16, 700, 1, 1, width, Order::random, {}, {0.8, 1}}, dtype);
        }
}

TEST(CudaAttention, RepeatsAreBitIdentical) {
    for (const int32_t stage : stages())
        for (const int32_t tile : {0, 2, 3})
            (void)run(Problem({33, 3, 64, 400, 2, 2, 128, Order::random, {400, 130, 257}}, IKBO_BF16), stage, 50, tile);
}

// A graph that plans and computes, replayed after the index has changed.
TEST(CudaAttention, APlanMayBeCaptured) {
    for (const int32_t dtype : types) {
        const Problem problem({40, 7, 64, 200}, dtype);
        auto shape = problem.shape;
        shape.stage = IKBO_STAGE_BEST;
        ikbo_op *op = nullptr;
        ASSERT_EQ(ikbo_attention_create(device(), &shape, &op), IKBO_OK) << ikbo_last_error();
        const Guarded q(problem.q), k(problem.k), v(problem.v), index(Bytes(problem.index.size(), 0));
        const std::size_t rows = static_cast<std::size_t>(problem.rows()), bytes = rows * static_cast<std::size_t>(shape.head_width) * 2;
        const Guarded out = Guarded::poisoned(bytes), lse = Guarded::poisoned(rows * 4);
        struct Work {
            ikbo_op *op;
            ikbo_attention_args args;
        } work{op, {q.data(), k.data(), v.data(), nullptr, index.data(), out.data(), static_cast<float *>(lse.data())}};
        const auto issue = [](void *context, int32_t, void *stream) {
            const auto &w = *static_cast<Work *>(context);
            const ikbo_status planned = ikbo_attention_prepare(w.op, &w.args, stream);
            return planned == IKBO_OK ? ikbo_attention_run(w.op, &w.args, stream) : planned;
        };
        ikbo_recording *recording = nullptr;
        ASSERT_EQ(ikbo_record(device(), issue, &work, 2, 0, &recording), IKBO_OK) << ikbo_last_error();
        ASSERT_EQ(ikbo_upload(device(), index.data(), problem.index.data(), problem.index.size()), IKBO_OK);
        double milliseconds = 0;
        ASSERT_EQ(ikbo_replay(recording, &milliseconds), IKBO_OK) << ikbo_last_error();
        const Output expected = run(problem, IKBO_STAGE_BEST);
        EXPECT_TRUE(out.read() == expected.out && lse.read() == expected.lse);
        ikbo_recording_destroy(recording);
        ikbo_op_destroy(op);
    }
}

// Operators of many users and of few, made before either is prepared.
TEST(CudaAttention, OperatorsOfAllSizesLiveSideBySide) {
    std::vector<ikbo_op *> ops;
    std::vector<Problem> problems;
    for (const int32_t dtype : types)
        for (const int64_t users : {300, 2, 12'000, 30'000}) problems.emplace_back(Case{3, users, 4, 3, 1, 1, 64}, dtype);
    for (const Problem &problem : problems) {
        ikbo_op *op = nullptr;
        ASSERT_EQ(ikbo_attention_create(device(), &problem.shape, &op), IKBO_OK) << ikbo_last_error();
        ops.push_back(op);
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
        const Problem &p = problems[i];
        const Guarded q(p.q), k(p.k), v(p.v), index(p.index), out = Guarded::poisoned(p.q.size()),
            lse = Guarded::poisoned(static_cast<std::size_t>(p.rows()) * 4);
        const ikbo_attention_args args{q.data(), k.data(), v.data(), nullptr, index.data(), out.data(), static_cast<float *>(lse.data())};
        EXPECT_EQ(ikbo_attention_prepare(ops[i], &args, nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_attention_run(ops[i], &args, nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_synchronize(device(), nullptr), IKBO_OK) << ikbo_last_error();
        EXPECT_TRUE(out.read() == run(p, IKBO_STAGE_BEST).out);
        ikbo_op_destroy(ops[i]);
    }
}

// A candidate's rows do not depend on who else is there.
TEST(CudaAttention, ACandidateAloneGivesTheSameBits) {
    for (const int32_t dtype : types)
        for (const int32_t stage : stages())
            for (const int64_t queries : {8, 64}) {
                const Problem all({12, 3, queries, 300, 2, 2, 128, Order::random, {}, {0, 0.3}}, dtype);
                const Bytes together = run(all, stage).out;
                if (together.empty())
                    continue;
                const auto item = static_cast<std::size_t>(queries * all.row_q() * 2);
                for (const std::size_t b : {0, 5, 11}) {
                    Problem alone = all;
                    alone.shape.batch = 1;
                    alone.q = Bytes(all.q.begin() + static_cast<std::ptrdiff_t>(b * item),
                                    all.q.begin() + static_cast<std::ptrdiff_t>((b + 1) * item));
                    alone.index = encode_index({all.user_of(static_cast<int64_t>(b))}, 32);
                    EXPECT_TRUE(std::equal(alone.q.begin(), alone.q.end(), all.q.begin() + static_cast<std::ptrdiff_t>(b * item)));
                    const Bytes out = run(alone, stage).out;
                    EXPECT_TRUE(std::equal(out.begin(), out.end(), together.begin() + static_cast<std::ptrdiff_t>(b * item))) << b;
                }
            }
}

// NaN and infinity fill a user whose rows of K and V lie between those of others.
TEST(CudaAttention, WhatIsNotANumberStaysWithItsUser) {
    for (const int32_t dtype : types)
        for (const int64_t width : {64, 128})
            for (const int32_t stage : stages()) {
                Problem clean({9, 3, 16, 200, 2, 2, width, Order::sorted, {77, 200, 130}}, dtype);
                const Bytes expected = run(clean, stage).out;
                if (expected.empty())
                    continue;
                for (const double value : {std::nan(""), HUGE_VAL}) {
                    Problem planted = clean;
                    const auto first = static_cast<std::ptrdiff_t>(77 * clean.row_k() * 2),
                               last = static_cast<std::ptrdiff_t>(277 * clean.row_k() * 2);
                    const Bytes bad = encode(dtype, std::vector<double>(static_cast<std::size_t>(200 * clean.row_k()), value));
                    std::copy(bad.begin(), bad.end(), planted.k.begin() + first);
                    std::copy(bad.begin(), bad.end(), planted.v.begin() + first);
                    ASSERT_EQ(static_cast<std::ptrdiff_t>(bad.size()), last - first);
                    const Bytes out = run(planted, stage).out;
                    const int64_t item = 16 * clean.row_q();
                    for (int64_t b = 0; b < 9; ++b) {
                        const auto begin = static_cast<std::ptrdiff_t>(b * item * 2),
                                   end = static_cast<std::ptrdiff_t>((b + 1) * item * 2);
                        const bool same = std::equal(out.begin() + begin, out.begin() + end, expected.begin() + begin);
                        EXPECT_EQ(same, clean.user_of(b) != 1) << "candidate " << b << " stage " << stage;
                    }
                }
            }
}

} // namespace ikbo::test
