// Each wrapper of kernels/cuda (ptx.cuh, hopper.cuh, wgmma.cuh) by itself, on data whose result is exact: where every element of a
// copied box lands, what every register of a fragment holds, what a barrier says at each of its phases. Needs a Hopper GPU.
#include <array>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include "context.h"
#include "harness.h"

extern "C" const unsigned char ikbo_image_wrappers[];

namespace ikbo::test {
namespace {

struct alignas(16) int4 { // as the kernels take it
    int32_t x, y, z, w;
};
using Words = std::vector<uint32_t>;
using Floats = std::vector<float>;

class Wrappers : public ::testing::Test {
  protected:
    void SetUp() override {
        const char *ordinal = std::getenv("IKBO_TEST_DEVICE");
        if (ordinal == nullptr) GTEST_SKIP() << "no CUDA device is named";
        context_ = std::make_shared<const Context>(std::atoi(ordinal));
        if (!context_->hopper()) GTEST_SKIP() << "not a Hopper GPU";
        current_ = std::make_unique<CurrentContext>(context_->handle);
        check(driver().ModuleLoadData(&module_, ikbo_image_wrappers), "loading the wrappers");
    }
    void TearDown() override {
        if (module_ != nullptr) (void)driver().ModuleUnload(module_);
    }

    template <class... Arguments>
    void run(const std::string &name, Launch how, const Arguments &...arguments) {
        Kernel kernel{nullptr, name};
        check(driver().ModuleGetFunction(&kernel.handle, module_, name.c_str()), "looking for %s", name.c_str());
        if (how.shared_bytes > 0)
            check(driver().FuncSetAttribute(kernel.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                            static_cast<int>(how.shared_bytes)),
                  "asking for shared memory");
        launch(kernel, how, nullptr, arguments...);
    }
    void wait() { check(driver().StreamSynchronize(nullptr), "waiting for the wrappers"); }

    // Device memory with this content.
    template <class T> void *on_device(const std::vector<T> &content) {
        buffers_.emplace_back(context_, content.size() * sizeof(T), "a test");
        void *data = buffers_.back().data();
        check(driver().MemcpyHtoD(reinterpret_cast<CUdeviceptr>(data), content.data(), content.size() * sizeof(T)), "uploading");
        return data;
    }
    template <class T> std::vector<T> read(const void *data, std::size_t count) {
        wait();
        std::vector<T> content(count);
        check(driver().MemcpyDtoH(content.data(), reinterpret_cast<CUdeviceptr>(data), count * sizeof(T)), "downloading");
        return content;
    }

    SharedContext context_;
    std::unique_ptr<CurrentContext> current_;
    CUmodule module_ = nullptr;
    std::vector<Buffer> buffers_;
};

Launch threads(unsigned count, unsigned shared_bytes = 0) {
    Launch how;
    how.threads = count;
    how.shared_bytes = shared_bytes;
    return how;
}

// Small whole numbers: products and their sums are exact.
std::vector<double> whole_numbers(std::size_t count, uint32_t seed) {
    std::mt19937 generator(seed);
    std::vector<double> values(count);
    for (double &value : values) value = static_cast<double>(generator() % 17) - 8;
    return values;
}

uint16_t bits16(int32_t dtype, double value) {
    const Bytes bytes = encode(dtype, {value});
    return static_cast<uint16_t>(bytes[0] | bytes[1] << 8);
}

} // namespace

// a[m][k], b[n][k] for the host; the device gets them K-major (a row of k) or MN-major (a row of m or n).
TEST_F(Wrappers, WgmmaOfEveryShapeAndLayout) {
    constexpr std::size_t m = 64, k = 64;
    const auto turned = [](const std::vector<double> &x, std::size_t rows) {
        std::vector<double> result(x.size());
        for (std::size_t r = 0; r < rows; ++r)
            for (std::size_t c = 0; c < k; ++c) result[c * rows + r] = x[r * k + c];
        return result;
    };
    for (const int32_t dtype : {IKBO_BF16, IKBO_FP16})
        for (const uint32_t n : {32u, 64u, 96u, 128u, 160u, 192u, 224u, 256u})
            for (const std::string lies : {"kk", "mk", "km", "rm"}) {
                if (lies[1] == 'm' && n % 64 != 0) continue;
                if (dtype == IKBO_FP16 && lies == "km") continue;
                const std::string name =
                    "multiply_" + std::string(dtype == IKBO_BF16 ? "bf16_" : "fp16_") + lies + "_" + std::to_string(n);
                SCOPED_TRACE(name);
                const std::vector<double> a = whole_numbers(m * k, n), b = whole_numbers(n * k, n + 1);
                const bool a_turned = lies[0] == 'm', b_turned = lies[1] == 'm';
                const CUtensorMap a_map = tensor_map({dtype, {64, 64}, {64}, {64, 64}},
                                                     on_device(encode(dtype, a_turned ? turned(a, m) : a)), "a");
                const CUtensorMap b_map =
                    b_turned ? tensor_map({dtype, {n, k}, {n}, {64, 64}}, on_device(encode(dtype, turned(b, n))), "b")
                             : tensor_map({dtype, {k, n}, {k}, {64, n}}, on_device(encode(dtype, b)), "b");
                float *out = static_cast<float *>(on_device(Floats(m * n, NAN)));
                run(name, threads(128, 5 * 8192 + 1024 + 64), a_map, b_map, out);
                const Floats d = read<float>(out, m * n);
                for (std::size_t t = 0; t < 128; ++t)
                    for (std::size_t i = 0; i < n / 2; ++i) {
                        const std::size_t row = t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + t % 4 * 2 + i % 2;
                        double sum = 0;
                        for (std::size_t j = 0; j < k; ++j) sum += a[row * k + j] * b[column * k + j];
                        ASSERT_EQ(d[t * (n / 2) + i], sum) << "thread " << t << " register " << i;
                    }
                buffers_.clear();
            }
}

// A tensor of 70 x 6 x 5 x 3 (innermost first; 72 where it is written) as 2, 3 and 4 dimensions. Boxes reach over its edges, on
// both sides where they are read.
TEST_F(Wrappers, CopyEngineSwizzlesFillsZerosAndClips) {
    constexpr int64_t width = 70, stride = 72;
    const std::array<std::array<int64_t, 3>, 3> sizes = {{{90, 1, 1}, {6, 15, 1}, {6, 5, 3}}};
    const std::array<std::array<uint32_t, 3>, 3> boxes = {{{16, 1, 1}, {4, 4, 1}, {2, 2, 4}}};
    for (std::size_t rank = 2; rank <= 4; ++rank) {
        const auto &size = sizes[rank - 2];
        const auto &box = boxes[rank - 2];
        std::vector<uint16_t> content(90 * stride);
        std::iota(content.begin(), content.end(), uint16_t{1});
        // Element at a coordinate, or null outside.
        const auto at = [&](std::vector<uint16_t> &tensor, int64_t wide, std::array<int64_t, 4> c) -> uint16_t * {
            const bool inside = c[0] >= 0 && c[0] < wide && c[1] >= 0 && c[1] < size[0] && c[2] >= 0 && c[2] < size[1] &&
                                c[3] >= 0 && c[3] < size[2];
            return inside ? &tensor[static_cast<std::size_t>((c[3] * size[1] + c[2]) * size[0] * stride + c[1] * stride + c[0])]
                          : nullptr;
        };
        const auto map = [&](const void *base, int64_t wide) {
            TensorShape shape{IKBO_BF16, {static_cast<uint64_t>(wide)}, {}, {64}};
            int64_t step = stride;
            for (std::size_t i = 0; i + 1 < rank; ++i) {
                shape.sizes.push_back(static_cast<uint64_t>(size[i]));
                shape.strides.push_back(static_cast<uint64_t>(step));
                shape.box.push_back(box[i]);
                step *= size[i];
            }
            return tensor_map(shape, base, "a box");
        };
        const void *from = on_device(content);
        for (const int4 start : {int4{0, 0, 0, 0}, int4{8, 3, 2, 1}, int4{-16, -1, -1, -2}, int4{64, 5, 4, 2}}) {
            SCOPED_TRACE("rank " + std::to_string(rank) + " from " + std::to_string(start.x) + " " + std::to_string(start.y));
            const int4 target = start.x < 0 ? int4{0, 0, 0, 0} : int4{start.x + 8, start.y + 1, start.z, start.w};
            std::vector<uint16_t> expected(content.size(), 0xabcd);
            void *to = on_device(expected);
            uint32_t *image = static_cast<uint32_t *>(on_device(Words(512)));
            run("copy_box_" + std::to_string(rank), threads(64, 4096), map(from, width), map(to, stride), start, target, image);
            const std::vector<uint16_t> seen = read<uint16_t>(image, 1024);
            for (int64_t row = 0; row < 16; ++row)
                for (int64_t column = 0; column < 64; ++column) {
                    const int64_t y = row % box[0], z = row / box[0] % box[1], w = row / (box[0] * box[1]);
                    const bool three = rank >= 3, four = rank >= 4;
                    const uint16_t *source = at(content, width, {start.x + column, start.y + y, three ? start.z + z : 0, four ? start.w + w : 0});
                    const uint16_t value = source == nullptr ? uint16_t{0} : *source;
                    const int64_t chunk = column / 8 ^ row % 8;
                    ASSERT_EQ(seen[static_cast<std::size_t>(row * 64 + chunk * 8 + column % 8)], value) << row << " " << column;
                    uint16_t *place = at(expected, stride, {target.x + column, target.y + y, three ? target.z + z : 0, four ? target.w + w : 0});
                    if (place != nullptr) *place = value ^ 0x8000;
                }
            const std::vector<uint16_t> written = read<uint16_t>(to, content.size());
            for (std::size_t i = 0; i < written.size(); ++i)
                ASSERT_EQ(written[i], expected[i]) << "row " << i / stride << " column " << i % stride;
        }
    }
}

TEST_F(Wrappers, MulticastReachesBothBlocks) {
    for (uint32_t rank = 2; rank <= 4; ++rank) {
        SCOPED_TRACE(rank);
        std::vector<uint16_t> content(16 * 64);
        std::iota(content.begin(), content.end(), uint16_t{1});
        TensorShape shape{IKBO_FP16, {64, 16}, {64}, {64, 8}};
        for (uint32_t i = 2; i < rank; ++i) {
            shape.sizes.push_back(1);
            shape.strides.push_back(1024);
            shape.box.push_back(1);
        }
        uint32_t *images = static_cast<uint32_t *>(on_device(Words(1024)));
        Launch how = threads(64, 4096);
        how.cluster = how.grid[0] = 2;
        run("share_box_" + std::to_string(rank), how, tensor_map(shape, on_device(content), "a box"), int4{0, 0, 0, 0},
            int4{0, 8, 0, 0}, images);
        const std::vector<uint16_t> seen = read<uint16_t>(images, 2048);
        for (std::size_t i = 0; i < 2048; ++i) {
            const std::size_t row = i % 1024 / 64, chunk = i % 64 / 8 ^ row % 8;
            ASSERT_EQ(seen[i], content[row * 64 + chunk * 8 + i % 8]) << "block " << i / 1024 << " row " << row;
        }
    }
}

TEST_F(Wrappers, BarrierPhases) {
    uint32_t *seen = static_cast<uint32_t *>(on_device(Words(17)));
    run("barrier_phases", threads(1, 2048), seen);
    // A fresh barrier has completed parity 1; two arrivals complete a phase.
    const Words expected = {0, 1, 0, 1, 1, 0, 1, 0, 0, 1, /* ring of three: slot, lap */ 0, 2, 4, 1, 3, 5, 0};
    EXPECT_EQ(read<uint32_t>(seen, 17), expected);
}

TEST_F(Wrappers, MatricesInAndOutOfSharedMemory) {
    Words in(128);
    for (uint32_t i = 0; i < 128; ++i) in[i] = (2 * i + 1) << 16 | 2 * i;
    uint32_t *images = static_cast<uint32_t *>(on_device(Words(256))), *back = static_cast<uint32_t *>(on_device(Words(256)));
    run("matrices", threads(32, 4096), static_cast<const uint32_t *>(on_device(in)), images, back);
    // Register i of lane l holds row l / 4, columns 2 (l % 4) and + 1 of matrix i; matrix i lies at rows 8 (i % 2), columns 8 (i / 2).
    const auto half = [&](std::size_t lane, std::size_t i, std::size_t e) { return static_cast<uint16_t>(2 * (4 * lane + i) + e); };
    const std::vector<uint16_t> seen = read<uint16_t>(images, 512);
    const std::vector<uint16_t> again = read<uint16_t>(back, 512);
    for (std::size_t lane = 0; lane < 32; ++lane)
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t e = 0; e < 2; ++e) {
                const std::size_t r = lane / 4, c = lane % 4 * 2 + e, top = i % 2 * 8, left = i / 2 * 8;
                EXPECT_EQ(seen[(top + r) * 16 + left + c], half(lane, i, e));
                EXPECT_EQ(seen[256 + (top + c) * 16 + left + r], half(lane, i, e));
                EXPECT_EQ(again[8 * lane + 2 * i + e], half(lane, i, e));
                EXPECT_EQ(again[256 + 8 * lane + 2 * i + e], half(c * 4 + r / 2, i, r % 2));
            }
}

TEST_F(Wrappers, MmaOfAWarp) {
    for (const int32_t dtype : {IKBO_BF16, IKBO_FP16}) {
        const std::vector<double> a = whole_numbers(16 * 16, 1), b = whole_numbers(16 * 8, 2); // a[m][k], b[k][n]
        Words a_words(128), b_words(64);
        const auto two = [&](double low, double high) {
            return bits16(dtype, low) | static_cast<uint32_t>(bits16(dtype, high)) << 16;
        };
        for (std::size_t lane = 0; lane < 32; ++lane) {
            const std::size_t g = lane / 4, q = lane % 4 * 2;
            for (std::size_t i = 0; i < 4; ++i) {
                const double *at = &a[(g + i % 2 * 8) * 16 + q + i / 2 * 8];
                a_words[4 * lane + i] = two(at[0], at[1]);
            }
            for (std::size_t i = 0; i < 2; ++i) b_words[2 * lane + i] = two(b[(q + 8 * i) * 8 + g], b[(q + 8 * i + 1) * 8 + g]);
        }
        float *out = static_cast<float *>(on_device(Floats(128)));
        run(dtype == IKBO_BF16 ? "multiply_warp_bf16" : "multiply_warp_fp16", threads(32),
            static_cast<const uint32_t *>(on_device(a_words)), static_cast<const uint32_t *>(on_device(b_words)), out);
        const Floats d = read<float>(out, 128);
        for (std::size_t i = 0; i < 128; ++i) {
            const std::size_t row = i / 4 / 4 + i % 4 / 2 * 8, column = i / 4 % 4 * 2 + i % 2;
            double sum = 0;
            for (std::size_t j = 0; j < 16; ++j) sum += a[row * 16 + j] * b[j * 8 + column];
            EXPECT_EQ(d[i], sum) << i;
        }
    }
}

TEST_F(Wrappers, PartialCopiesFillZeros) {
    Bytes in(512);
    std::iota(in.begin(), in.end(), uint8_t{1});
    uint32_t *images = static_cast<uint32_t *>(on_device(Words(256)));
    run("partial_copies", threads(17, 4096), static_cast<const uint8_t *>(on_device(in)), images);
    const Bytes seen = read<uint8_t>(images, 1024);
    for (std::size_t thread = 0; thread <= 16; ++thread)
        for (std::size_t i = 0; i < 16; ++i)
            for (const std::size_t image : {0, 512})
                EXPECT_EQ(seen[image + 16 * thread + i], i < thread ? in[16 * thread + i] : 0) << thread << " " << i;
}

TEST_F(Wrappers, ConditionalCopiesLeaveTheRestAlone) {
    Bytes in(512);
    std::iota(in.begin(), in.end(), uint8_t{1});
    uint32_t *images = static_cast<uint32_t *>(on_device(Words(256)));
    run("conditional_copies", threads(32, 4096), static_cast<const uint8_t *>(on_device(in)), images);
    const Bytes seen = read<uint8_t>(images, 512);
    for (std::size_t i = 0; i < 512; ++i) EXPECT_EQ(seen[i], i / 16 % 3 != 0 ? in[i] : 0xff) << i;
    const Words stored = read<uint32_t>(images + 128, 128);
    for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(stored[i], i);
}

TEST_F(Wrappers, AddressesOfTheOtherBlock) {
    uint32_t *out = static_cast<uint32_t *>(on_device(Words(2)));
    Launch how = threads(1, 2048);
    how.cluster = how.grid[0] = 2;
    run("look_across", how, out);
    EXPECT_EQ(read<uint32_t>(out, 2), (Words{101, 100}));
}

TEST_F(Wrappers, CountsHandOverWhatWasWrittenBefore) {
    constexpr uint32_t blocks = 33;
    uint32_t *values = static_cast<uint32_t *>(on_device(Words(blocks))), *counter = static_cast<uint32_t *>(on_device(Words(1)));
    uint32_t *out = static_cast<uint32_t *>(on_device(Words(1)));
    Launch how = threads(1);
    how.grid[0] = blocks;
    how.together = true;
    run("gather_late", how, values, counter, out);
    EXPECT_EQ(read<uint32_t>(out, 1)[0], 32 * 1000 + 31 * 32 / 2);
}

TEST_F(Wrappers, ConversionsRoundToNearestEven) {
    const Floats in = {1.0f, -2.5f, 1.00390625f, 1.01171875f, 65504.0f, 1e-3f, 0.0f, -0.0f};
    for (const int32_t dtype : {IKBO_BF16, IKBO_FP16}) {
        uint32_t *packed = static_cast<uint32_t *>(on_device(Words(4)));
        float *out = static_cast<float *>(on_device(Floats(8)));
        run(dtype == IKBO_BF16 ? "convert_bf16" : "convert_fp16", threads(4), static_cast<const float *>(on_device(in)), packed, out);
        const std::vector<uint16_t> bits = read<uint16_t>(packed, 8);
        const Floats values = read<float>(out, 8);
        for (std::size_t i = 0; i < 8; ++i) {
            EXPECT_EQ(bits[i], bits16(dtype, in[i])) << in[i];
            const Bytes bytes = encode(dtype, {in[i]});
            EXPECT_EQ(values[i], element(dtype, bytes.data(), 0)) << in[i];
        }
    }
}

TEST_F(Wrappers, ExponentialsAndLogarithms) {
    const Floats in = {0, 1, -1, 0.5f, -20.25f, 100, -INFINITY, -200};
    float *powers = static_cast<float *>(on_device(Floats(8))), *logarithms = static_cast<float *>(on_device(Floats(8)));
    run("exponentials", threads(8), static_cast<const float *>(on_device(in)), powers, logarithms);
    const Floats p = read<float>(powers, 8), l = read<float>(logarithms, 8);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(p[i] / std::exp2(in[i]), 1, 4e-7);
        EXPECT_NEAR(l[i], in[i], 1e-5);
    }
    for (const std::size_t zero : {6, 7}) {
        EXPECT_EQ(p[zero], 0);
        EXPECT_EQ(l[zero], -INFINITY);
    }
}

TEST_F(Wrappers, RegistersMoveAndNamedBarriersHandOver) {
    uint32_t *out = static_cast<uint32_t *>(on_device(Words(256)));
    run("roles", threads(384, 2048), out);
    const Words seen = read<uint32_t>(out, 256);
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(seen[i], (127 - i % 128) * 3);
}

TEST_F(Wrappers, ADependentGridSeesWhatItWaitedFor) {
    constexpr std::size_t blocks = 64, count = blocks * 128;
    uint32_t *values = static_cast<uint32_t *>(on_device(Words(count))), *arrivals = static_cast<uint32_t *>(on_device(Words(1)));
    uint32_t *out = static_cast<uint32_t *>(on_device(Words(count + 1)));
    Launch how = threads(128);
    how.grid[0] = blocks;
    run("write_late", how, values, arrivals);
    how.overlap = true;
    run("read_after", how, static_cast<const uint32_t *>(values), static_cast<const uint32_t *>(arrivals), out);
    const Words seen = read<uint32_t>(out, count + 1);
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], 7 + i % 128) << i;
    EXPECT_EQ(seen[count], blocks);
}

} // namespace ikbo::test
