// out[b] = W_user E_user[u(b)] + W_cand E_cand[b].
//   stage 0  writes [E_user[u(b)]; E_cand[b]] for every candidate, then one product
//   stage 1  a product per user, a product per candidate, then a pass that gathers and adds
//   stage 3  the users' fp32 results start the candidates' accumulators; with as many users as candidates both parts are
//            contracted together instead
#include <algorithm>

#include "operators.h"
#include "stage.h"

namespace ikbo::cpu {
namespace {

using Shape = ikbo_linear_compression_shape;
using Args = ikbo_linear_compression_args;

struct State {
    Shape shape;
    int32_t stage;
    const Simd &simd = cpu::simd();
    bool apart = false;  // the users have their own product
    bool copies = false; // stage 0 and a user part to copy
    Weight user, rest;
    Buffer result; // users' results: fp32 (stage 3) or dtype (stage 1), [U, M, N]
    Buffer concatenation, scratch;
};

Map map_of(const State &s, const Args &a) { return {s.shape.map_kind, s.shape.repeats, a.index, s.shape.index_bits, s.shape.users}; }

int64_t width_of(const Shape &shape) { return shape.user_width + shape.candidate_width; }

void plan(State &s) {
    const Shape &shape = s.shape;
    const auto bytes = element_bytes(shape.dtype);
    s.apart = shape.user_width > 0 && (s.stage == IKBO_STAGE_DECOMPOSED || (s.stage == IKBO_STAGE_FUSED && shape.users < shape.batch));
    s.copies = s.stage == IKBO_STAGE_MATERIALIZED && shape.user_width > 0;
    if (s.apart)
        s.result = Buffer(static_cast<std::size_t>(shape.users * shape.outputs * shape.columns) *
                          (s.stage == IKBO_STAGE_FUSED ? 4 : bytes));
    if (s.copies) s.concatenation = Buffer(static_cast<std::size_t>(shape.batch * width_of(shape) * shape.columns) * bytes);
    s.scratch = Buffer(std::max({column_scratch_bytes(s.simd, shape.dtype, shape.outputs, width_of(shape)),
                                 static_cast<std::size_t>(thread_count() * shape.columns) * 8}));
}

void prepare(State &s, const Args &a) {
    const Shape &shape = s.shape;
    const Kernel &kernel = kernel_for(s.simd, shape.dtype);
    check_index("user", shape.map_kind, a.index, shape.index_bits, shape.batch, shape.users);
    const Columns user{shape.candidate_first ? shape.candidate_width : 0, shape.user_width};
    const Columns candidate{shape.candidate_first ? 0 : shape.user_width, shape.candidate_width};
    const auto pack = [&](const std::vector<Columns> &columns) {
        return pack_weight(s.simd, kernel, kernel.a, shape.dtype, a.weight, shape.outputs, shape.weight_stride, columns);
    };
    if (s.apart) s.user = pack({user});
    s.rest = s.apart ? pack({candidate}) : pack({user, candidate});
}

void gather_add(const State &s, const Args &a) {
    const Shape &shape = s.shape;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const Map map = map_of(s, a);
    parallel_for(shape.batch, [&](int64_t b, int32_t thread) {
        float *sum = s.scratch.as<float>() + int64_t{thread} * 2 * shape.columns;
        float *other = sum + shape.columns;
        const int64_t user = source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, b);
        for (int64_t m = 0; m < shape.outputs; ++m) {
            std::byte *out = static_cast<std::byte *>(a.out) + (b * shape.outputs + m) * shape.columns * bytes;
            s.simd.widen(shape.dtype, out, sum, shape.columns);
            s.simd.widen(shape.dtype, s.result.as<std::byte>() + (user * shape.outputs + m) * shape.columns * bytes, other, shape.columns);
            s.simd.add(other, sum, shape.columns);
            s.simd.narrow(shape.dtype, sum, out, shape.columns);
        }
    });
}

void run(const State &s, const Args &a) {
    const Shape &shape = s.shape;
    if (shape.batch == 0 || shape.outputs == 0 || shape.columns == 0) return;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const bool fused = s.stage == IKBO_STAGE_FUSED;
    void *scratch = s.scratch.as<void>();
    const int64_t user_size = shape.user_width * shape.columns, candidate_size = shape.candidate_width * shape.columns;
    const Source user{a.user, user_size, shape.user_width, map_of(s, a)};
    const Source candidate{a.candidate, candidate_size, shape.candidate_width, {}};
    std::vector<Source> sources{candidate};
    std::vector<Addend> addends;
    if (s.apart) {
        Source users = user;
        users.map = {};
        multiply_columns({s.simd, shape.dtype, shape.users, shape.outputs, shape.columns, s.user, {users}, {},
                          fused ? int32_t{IKBO_FP32} : shape.dtype, s.result.as<void>()},
                         scratch);
        if (fused) addends.push_back({s.result.as<float>(), map_of(s, a)});
    } else if (s.copies) {
        const int64_t size = width_of(shape) * shape.columns;
        auto *to = s.concatenation.as<std::byte>();
        replicate(a.user, user_size * bytes, to, size * bytes, shape.batch, user_size * bytes, user.map);
        replicate(a.candidate, candidate_size * bytes, to + user_size * bytes, size * bytes, shape.batch, candidate_size * bytes, {});
        sources = {{s.concatenation.as<void>(), size, width_of(shape), {}}};
    } else if (shape.user_width > 0) {
        sources = {user, candidate};
    }
    multiply_columns({s.simd, shape.dtype, shape.batch, shape.outputs, shape.columns, s.rest, std::move(sources),
                      std::move(addends), shape.dtype, a.out},
                     scratch);
    if (s.apart && !fused) gather_add(s, a);
}

std::size_t workspace(const State &s) {
    return s.user.packed.bytes() + s.rest.packed.bytes() + s.result.bytes() + s.concatenation.bytes() + s.scratch.bytes();
}

} // namespace

Operator<Args> linear_compression(const Shape &shape) {
    const auto state = std::make_shared<State>();
    state->shape = shape;
    state->stage = stage_of(shape.stage);
    plan(*state);
    return {[state](const Args &a, void *) { prepare(*state, a); }, [state](const Args &a, void *) { run(*state, a); },
            [state] { return workspace(*state); },
            [state] { return std::string("cpu ") + kernel_for(state->simd, state->shape.dtype).name; }};
}

} // namespace ikbo::cpu
