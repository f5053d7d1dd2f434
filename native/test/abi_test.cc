// The ABI itself: devices, memory, error texts, validation of shapes.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "ikbo.h"

namespace {

ikbo_device *cpu() {
    static ikbo_device *device = [] {
        ikbo_device *opened = nullptr;
        EXPECT_EQ(ikbo_device_open(-1, &opened), IKBO_OK) << ikbo_last_error();
        return opened;
    }();
    return device;
}

bool error_mentions(const char *words) { return std::strstr(ikbo_last_error(), words) != nullptr; }

ikbo_concat_linear_shape two_blocks() {
    ikbo_concat_linear_shape s{};
    s.stage = IKBO_STAGE_BEST;
    s.blocks = 2;
    s.rows = 6;
    s.outputs = 3;
    s.block[0] = {2, 4, 4, IKBO_MAP_REPEATS, 0, 3};
    s.block[1] = {6, 5, 5, IKBO_MAP_NONE, 0, 0};
    s.weight_stride = 9;
    s.out_stride = 3;
    return s;
}

void expect_invalid(const ikbo_concat_linear_shape &s, const char *words) {
    ikbo_op *op = nullptr;
    EXPECT_EQ(ikbo_concat_linear_create(cpu(), &s, &op), IKBO_INVALID);
    EXPECT_EQ(op, nullptr);
    EXPECT_TRUE(error_mentions(words)) << "'" << ikbo_last_error() << "' lacks '" << words << "'";
}

} // namespace

TEST(Abi, DescribesTheCpu) {
    ikbo_device_info info;
    ASSERT_EQ(ikbo_device_describe(cpu(), &info), IKBO_OK);
    EXPECT_EQ(info.ordinal, -1);
    EXPECT_GE(info.units, 1);
    EXPECT_STREQ(ikbo_device_bus_id(cpu()), "");
    EXPECT_GT(info.memory_bytes, 0);
    EXPECT_NE(std::string(info.name), "");
    EXPECT_NE(std::string(info.detail).find("threads"), std::string::npos);
}

TEST(Abi, SaysWhyThereIsNoCudaDevice) {
    if (ikbo_cuda_device_count() > 0) GTEST_SKIP() << "a CUDA device is present";
    EXPECT_TRUE(error_mentions("CUDA")) << ikbo_last_error();
    ikbo_device *device = nullptr;
    EXPECT_EQ(ikbo_device_open(0, &device), IKBO_NO_DEVICE);
    EXPECT_EQ(device, nullptr);
}

TEST(Abi, MovesMemory) {
    std::vector<uint8_t> in(1000), out(1000);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 7);
    void *memory = nullptr;
    ASSERT_EQ(ikbo_alloc(cpu(), in.size(), &memory), IKBO_OK);
    ASSERT_EQ(ikbo_upload(cpu(), memory, in.data(), in.size()), IKBO_OK);
    ASSERT_EQ(ikbo_download(cpu(), out.data(), memory, out.size()), IKBO_OK);
    EXPECT_EQ(in, out);
    ASSERT_EQ(ikbo_fill(cpu(), memory, 0xff, in.size(), nullptr), IKBO_OK);
    ASSERT_EQ(ikbo_download(cpu(), out.data(), memory, out.size()), IKBO_OK);
    EXPECT_EQ(out, std::vector<uint8_t>(1000, 0xff));
    ikbo_free(cpu(), memory);
}

TEST(Abi, RejectsNullAndBadOrdinals) {
    ikbo_device *device = nullptr;
    EXPECT_EQ(ikbo_device_open(-2, &device), IKBO_INVALID);
    EXPECT_EQ(ikbo_device_describe(nullptr, nullptr), IKBO_INVALID);
    EXPECT_TRUE(error_mentions("NULL"));
    EXPECT_EQ(ikbo_concat_linear_prepare(nullptr, nullptr, nullptr), IKBO_INVALID);
    ikbo_op_destroy(nullptr);
    ikbo_device_close(nullptr);
    ikbo_recording_destroy(nullptr);
}

TEST(Abi, RejectsShapesThatContradictThemselves) {
    auto s = two_blocks();
    s.block[0].repeats = 4;
    expect_invalid(s, "repeated 4 times");
    s = two_blocks();
    s.block[1].source_rows = 5;
    expect_invalid(s, "no map");
    s = two_blocks();
    s.rows = -1;
    expect_invalid(s, "negative");
    s = two_blocks();
    s.weight_stride = 8;
    expect_invalid(s, "weight stride is 8");
    s = two_blocks();
    s.blocks = 65;
    expect_invalid(s, "65 blocks");
    s = two_blocks();
    s.dtype = 9;
    expect_invalid(s, "dtype is 9");
    s = two_blocks();
    s.block[0].map_kind = IKBO_MAP_INDEX;
    s.block[0].index_bits = 16;
    expect_invalid(s, "16 bits");
    s = two_blocks();
    s.block[0].map_kind = IKBO_MAP_ALL;
    s.block[0].source_rows = 0;
    expect_invalid(s, "has none");
    s = two_blocks();
    s.rows = int64_t{1} << 45;
    s.block[0].map_kind = IKBO_MAP_ALL;
    s.block[1].source_rows = s.rows;
    expect_invalid(s, "addressed");
}

TEST(Abi, RejectsHeadsThatDoNotDivide) {
    ikbo_attention_shape s{};
    s.batch = s.users = 1;
    s.queries = s.keys = 4;
    s.heads = 6;
    s.key_heads = 4;
    s.head_width = 8;
    s.scale = 1;
    ikbo_op *op = nullptr;
    EXPECT_EQ(ikbo_attention_create(cpu(), &s, &op), IKBO_INVALID);
    EXPECT_TRUE(error_mentions("4 key heads do not divide 6 heads"));
}

namespace {

struct Count {
    int calls = 0;
    bool fails = false;
};

ikbo_status count_call(void *context, int32_t, void *) {
    auto &count = *static_cast<Count *>(context);
    ++count.calls;
    return count.fails ? IKBO_UNSUPPORTED : IKBO_OK;
}

} // namespace

TEST(Abi, ReplaysARecording) {
    Count count;
    ikbo_recording *recording = nullptr;
    ASSERT_EQ(ikbo_record(cpu(), count_call, &count, 3, 1 << 16, &recording), IKBO_OK);
    double milliseconds = -1;
    ASSERT_EQ(ikbo_replay(recording, &milliseconds), IKBO_OK);
    EXPECT_EQ(count.calls, 3);
    EXPECT_GE(milliseconds, 0);
    double each[4] = {-1, -1, -1, -1};
    ASSERT_EQ(ikbo_replay_each(recording, each), IKBO_OK);
    EXPECT_EQ(count.calls, 6);
    for (int i = 0; i < 3; ++i) EXPECT_GE(each[i], 0);
    EXPECT_EQ(each[3], -1); // one for each iteration and no more
    EXPECT_EQ(ikbo_replay_each(recording, nullptr), IKBO_INVALID);
    count.fails = true;
    EXPECT_EQ(ikbo_replay(recording, &milliseconds), IKBO_UNSUPPORTED);
    ikbo_recording_destroy(recording);
    EXPECT_EQ(ikbo_record(cpu(), count_call, &count, 0, 0, &recording), IKBO_INVALID);
}
