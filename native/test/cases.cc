#include "cases.h"

#include <utility>

namespace ikbo::test {
namespace {

constexpr int32_t dtype = case_dtype;

template <class Shape, class Args>
Case make_case(const char *name, const Shape &shape, std::vector<Bytes> operands, int64_t rows, Args (*args_of)(const std::vector<void *> &),
               ikbo_status (*create)(ikbo_device *, const Shape *, ikbo_op **), ikbo_status (*prepare)(ikbo_op *, const Args *, void *),
               ikbo_status (*run)(ikbo_op *, const Args *, void *)) {
    Case c{name, std::move(operands), {}, {}, {}, {}};
    std::vector<void *> host;
    for (Bytes &operand : c.operands) host.push_back(operand.data());
    host.push_back(nullptr);
    for (int64_t row = 0; row < rows; ++row)
        for (const double value : reference_row(shape, args_of(host), row)) c.reference.push_back(value);
    c.create = [=](ikbo_device *device, int32_t stage, ikbo_op **op) {
        Shape staged = shape;
        staged.stage = stage;
        return create(device, &staged, op);
    };
    c.prepare = [=](ikbo_op *op, const std::vector<void *> &at, void *stream) {
        const Args args = args_of(at);
        return prepare(op, &args, stream);
    };
    c.run = [=](ikbo_op *op, const std::vector<void *> &at, void *stream) {
        const Args args = args_of(at);
        return run(op, &args, stream);
    };
    return c;
}

Case concat_linear_case() {
    ikbo_concat_linear_shape s{};
    s.dtype = dtype;
    s.blocks = 2;
    s.rows = 300;
    s.outputs = 136;
    s.block[0] = {20, 200, 200, IKBO_MAP_INDEX, 32, 0};
    s.block[1] = {300, 72, 72, IKBO_MAP_NONE, 0, 0};
    s.weight_stride = 272;
    s.out_stride = 136;
    return make_case<ikbo_concat_linear_shape, ikbo_concat_linear_args>(
        "concat-linear", s,
        {normal(dtype, 20 * 200, 1), encode_index(make_index(Order::random, 300, 20, 2), 32), normal(dtype, 300 * 72, 3), normal(dtype, 136 * 272, 4)},
        s.rows,
        [](const std::vector<void *> &at) {
            ikbo_concat_linear_args a{};
            a.x[0] = at[0];
            a.index[0] = at[1];
            a.x[1] = at[2];
            a.weight = at[3];
            a.out = at[4];
            return a;
        },
        ikbo_concat_linear_create, ikbo_concat_linear_prepare, ikbo_concat_linear_run);
}

Case linear_compression_case() {
    ikbo_linear_compression_shape s{};
    s.dtype = dtype;
    s.map_kind = IKBO_MAP_INDEX;
    s.index_bits = 64;
    s.batch = 24;
    s.users = 5;
    s.outputs = 65;
    s.columns = 72;
    s.user_width = 118;
    s.candidate_width = 86;
    s.weight_stride = 204;
    return make_case<ikbo_linear_compression_shape, ikbo_linear_compression_args>(
        "linear compression", s,
        {normal(dtype, 5 * 118 * 72, 1), normal(dtype, 24 * 86 * 72, 2), encode_index(make_index(Order::random, 24, 5, 3), 64), normal(dtype, 65 * 204, 4)},
        s.batch * s.outputs,
        [](const std::vector<void *> &at) { return ikbo_linear_compression_args{at[0], at[1], at[2], at[3], at[4]}; },
        ikbo_linear_compression_create, ikbo_linear_compression_prepare, ikbo_linear_compression_run);
}

Case attention_case() {
    ikbo_attention_shape s{};
    s.dtype = dtype;
    s.map_kind = IKBO_MAP_INDEX;
    s.index_bits = 32;
    s.batch = 20;
    s.users = 4;
    s.queries = 16;
    s.heads = s.key_heads = 2;
    s.head_width = 64;
    s.keys = 100;
    s.scale = 0.125f;
    return make_case<ikbo_attention_shape, ikbo_attention_args>(
        "attention", s,
        {normal(dtype, 20 * 16 * 128, 1), normal(dtype, 4 * 100 * 128, 2), normal(dtype, 4 * 100 * 128, 3), encode_index(make_index(Order::random, 20, 4, 4), 32)},
        s.batch * s.queries * s.heads,
        [](const std::vector<void *> &at) { return ikbo_attention_args{at[0], at[1], at[2], nullptr, at[3], at[4], nullptr}; },
        ikbo_attention_create, ikbo_attention_prepare, ikbo_attention_run);
}

} // namespace

const std::vector<Case> &cases() {
    static const std::vector<Case> all = [] {
        std::vector<Case> made;
        made.push_back(concat_linear_case());
        made.push_back(linear_compression_case());
        made.push_back(attention_case());
        return made;
    }();
    return all;
}

} // namespace ikbo::test
