#include "reference.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "validate.h"

namespace ikbo {
namespace {

double half_to_double(uint16_t bits) {
    const int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

double activated(int32_t activation, double x) {
    switch (activation) {
    case IKBO_RELU: return x < 0 ? 0 : x;
    case IKBO_GELU: return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    case IKBO_SILU: return x / (1 + std::exp(-x));
    default: return x;
    }
}

} // namespace

double element(int32_t dtype, const void *data, int64_t i) {
    if (dtype == IKBO_FP32) return static_cast<const float *>(data)[i];
    const uint16_t bits = static_cast<const uint16_t *>(data)[i];
    if (dtype == IKBO_FP16) return half_to_double(bits);
    const uint32_t wide = uint32_t{bits} << 16;
    float value;
    std::memcpy(&value, &wide, 4);
    return value;
}

std::vector<double> reference_row(const ikbo_concat_linear_shape &s, const ikbo_concat_linear_args &a, int64_t row) {
    std::vector<double> y(static_cast<std::size_t>(s.outputs), 0.0);
    for (int64_t m = 0; m < s.outputs; ++m) {
        double sum = s.has_bias ? element(s.dtype, a.bias, m) : 0;
        int64_t offset = 0;
        for (int32_t i = 0; i < s.blocks; ++i) {
            const auto &block = s.block[i];
            const int64_t from = source_row(block.map_kind, block.repeats, a.index[i], block.index_bits, block.source_rows, row) * block.row_stride;
            for (int64_t k = 0; k < block.width; ++k)
                sum += element(s.dtype, a.x[i], from + k) * element(s.dtype, a.weight, m * s.weight_stride + offset + k);
            offset += block.width;
        }
        y[static_cast<std::size_t>(m)] = activated(s.activation, sum);
    }
    return y;
}

std::vector<double> reference_row(const ikbo_linear_compression_shape &s, const ikbo_linear_compression_args &a, int64_t row) {
    std::vector<double> out(static_cast<std::size_t>(s.columns), 0.0);
    const int64_t b = row / s.outputs, m = row % s.outputs;
    const int64_t user = source_row(s.map_kind, s.repeats, a.index, s.index_bits, s.users, b);
    const auto contract = [&](const void *x, int64_t item, int64_t width, int64_t column) {
        for (int64_t k = 0; k < width; ++k) {
            const double w = element(s.dtype, a.weight, m * s.weight_stride + column + k);
            for (int64_t n = 0; n < s.columns; ++n)
                out[static_cast<std::size_t>(n)] += w * element(s.dtype, x, (item * width + k) * s.columns + n);
        }
    };
    if (s.user_width > 0) contract(a.user, user, s.user_width, s.candidate_first ? s.candidate_width : 0);
    contract(a.candidate, b, s.candidate_width, s.candidate_first ? 0 : s.user_width);
    return out;
}

std::vector<double> reference_row(const ikbo_attention_shape &s, const ikbo_attention_args &a, int64_t row, double *lse) {
    std::vector<double> out(static_cast<std::size_t>(s.head_width), 0.0);
    const int64_t b = row / (s.queries * s.heads), head = row % s.heads / (s.heads / s.key_heads);
    const int64_t user = source_row(s.map_kind, s.repeats, a.index, s.index_bits, s.users, b);
    const int64_t first = s.ragged ? a.key_offsets[user] : user * s.keys;
    const int64_t count = s.ragged ? a.key_offsets[user + 1] - a.key_offsets[user] : s.keys;
    const auto at = [&](int64_t key) { return ((first + key) * s.key_heads + head) * s.head_width; };
    std::vector<double> scores(static_cast<std::size_t>(count));
    double maximum = -std::numeric_limits<double>::infinity();
    for (int64_t key = 0; key < count; ++key) {
        double sum = 0;
        for (int64_t d = 0; d < s.head_width; ++d)
            sum += element(s.dtype, a.q, row * s.head_width + d) * element(s.dtype, a.k, at(key) + d);
        scores[static_cast<std::size_t>(key)] = sum * static_cast<double>(s.scale);
        maximum = std::fmax(maximum, scores[static_cast<std::size_t>(key)]);
    }
    double total = 0;
    for (int64_t key = 0; key < count; ++key) {
        const double weight = std::exp(scores[static_cast<std::size_t>(key)] - maximum);
        total += weight;
        for (int64_t d = 0; d < s.head_width; ++d)
            out[static_cast<std::size_t>(d)] += weight * element(s.dtype, a.v, at(key) + d);
    }
    for (double &value : out) value = count == 0 ? 0 : value / total;
    if (lse != nullptr) *lse = maximum + std::log(total);
    return out;
}

} // namespace ikbo
