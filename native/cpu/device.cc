// The CPU as a Backend: memory is host memory, a stream is NULL and every call is synchronous.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "backend.h"
#include "error.h"
#include "operators.h"
#include "simd.h"
#include "threads.h"

namespace ikbo {
namespace {

constexpr std::size_t alignment = 64;

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos) return line.substr(line.find(": ") + 2);
    return "CPU";
}

int64_t last_level_cache() {
    for (const int name : {_SC_LEVEL4_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE, _SC_LEVEL2_CACHE_SIZE})
        if (const long bytes = sysconf(name); bytes > 0) return bytes;
    return 0;
}

ikbo_device_info describe() {
    ikbo_device_info info{};
    info.ordinal = -1;
    info.units = cpu::thread_count();
    info.memory_bytes = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
    info.cache_bytes = last_level_cache();
    processor_name().copy(info.name, sizeof info.name - 1);
    text("%d threads, %s", info.units, cpu::simd().name).copy(info.detail, sizeof info.detail - 1);
    return info;
}

void *allocate(std::size_t bytes) {
    const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
    void *memory = std::aligned_alloc(alignment, rounded);
    if (memory == nullptr) fail(IKBO_OUT_OF_MEMORY, "allocating %zu bytes of host memory", bytes);
    return memory;
}

constexpr std::size_t chunk = std::size_t{1} << 20;

// Calls body(offset, size) for pieces of `bytes` on all threads.
template <class Body> void in_chunks(std::size_t bytes, Body body) {
    cpu::parallel_for(static_cast<int64_t>((bytes + chunk - 1) / chunk), [&](int64_t i, int32_t) {
        const std::size_t at = static_cast<std::size_t>(i) * chunk;
        body(at, std::min(chunk, bytes - at));
    });
}

void copy(void *to, const void *from, std::size_t bytes, void *) {
    in_chunks(bytes, [&](std::size_t at, std::size_t size) {
        std::memcpy(static_cast<char *>(to) + at, static_cast<const char *>(from) + at, size);
    });
}

// What the flushing loop writes; one for all recordings of a device, as large as the largest asked for.
class Scratch {
  public:
    char *at_least(std::size_t bytes) {
        if (bytes > bytes_) {
            memory_.reset(static_cast<char *>(allocate(bytes)));
            bytes_ = bytes;
        }
        return memory_.get();
    }

  private:
    struct Free {
        void operator()(char *memory) const { std::free(memory); }
    };
    std::unique_ptr<char, Free> memory_;
    std::size_t bytes_ = 0;
};

Replay record(const std::shared_ptr<Scratch> &scratch, Issue issue, int32_t iterations, std::size_t flush_bytes) {
    scratch->at_least(flush_bytes);
    return [scratch, issue = std::move(issue), iterations, flush_bytes] {
        using clock = std::chrono::steady_clock;
        std::vector<double> each;
        for (int32_t i = 0; i < iterations; ++i) {
            char *memory = scratch->at_least(flush_bytes);
            in_chunks(flush_bytes, [&](std::size_t at, std::size_t size) { std::memset(memory + at, i, size); });
            const auto start = clock::now();
            issue(i, nullptr);
            each.push_back(std::chrono::duration<double, std::milli>(clock::now() - start).count());
        }
        return each;
    };
}

} // namespace

Backend open_cpu() {
    Backend b;
    b.info = describe();
    b.allocate = allocate;
    b.release = std::free;
    b.upload = [](void *to, const void *from, std::size_t bytes) { std::memcpy(to, from, bytes); };
    b.download = b.upload;
    b.fill = [](void *memory, uint8_t byte, std::size_t bytes, void *) { std::memset(memory, byte, bytes); };
    b.copy = copy;
    b.stream_create = []() -> void * { return nullptr; };
    b.stream_destroy = [](void *) {};
    b.synchronize = [](void *) {};
    b.record = [scratch = std::make_shared<Scratch>()](Issue issue, int32_t iterations, std::size_t flush_bytes) {
        return record(scratch, std::move(issue), iterations, flush_bytes);
    };
    b.concat_linear = cpu::concat_linear;
    b.linear_compression = cpu::linear_compression;
    b.attention = cpu::attention;
    return b;
}

} // namespace ikbo
