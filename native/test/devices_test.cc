// Several CUDA devices of one host: every operator on the first two, from two threads; memory and streams of the wrong device;
// the caller's current context. Skipped where there are fewer devices.
#include <algorithm>
#include <memory>
#include <thread>

#include "cases.h"
#include "driver.h"

namespace ikbo::test {
namespace {

constexpr int32_t dtype = case_dtype;

struct Device {
    ikbo_device *handle = nullptr;
    ikbo_device_info info{};
    explicit Device(int32_t ordinal) {
        EXPECT_EQ(ikbo_device_open(ordinal, &handle), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_device_describe(handle, &info), IKBO_OK) << ikbo_last_error();
    }
    ~Device() { ikbo_device_close(handle); }
    Device(const Device &) = delete;
};

class Memory {
  public:
    Memory(ikbo_device *device, const Bytes &content) : device_(device), bytes_(content.size()) {
        EXPECT_EQ(ikbo_alloc(device, bytes_, &data_), IKBO_OK) << ikbo_last_error();
        EXPECT_EQ(ikbo_upload(device, data_, content.data(), bytes_), IKBO_OK) << ikbo_last_error();
    }
    ~Memory() { ikbo_free(device_, data_); }
    Memory(const Memory &) = delete;
    void *data() const { return data_; }
    Bytes read() const {
        Bytes content(bytes_);
        EXPECT_EQ(ikbo_download(device_, content.data(), data_, bytes_), IKBO_OK) << ikbo_last_error();
        return content;
    }

  private:
    ikbo_device *device_;
    std::size_t bytes_;
    void *data_ = nullptr;
};

// One operator of one device with operands and output of its own.
class Operation {
  public:
    Operation(const Case &c, const Device &device, int32_t stage) : case_(c), device_(device.handle) {
        EXPECT_EQ(c.create(device.handle, stage, &op_), IKBO_OK) << ikbo_last_error();
        for (const Bytes &operand : c.operands) memory_.push_back(std::make_unique<Memory>(device.handle, operand));
        memory_.push_back(std::make_unique<Memory>(device.handle, Bytes(c.reference.size() * 2, 0xff)));
        for (const auto &memory : memory_) at.push_back(memory->data());
    }
    ~Operation() { ikbo_op_destroy(op_); }
    Operation(const Operation &) = delete;
    ikbo_status prepare(void *stream) const { return case_.prepare(op_, at, stream); }
    ikbo_status run(void *stream) const { return case_.run(op_, at, stream); }
    Bytes output() const { return memory_.back()->read(); }
    void poison(void *stream) const {
        EXPECT_EQ(ikbo_fill(device_, at.back(), 0xff, case_.reference.size() * 2, stream), IKBO_OK) << ikbo_last_error();
    }
    void expect_right() const {
        const Error error = compare(dtype, output(), case_.reference);
        EXPECT_EQ(error.not_finite, 0) << case_.name;
        EXPECT_LE(error.relative, 2 * decomposed_limit(dtype)) << case_.name;
    }

    std::vector<void *> at;

  private:
    const Case &case_;
    ikbo_device *device_;
    ikbo_op *op_ = nullptr;
    std::vector<std::unique_ptr<Memory>> memory_;
};

void expect_refused(ikbo_status status, const std::string &words, const std::string &name) {
    EXPECT_EQ(status, IKBO_INVALID) << name;
    EXPECT_NE(std::string(ikbo_last_error()).find(words), std::string::npos) << name << ": '" << ikbo_last_error() << "' lacks '" << words << "'";
    EXPECT_NE(std::string(ikbo_last_error()).find("[" + name + " bf16, "), std::string::npos) << ikbo_last_error();
}

const std::vector<int32_t> all_stages = {IKBO_STAGE_MATERIALIZED, IKBO_STAGE_DECOMPOSED,       IKBO_STAGE_ALIGNED,
                                         IKBO_STAGE_FUSED,        IKBO_STAGE_WARP_SPECIALIZED, IKBO_STAGE_BEST};

bool served(const Case &c, const Device &device, int32_t stage) {
    ikbo_op *op = nullptr;
    const bool made = c.create(device.handle, stage, &op) == IKBO_OK;
    ikbo_op_destroy(op);
    return made;
}

CUcontext current_context() {
    CUcontext current = nullptr;
    check(driver().CtxGetCurrent(&current), "asking for the current context");
    return current;
}

} // namespace

// Each thread holds every operator and stage on both devices and lets them run at the same time, the other thread beginning with
// the other device. Results must be right, and the same bits in every round.
TEST(Devices, EveryOperatorOnTwoAtOnceFromTwoThreads) {
    if (ikbo_cuda_device_count() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
    const Device first(0), second(1);
    (void)cases();
    std::vector<Bytes> outputs[2];
    const auto work = [&](int thread) {
        const Device *order[] = {thread == 0 ? &first : &second, thread == 0 ? &second : &first};
        void *streams[2] = {};
        std::vector<std::unique_ptr<Operation>> operations[2];
        for (int i = 0; i < 2; ++i) {
            ASSERT_EQ(ikbo_stream_create(order[i]->handle, &streams[i]), IKBO_OK) << ikbo_last_error();
            for (const Case &c : cases())
                for (const int32_t stage : all_stages)
                    if (served(c, *order[i], stage)) operations[i].push_back(std::make_unique<Operation>(c, *order[i], stage));
            for (const auto &operation : operations[i]) ASSERT_EQ(operation->prepare(streams[i]), IKBO_OK) << ikbo_last_error();
        }
        std::vector<Bytes> seen;
        for (int round = 0; round < 20; ++round) {
            for (std::size_t k = 0; k < std::max(operations[0].size(), operations[1].size()); ++k)
                for (int i = 0; i < 2; ++i)
                    if (k < operations[i].size()) {
                        const Operation &operation = *operations[i][k];
                        operation.poison(streams[i]);
                        ASSERT_EQ(operation.run(streams[i]), IKBO_OK) << ikbo_last_error();
                    }
            std::vector<Bytes> now;
            for (int i = 0; i < 2; ++i) ASSERT_EQ(ikbo_synchronize(order[i]->handle, streams[i]), IKBO_OK) << ikbo_last_error();
            for (int i = 0; i < 2; ++i) // of the first device before those of the second
                for (const auto &operation : operations[thread == 0 ? i : 1 - i]) now.push_back(operation->output());
            if (round == 0) seen = now;
            EXPECT_TRUE(now == seen) << "round " << round << " of thread " << thread << " differs";
        }
        for (int i = 0; i < 2; ++i) {
            for (const auto &operation : operations[i]) operation->expect_right();
            operations[i].clear();
            ikbo_stream_destroy(order[i]->handle, streams[i]);
        }
        outputs[thread] = std::move(seen);
    };
    std::thread other(work, 1);
    work(0);
    other.join();
    EXPECT_GE(outputs[0].size(), 2 * cases().size() * 4);
    EXPECT_TRUE(outputs[0] == outputs[1]) << "the threads' results differ";
    const std::size_t half = outputs[0].size() / 2;
    if (std::string(first.info.name) == second.info.name) {
        EXPECT_TRUE(std::equal(outputs[0].begin(), outputs[0].begin() + static_cast<std::ptrdiff_t>(half),
                               outputs[0].begin() + static_cast<std::ptrdiff_t>(half), outputs[0].end()))
            << "two equal cards give different bits";
    }
}

TEST(Devices, MemoryOfAnotherIsRefused) {
    if (ikbo_cuda_device_count() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
    const Device first(0), second(1);
    for (const Case &c : cases()) {
        Operation operation(c, first, IKBO_STAGE_BEST);
        const Operation strange(c, second, IKBO_STAGE_BEST);
        for (std::size_t i = 0; i < operation.at.size(); ++i) {
            void *const own = operation.at[i];
            operation.at[i] = strange.at[i];
            expect_refused(operation.prepare(nullptr), "is memory of CUDA device 1, but the operator is one of CUDA device 0", c.name);
            operation.at[i] = own;
        }
        ASSERT_EQ(operation.prepare(nullptr), IKBO_OK) << ikbo_last_error();
        void *const out = operation.at.back();
        operation.at.back() = strange.at.back();
        expect_refused(operation.run(nullptr), "out (", c.name);
        operation.at.back() = out;
        ASSERT_EQ(operation.run(nullptr), IKBO_OK) << ikbo_last_error();
        operation.expect_right();
    }
}

TEST(Devices, MemoryOfTheHostIsRefused) {
    if (ikbo_cuda_device_count() < 1) GTEST_SKIP() << "no CUDA device";
    const Device first(0);
    for (const Case &c : cases()) {
        Operation operation(c, first, IKBO_STAGE_BEST);
        Bytes host(c.reference.size() * 2);
        for (std::size_t i = 0; i < operation.at.size(); ++i) {
            void *const own = operation.at[i];
            operation.at[i] = i + 1 < operation.at.size() ? const_cast<uint8_t *>(c.operands[i].data()) : host.data();
            expect_refused(operation.prepare(nullptr), "is no memory that CUDA device 0 knows", c.name);
            operation.at[i] = own;
        }
        ASSERT_EQ(operation.prepare(nullptr), IKBO_OK) << ikbo_last_error();
        ASSERT_EQ(operation.run(nullptr), IKBO_OK) << ikbo_last_error();
        operation.expect_right();
    }
}

TEST(Devices, AStreamOfAnotherIsRefused) {
    if (ikbo_cuda_device_count() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
    const Device first(0), second(1);
    void *own = nullptr, *strange = nullptr;
    ASSERT_EQ(ikbo_stream_create(first.handle, &own), IKBO_OK) << ikbo_last_error();
    ASSERT_EQ(ikbo_stream_create(second.handle, &strange), IKBO_OK) << ikbo_last_error();
    for (const Case &c : cases()) {
        const Operation operation(c, first, IKBO_STAGE_BEST);
        const std::string words = "the stream belongs to CUDA device 1, but the operator is one of CUDA device 0";
        expect_refused(operation.prepare(strange), words, c.name);
        ASSERT_EQ(operation.prepare(own), IKBO_OK) << ikbo_last_error();
        expect_refused(operation.run(strange), words, c.name);
        ASSERT_EQ(operation.run(own), IKBO_OK) << ikbo_last_error();
        ASSERT_EQ(ikbo_synchronize(first.handle, own), IKBO_OK) << ikbo_last_error();
        operation.expect_right();
    }
    ikbo_stream_destroy(first.handle, own);
    ikbo_stream_destroy(second.handle, strange);
}

// Whatever is current in the calling thread, none or another device's context, is so again after each call.
TEST(Devices, TheCallersContextStays) {
    if (ikbo_cuda_device_count() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
    const Device first(0), second(1);
    std::thread([&] {
        EXPECT_EQ(current_context(), nullptr);
        for (const Device *device : {&first, &second})
            for (const Case &c : cases()) {
                const Operation operation(c, *device, IKBO_STAGE_BEST);
                EXPECT_EQ(operation.prepare(nullptr), IKBO_OK) << ikbo_last_error();
                EXPECT_EQ(operation.run(nullptr), IKBO_OK) << ikbo_last_error();
                EXPECT_EQ(current_context(), nullptr) << c.name;
                operation.expect_right();
            }
        EXPECT_EQ(current_context(), nullptr);
        CUdevice of_second = 0;
        CUcontext primary = nullptr;
        check(driver().DeviceGet(&of_second, 1), "opening device 1");
        check(driver().DevicePrimaryCtxRetain(&primary, of_second), "retaining its context");
        check(driver().CtxPushCurrent(primary), "entering it");
        for (const Case &c : cases()) {
            {
                const Operation operation(c, first, IKBO_STAGE_BEST);
                EXPECT_EQ(operation.prepare(nullptr), IKBO_OK) << ikbo_last_error();
                EXPECT_EQ(operation.run(nullptr), IKBO_OK) << ikbo_last_error();
                EXPECT_EQ(current_context(), primary) << c.name;
                operation.expect_right();
            }
            EXPECT_EQ(current_context(), primary) << c.name << ", destroyed";
        }
        CUcontext popped = nullptr;
        check(driver().CtxPopCurrent(&popped), "leaving it");
        check(driver().DevicePrimaryCtxRelease(of_second), "releasing it");
    }).join();
}

namespace {

ikbo_status issue(void *operation, int32_t, void *stream) { return static_cast<const Operation *>(operation)->run(stream); }

} // namespace

TEST(Devices, GraphsOfTwoReplayAtOnce) {
    if (ikbo_cuda_device_count() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
    (void)cases();
    const auto work = [](int32_t ordinal) {
        const Device device(ordinal);
        for (const Case &c : cases()) {
            Operation operation(c, device, IKBO_STAGE_BEST);
            ASSERT_EQ(operation.prepare(nullptr), IKBO_OK) << ikbo_last_error();
            ASSERT_EQ(ikbo_synchronize(device.handle, nullptr), IKBO_OK) << ikbo_last_error();
            ikbo_recording *recording = nullptr;
            ASSERT_EQ(ikbo_record(device.handle, issue, &operation, 5, 1 << 20, &recording), IKBO_OK) << ikbo_last_error();
            for (int i = 0; i < 10; ++i) {
                double milliseconds = 0;
                ASSERT_EQ(ikbo_replay(recording, &milliseconds), IKBO_OK) << ikbo_last_error();
                EXPECT_GT(milliseconds, 0);
            }
            ikbo_recording_destroy(recording);
            operation.expect_right();
        }
    };
    std::thread other(work, 1);
    work(0);
    other.join();
}

TEST(Devices, TheSecondOutlivesTheFirst) {
    if (ikbo_cuda_device_count() < 2) GTEST_SKIP() << "fewer than two CUDA devices";
    auto first = std::make_unique<Device>(0);
    const Device second(1);
    const Operation operation(cases()[0], second, IKBO_STAGE_BEST);
    ASSERT_EQ(operation.prepare(nullptr), IKBO_OK) << ikbo_last_error();
    first.reset();
    ASSERT_EQ(operation.run(nullptr), IKBO_OK) << ikbo_last_error();
    operation.expect_right();
}

TEST(Devices, OneThatIsNotThereIsNamed) {
    const int32_t count = ikbo_cuda_device_count();
    if (count < 1) GTEST_SKIP() << "no CUDA device";
    ikbo_device *device = nullptr;
    EXPECT_EQ(ikbo_device_open(count, &device), IKBO_NO_DEVICE);
    EXPECT_EQ(device, nullptr);
    const std::string words = "there is no CUDA device " + std::to_string(count) + "; " + std::to_string(count) + " present";
    EXPECT_NE(std::string(ikbo_last_error()).find(words), std::string::npos) << ikbo_last_error();
}

TEST(Devices, EachHasItsPlaceOnTheBus) {
    std::vector<std::string> places;
    for (int32_t i = 0; i < ikbo_cuda_device_count(); ++i) {
        const Device device(i);
        places.emplace_back(ikbo_device_bus_id(device.handle));
        EXPECT_EQ(std::count(places[i].begin(), places[i].end(), ':'), 2) << places[i];
        EXPECT_EQ(std::count(places.begin(), places.end(), places[i]), 1) << "two devices at " << places[i];
    }
    if (places.empty()) GTEST_SKIP() << "no CUDA device";
}

// The driver's own words, what was attempted, and the sizes.
TEST(Devices, ADriversErrorComesWithTheSizes) {
    if (ikbo_cuda_device_count() < 1) GTEST_SKIP() << "no CUDA device";
    const Device first(0);
    ikbo_linear_compression_shape s{};
    s.dtype = dtype;
    s.stage = IKBO_STAGE_MATERIALIZED;
    s.map_kind = IKBO_MAP_ALL;
    s.batch = int64_t{1} << 26;
    s.users = 1;
    s.outputs = 1;
    s.columns = 1024;
    s.user_width = s.candidate_width = 64;
    s.weight_stride = 128;
    ikbo_op *op = nullptr;
    EXPECT_EQ(ikbo_linear_compression_create(first.handle, &s, &op), IKBO_OUT_OF_MEMORY);
    for (const char *words : {"bytes for the replica", "CUDA_ERROR_OUT_OF_MEMORY", "[linear compression bf16, B 67108864, U 1, M 1, N 1024, Ku 64, Kc 64]"})
        EXPECT_NE(std::string(ikbo_last_error()).find(words), std::string::npos) << "'" << ikbo_last_error() << "' lacks '" << words << "'";
}

} // namespace ikbo::test
