// y = act(cat(x_i[map_i]) W^T + bias).
//   stage 0  writes the concatenation, then one product
//   stage 1  one product per mapped block at its own rows, one for the rest, then a pass that gathers and adds
//   stage 3  mapped blocks with fewer rows than the output become fp32 addends that start the accumulators; the others
//            are read through their map while packing
#include <algorithm>

#include "operators.h"
#include "stage.h"

namespace ikbo::cpu {
namespace {

using Shape = ikbo_concat_linear_shape;
using Args = ikbo_concat_linear_args;

struct State {
    Shape shape;
    int32_t stage;
    const Simd &simd = cpu::simd();
    std::vector<int32_t> partial; // blocks that get their own product
    std::vector<int32_t> direct;  // blocks contracted together for every output row
    bool copies = false;          // stage 0 and something to copy
    std::vector<Weight> weights;  // one for each of `partial`, then the one of `direct`
    std::vector<Buffer> results;  // fp32 (stage 3) or dtype (stage 1), [source rows, outputs]
    Buffer concatenation, bias, scratch;
};

Map map_of(const State &s, const Args &a, int32_t i) {
    const auto &block = s.shape.block[i];
    return {block.map_kind, block.repeats, a.index[i], block.index_bits, block.source_rows};
}

Source source_of(const State &s, const Args &a, int32_t i) {
    return {a.x[i], s.shape.block[i].row_stride, s.shape.block[i].width, map_of(s, a, i)};
}

Columns columns_of(const Shape &shape, int32_t i) {
    int64_t first = 0;
    for (int32_t j = 0; j < i; ++j) first += shape.block[j].width;
    return {first, shape.block[i].width};
}

int64_t width_of(const State &s, const std::vector<int32_t> &blocks) {
    int64_t width = 0;
    for (int32_t i : blocks) width += s.shape.block[i].width;
    return width;
}

void plan(State &s) {
    for (int32_t i = 0; i < s.shape.blocks; ++i) {
        const auto &block = s.shape.block[i];
        const bool mapped = block.map_kind != IKBO_MAP_NONE;
        const bool own = s.stage == IKBO_STAGE_DECOMPOSED ? mapped
                         : s.stage == IKBO_STAGE_FUSED    ? mapped && block.source_rows < s.shape.rows
                                                          : false;
        (own ? s.partial : s.direct).push_back(i);
        if (s.stage == IKBO_STAGE_MATERIALIZED && (mapped || s.shape.blocks > 1)) s.copies = true;
    }
    const auto bytes = element_bytes(s.shape.dtype);
    const int32_t result_dtype = s.stage == IKBO_STAGE_FUSED ? int32_t{IKBO_FP32} : s.shape.dtype;
    std::size_t scratch = row_scratch_bytes(s.simd, s.shape.dtype, s.shape.rows, s.shape.outputs, width_of(s, s.direct));
    for (int32_t i : s.partial) {
        const auto &block = s.shape.block[i];
        s.results.emplace_back(static_cast<std::size_t>(block.source_rows * s.shape.outputs) * element_bytes(result_dtype));
        scratch = std::max(scratch, row_scratch_bytes(s.simd, s.shape.dtype, block.source_rows, s.shape.outputs, block.width));
    }
    if (s.copies) s.concatenation = Buffer(static_cast<std::size_t>(s.shape.rows * width_of(s, s.direct)) * bytes);
    s.scratch = Buffer(std::max(scratch, static_cast<std::size_t>(thread_count() * s.shape.outputs) * 8));
    s.bias = Buffer(static_cast<std::size_t>(s.shape.outputs) * 4);
}

void prepare(State &s, const Args &a) {
    const Shape &shape = s.shape;
    const Kernel &kernel = kernel_for(s.simd, shape.dtype);
    for (int32_t i = 0; i < shape.blocks; ++i)
        check_index(text("block %d", i).c_str(), shape.block[i].map_kind, a.index[i], shape.block[i].index_bits, shape.rows,
                    shape.block[i].source_rows);
    const auto pack = [&](const std::vector<Columns> &columns) {
        s.weights.push_back(pack_weight(s.simd, kernel, kernel.b, shape.dtype, a.weight, shape.outputs, shape.weight_stride, columns));
    };
    s.weights.clear();
    for (int32_t i : s.partial) pack({columns_of(shape, i)});
    std::vector<Columns> rest;
    for (int32_t i : s.direct) rest.push_back(columns_of(shape, i));
    pack(rest);
    if (shape.has_bias) s.simd.widen(shape.dtype, a.bias, s.bias.as<float>(), shape.outputs);
}

// Stage 1's last pass: out = act(out + gathered partial results), rounded once more, as eager code does.
void gather_add(const State &s, const Args &a) {
    const Shape &shape = s.shape;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    const int64_t chunk = 64;
    parallel_for(divide_up(shape.rows, chunk), [&](int64_t task, int32_t thread) {
        float *sum = s.scratch.as<float>() + int64_t{thread} * 2 * shape.outputs;
        float *other = sum + shape.outputs;
        for (int64_t row = task * chunk; row < std::min(shape.rows, (task + 1) * chunk); ++row) {
            std::byte *out = static_cast<std::byte *>(a.out) + row * shape.out_stride * bytes;
            s.simd.widen(shape.dtype, out, sum, shape.outputs);
            for (std::size_t p = 0; p < s.partial.size(); ++p) {
                const Map map = map_of(s, a, s.partial[p]);
                const int64_t from = source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, row) * shape.outputs;
                s.simd.widen(shape.dtype, s.results[p].as<std::byte>() + from * bytes, other, shape.outputs);
                s.simd.add(other, sum, shape.outputs);
            }
            activate(shape.activation, sum, shape.outputs);
            s.simd.narrow(shape.dtype, sum, out, shape.outputs);
        }
    });
}

void run(const State &s, const Args &a) {
    const Shape &shape = s.shape;
    if (shape.rows == 0 || shape.outputs == 0) return;
    const bool fused = s.stage == IKBO_STAGE_FUSED;
    const auto bytes = static_cast<int64_t>(element_bytes(shape.dtype));
    void *scratch = s.scratch.as<void>();
    std::vector<Addend> addends;
    for (std::size_t p = 0; p < s.partial.size(); ++p) {
        const int32_t i = s.partial[p];
        Source source = source_of(s, a, i);
        source.map = {};
        multiply_rows({s.simd, shape.dtype, shape.block[i].source_rows, shape.outputs, s.weights[p], {source}, {}, nullptr,
                       IKBO_IDENTITY, fused ? int32_t{IKBO_FP32} : shape.dtype, s.results[p].as<void>(), shape.outputs},
                      scratch);
        if (fused) addends.push_back({s.results[p].as<float>(), map_of(s, a, i)});
    }
    std::vector<Source> sources;
    if (s.copies) {
        const int64_t width = width_of(s, s.direct);
        for (int32_t i : s.direct) {
            const auto &block = shape.block[i];
            replicate(a.x[i], block.row_stride * bytes, s.concatenation.as<std::byte>() + columns_of(shape, i).first * bytes,
                      width * bytes, shape.rows, block.width * bytes, map_of(s, a, i));
        }
        sources.push_back({s.concatenation.as<void>(), width, width, {}});
    } else {
        for (int32_t i : s.direct) sources.push_back(source_of(s, a, i));
    }
    const bool later = s.stage == IKBO_STAGE_DECOMPOSED && !s.partial.empty();
    multiply_rows({s.simd, shape.dtype, shape.rows, shape.outputs, s.weights.back(), std::move(sources), std::move(addends),
                   shape.has_bias ? s.bias.as<float>() : nullptr, later ? int32_t{IKBO_IDENTITY} : shape.activation, shape.dtype,
                   a.out, shape.out_stride},
                  scratch);
    if (later) gather_add(s, a);
}

std::size_t workspace(const State &s) {
    std::size_t bytes = s.concatenation.bytes() + s.bias.bytes() + s.scratch.bytes();
    for (const Weight &weight : s.weights) bytes += weight.packed.bytes();
    for (const Buffer &result : s.results) bytes += result.bytes();
    return bytes;
}

} // namespace

Operator<Args> concat_linear(const Shape &shape) {
    const auto state = std::make_shared<State>();
    state->shape = shape;
    state->stage = stage_of(shape.stage);
    plan(*state);
    return {[state](const Args &a, void *) { prepare(*state, a); }, [state](const Args &a, void *) { run(*state, a); },
            [state] { return workspace(*state); },
            [state] { return std::string("cpu ") + kernel_for(state->simd, state->shape.dtype).name; }};
}

} // namespace ikbo::cpu
