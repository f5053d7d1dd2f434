// A CUDA device as a Backend: memory, streams and timing. The operators are added by their own files.
#include <array>
#include <memory>
#include <vector>

#include "backend.h"
#include "context.h"
#include "driver.h"
#include "error.h"
#include "operators.h"

namespace ikbo {
namespace {

using Shared = SharedContext;

CUdeviceptr address(const void *memory) { return reinterpret_cast<CUdeviceptr>(memory); }
CUstream stream_of(void *stream) { return static_cast<CUstream>(stream); }

ikbo_device_info describe(const Context &context, int32_t ordinal) {
    const Driver &cuda = driver();
    ikbo_device_info info{};
    check(cuda.DeviceGetName(info.name, sizeof info.name, context.device), "reading the device's name");
    std::size_t memory = 0;
    check(cuda.DeviceTotalMem(&memory, context.device), "reading the device's memory");
    const int major = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const int minor = context.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    info.ordinal = ordinal;
    info.capability = 10 * major + minor;
    info.units = context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    info.memory_bytes = static_cast<int64_t>(memory);
    info.cache_bytes = context.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
    const std::string detail = text("compute capability %d.%d, %d multiprocessors, CUDA driver %d.%d", major, minor,
                                    info.units, cuda.version / 1000, cuda.version % 1000 / 10);
    detail.copy(info.detail, sizeof info.detail - 1);
    return info;
}

// A captured graph with its events: one pair around all iterations, or one pair around each where the cache is flushed.
class Recording {
  public:
    Recording(Shared context, const Issue &issue, int32_t iterations, std::size_t flush_bytes)
        : context_(std::move(context)), iterations_(iterations) {
        const CurrentContext current(context_->handle);
        const Driver &cuda = driver();
        const std::size_t pairs = flush_bytes > 0 ? static_cast<std::size_t>(iterations) : 1;
        try {
            check(cuda.StreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "creating a stream");
            if (flush_bytes > 0) check(cuda.MemAlloc(&scratch_, flush_bytes), "allocating %zu bytes to flush the cache", flush_bytes);
            pairs_.resize(pairs);
            for (auto &pair : pairs_)
                for (CUevent &event : pair) check(cuda.EventCreate(&event, CU_EVENT_DEFAULT), "creating an event");
            capture(issue, flush_bytes);
        } catch (...) {
            destroy();
            throw;
        }
    }
    ~Recording() {
        const CurrentContext current(context_->handle);
        destroy();
    }
    Recording(const Recording &) = delete;
    Recording &operator=(const Recording &) = delete;

    std::vector<double> replay() {
        const CurrentContext current(context_->handle);
        const Driver &cuda = driver();
        const bool whole = pairs_.size() == 1 && scratch_ == 0;
        if (whole) check(cuda.EventRecord(pairs_[0][0], stream_), "recording an event");
        check(cuda.GraphLaunch(executable_, stream_), "launching the recorded graph");
        if (whole) check(cuda.EventRecord(pairs_[0][1], stream_), "recording an event");
        check(cuda.StreamSynchronize(stream_), "waiting for the recorded graph");
        std::vector<double> each;
        for (const auto &pair : pairs_) {
            float milliseconds = 0;
            check(cuda.EventElapsedTime(&milliseconds, pair[0], pair[1]), "reading a time");
            each.push_back(milliseconds);
        }
        if (whole) each.assign(static_cast<std::size_t>(iterations_), each[0] / iterations_);
        return each;
    }

  private:
    void capture(const Issue &issue, std::size_t flush_bytes) {
        const Driver &cuda = driver();
        check(cuda.StreamBeginCapture(stream_, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), "recording a graph");
        try {
            for (int32_t i = 0; i < iterations_; ++i) {
                if (flush_bytes == 0) {
                    issue(i, stream_);
                    continue;
                }
                const auto &pair = pairs_[static_cast<std::size_t>(i)];
                check(cuda.MemsetD8Async(scratch_, static_cast<unsigned char>(i), flush_bytes, stream_), "flushing the cache");
                check(cuda.EventRecordWithFlags(pair[0], stream_, CU_EVENT_RECORD_EXTERNAL), "recording an event");
                issue(i, stream_);
                check(cuda.EventRecordWithFlags(pair[1], stream_, CU_EVENT_RECORD_EXTERNAL), "recording an event");
            }
        } catch (...) {
            CUgraph broken = nullptr;
            (void)cuda.StreamEndCapture(stream_, &broken);
            if (broken != nullptr) (void)cuda.GraphDestroy(broken);
            throw;
        }
        CUgraph graph = nullptr;
        check(cuda.StreamEndCapture(stream_, &graph), "ending the recording of a graph");
        const CUresult result = cuda.GraphInstantiate(&executable_, graph, 0);
        (void)cuda.GraphDestroy(graph);
        check(result, "instantiating a graph of %d iterations", iterations_);
    }

    void destroy() {
        const Driver &cuda = driver();
        if (executable_ != nullptr) (void)cuda.GraphExecDestroy(executable_);
        for (const auto &pair : pairs_)
            for (CUevent event : pair)
                if (event != nullptr) (void)cuda.EventDestroy(event);
        if (scratch_ != 0) (void)cuda.MemFree(scratch_);
        if (stream_ != nullptr) (void)cuda.StreamDestroy(stream_);
    }

    Shared context_;
    int32_t iterations_;
    CUstream stream_ = nullptr;
    CUdeviceptr scratch_ = 0;
    CUgraphExec executable_ = nullptr;
    std::vector<std::array<CUevent, 2>> pairs_;
};

} // namespace

int32_t cuda_device_count(std::string &why) {
    try {
        int count = 0;
        check(driver().DeviceGetCount(&count), "counting CUDA devices");
        if (count == 0) why = "the CUDA driver is present, but there is no CUDA device";
        return count;
    } catch (const Error &error) {
        why = error.text;
        return 0;
    }
}

Backend open_cuda(int32_t ordinal) {
    std::string why;
    const int32_t count = cuda_device_count(why);
    if (count == 0) throw Error{IKBO_NO_DEVICE, why};
    if (ordinal >= count) fail(IKBO_NO_DEVICE, "there is no CUDA device %d; %d present", ordinal, count);
    const Shared context = std::make_shared<const Context>(ordinal);

    Backend b;
    b.info = describe(*context, ordinal);
    b.tuned_file = context->tuned_file();
    char bus_id[32] = {};
    check(driver().DeviceGetPCIBusId(bus_id, sizeof bus_id, context->device), "reading the device's place on the bus");
    b.bus_id = bus_id;
    b.refuse_address = [context](const void *memory) { return context->refuse_address(memory); };
    b.refuse_stream = [context](void *stream) { return context->refuse_stream(stream_of(stream)); };
    b.allocate = [context](std::size_t bytes) {
        const CurrentContext current(context->handle);
        CUdeviceptr memory = 0;
        check(driver().MemAlloc(&memory, bytes == 0 ? 1 : bytes), "allocating %zu bytes", bytes);
        return reinterpret_cast<void *>(memory);
    };
    b.release = [context](void *memory) {
        const CurrentContext current(context->handle);
        check(driver().MemFree(address(memory)), "freeing memory");
    };
    b.upload = [context](void *to, const void *from, std::size_t bytes) {
        const CurrentContext current(context->handle);
        check(driver().MemcpyHtoD(address(to), from, bytes), "copying %zu bytes to the device", bytes);
    };
    b.download = [context](void *to, const void *from, std::size_t bytes) {
        const CurrentContext current(context->handle);
        check(driver().MemcpyDtoH(to, address(from), bytes), "copying %zu bytes from the device", bytes);
    };
    b.fill = [context](void *memory, uint8_t byte, std::size_t bytes, void *stream) {
        const CurrentContext current(context->handle);
        check(driver().MemsetD8Async(address(memory), byte, bytes, stream_of(stream)), "filling %zu bytes", bytes);
    };
    b.copy = [context](void *to, const void *from, std::size_t bytes, void *stream) {
        const CurrentContext current(context->handle);
        check(driver().MemcpyDtoDAsync(address(to), address(from), bytes, stream_of(stream)), "copying %zu bytes", bytes);
    };
    b.stream_create = [context]() -> void * {
        const CurrentContext current(context->handle);
        CUstream stream = nullptr;
        check(driver().StreamCreate(&stream, CU_STREAM_NON_BLOCKING), "creating a stream");
        return stream;
    };
    b.stream_destroy = [context](void *stream) {
        const CurrentContext current(context->handle);
        check(driver().StreamDestroy(stream_of(stream)), "destroying a stream");
    };
    b.synchronize = [context](void *stream) {
        const CurrentContext current(context->handle);
        check(driver().StreamSynchronize(stream_of(stream)), "waiting for the stream");
    };
    b.record = [context](Issue issue, int32_t iterations, std::size_t flush_bytes) -> Replay {
        const auto recording = std::make_shared<Recording>(context, issue, iterations, flush_bytes);
        return [recording] { return recording->replay(); };
    };
    b.concat_linear = [context](const ikbo_concat_linear_shape &shape) { return cuda_concat_linear(context, with_choice(*context, shape)); };
    b.linear_compression = [context](const ikbo_linear_compression_shape &shape) { return cuda_linear_compression(context, with_choice(*context, shape)); };
    b.attention = [context](const ikbo_attention_shape &shape) { return cuda_attention(context, shape); };
    return b;
}

} // namespace ikbo
