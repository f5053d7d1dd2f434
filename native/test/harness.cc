#include "harness.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace ikbo::test {
namespace {

constexpr uint8_t canary = 0xa5;

int32_t ordinal() {
    const char *text = std::getenv("IKBO_TEST_DEVICE");
    return text == nullptr ? -1 : std::atoi(text);
}

uint16_t to_half(double value) {
    const float x = static_cast<float>(value); // double rounding does not matter for test data
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    const uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
    const double magnitude = std::fabs(value);
    if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
    if (magnitude >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
    if (magnitude == 0) return sign;
    int exponent = 0;
    std::frexp(magnitude, &exponent);
    const int shift = std::max(exponent - 11, -24); // the value of the last place
    const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -shift)));
    if (shift == -24) return static_cast<uint16_t>(sign | units);
    return static_cast<uint16_t>(sign | ((static_cast<uint32_t>(shift + 24) << 10) + units));
}

uint16_t to_bfloat(double value) {
    const float x = static_cast<float>(value);
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    if (std::isnan(value)) return 0x7fc0;
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

} // namespace

ikbo_device *device() {
    static ikbo_device *opened = [] {
        ikbo_device *result = nullptr;
        EXPECT_EQ(ikbo_device_open(ordinal(), &result), IKBO_OK) << ikbo_last_error();
        return result;
    }();
    return opened;
}

bool on_cpu() { return ordinal() < 0; }

std::vector<int32_t> stages() {
    if (on_cpu()) return {IKBO_STAGE_MATERIALIZED, IKBO_STAGE_DECOMPOSED, IKBO_STAGE_FUSED};
    return {IKBO_STAGE_MATERIALIZED, IKBO_STAGE_DECOMPOSED, IKBO_STAGE_ALIGNED, IKBO_STAGE_FUSED, IKBO_STAGE_WARP_SPECIALIZED};
}

std::size_t size_of(int32_t dtype) { return dtype == IKBO_FP32 ? 4 : 2; }

Bytes encode(int32_t dtype, const std::vector<double> &values) {
    Bytes bytes(values.size() * size_of(dtype));
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (dtype == IKBO_FP32) {
            const float x = static_cast<float>(values[i]);
            std::memcpy(&bytes[i * 4], &x, 4);
        } else {
            const uint16_t x = dtype == IKBO_FP16 ? to_half(values[i]) : to_bfloat(values[i]);
            std::memcpy(&bytes[i * 2], &x, 2);
        }
    }
    return bytes;
}

Bytes normal(int32_t dtype, int64_t count, uint32_t seed, double scale) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> distribution(0, scale);
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double &value : values) value = distribution(generator);
    return encode(dtype, values);
}

void plant_nan(int32_t dtype, Bytes &bytes, int64_t first, int64_t count) {
    const auto size = static_cast<int64_t>(size_of(dtype));
    std::fill(bytes.begin() + first * size, bytes.begin() + (first + count) * size, uint8_t{0xff});
}

Guarded::Guarded(const Bytes &content) : bytes_(content.size()) {
    Bytes all(bytes_ + 2 * margin, canary);
    std::copy(content.begin(), content.end(), all.begin() + margin);
    EXPECT_EQ(ikbo_alloc(device(), all.size(), &memory_), IKBO_OK) << ikbo_last_error();
    EXPECT_EQ(ikbo_upload(device(), memory_, all.data(), all.size()), IKBO_OK) << ikbo_last_error();
}

Guarded Guarded::poisoned(std::size_t bytes) { return Guarded(Bytes(bytes, 0xff)); }

Guarded::Guarded(Guarded &&other) noexcept : memory_(other.memory_), bytes_(other.bytes_) { other.memory_ = nullptr; }

Guarded::~Guarded() { ikbo_free(device(), memory_); }

Bytes Guarded::read() const {
    Bytes all(bytes_ + 2 * margin);
    EXPECT_EQ(ikbo_download(device(), all.data(), memory_, all.size()), IKBO_OK) << ikbo_last_error();
    const auto intact = [](auto first, auto last) { return std::all_of(first, last, [](uint8_t b) { return b == canary; }); };
    EXPECT_TRUE(intact(all.begin(), all.begin() + margin)) << "written before the start";
    EXPECT_TRUE(intact(all.end() - margin, all.end())) << "written past the end";
    return Bytes(all.begin() + margin, all.end() - margin);
}

std::vector<int64_t> make_index(Order order, int64_t rows, int64_t sources, uint32_t seed) {
    std::mt19937 generator(seed);
    std::vector<int64_t> index(static_cast<std::size_t>(rows));
    if (sources == 0) return index;
    for (int64_t i = 0; i < rows; ++i) {
        auto &value = index[static_cast<std::size_t>(i)];
        switch (order) {
        case Order::sorted: value = i * sources / rows; break;
        case Order::reversed: value = sources - 1 - i * sources / rows; break;
        case Order::random: value = static_cast<int64_t>(generator() % static_cast<uint64_t>(sources)); break;
        case Order::all_same: value = sources / 2; break;
        case Order::all_distinct: value = i % sources; break;
        // Source 0 has no row, source 1 has one, the rest share what is left.
        case Order::uneven: value = sources < 3 ? sources - 1 : i == 0 ? 1 : 2 + i * i % (sources - 2); break;
        }
    }
    return index;
}

std::vector<int64_t> from_end(std::vector<int64_t> index, int64_t sources) {
    for (std::size_t i = 0; i < index.size(); i += 2) index[i] -= sources;
    return index;
}

Bytes encode_index(const std::vector<int64_t> &index, int32_t bits) {
    Bytes bytes(index.size() * static_cast<std::size_t>(bits / 8));
    for (std::size_t i = 0; i < index.size(); ++i) {
        const int32_t narrow = static_cast<int32_t>(index[i]);
        if (bits == 64) std::memcpy(&bytes[i * 8], &index[i], 8);
        else std::memcpy(&bytes[i * 4], &narrow, 4);
    }
    return bytes;
}

Error compare(int32_t dtype, const Bytes &out, const std::vector<double> &reference) {
    Error error;
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < reference.size(); ++i) {
        const double value = element(dtype, out.data(), static_cast<int64_t>(i));
        if (!std::isfinite(value)) {
            ++error.not_finite;
            continue;
        }
        difference += (value - reference[i]) * (value - reference[i]);
        norm += reference[i] * reference[i];
    }
    error.relative = norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
    return error;
}

double unit(int32_t dtype) { return dtype == IKBO_FP32 ? 0x1p-23 : dtype == IKBO_FP16 ? 0x1p-10 : 0x1p-7; }

double limit(int32_t dtype, double decomposed, std::size_t elements) {
    if (dtype == IKBO_FP32) return std::max(1.5 * decomposed, 0x1p-20);
    return elements < 256 ? std::max(1.2 * decomposed, unit(dtype)) : 1.2 * decomposed;
}

double decomposed_limit(int32_t dtype) { return dtype == IKBO_FP32 ? 1e-6 : unit(dtype); }

} // namespace ikbo::test
