// What a backend provides. A device is a Backend: plain data and functions, filled in by open_cpu() or open_cuda().
// Shapes and arguments arrive validated (validate.h, pointers.h); a backend checks only what is its own (indices in prepare,
// alignment, supported sizes) and throws Error. Everything that an operator keeps lives in the closures of Operator, so
// dropping the Operator frees it; the device outlives its operators.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ikbo.h"

namespace ikbo {

template <class Args> struct Operator {
    // May synchronize and allocate. Throws IKBO_BAD_INDEX when a map names a row that its source does not have.
    std::function<void(const Args &, void *stream)> prepare;
    // Asynchronous, allocates nothing, may be captured into a CUDA graph.
    std::function<void(const Args &, void *stream)> run;
    std::function<std::size_t()> workspace_bytes;
    // Name of the chosen kernel; final after prepare.
    std::function<std::string()> kernel;
};

using Issue = std::function<void(int32_t iteration, void *stream)>;

// Replays a recorded sequence and returns the milliseconds of each iteration.
using Replay = std::function<std::vector<double>()>;

struct Backend {
    ikbo_device_info info{};
    std::string tuned_file; // tuned.h; empty where there are no choices
    std::string bus_id;

    // Why an operator of this device cannot use an address, or a stream: "is memory of CUDA device 1, ..."; empty where it can.
    // Not set where nobody could tell.
    std::function<std::string(const void *address)> refuse_address;
    std::function<std::string(void *stream)> refuse_stream;

    std::function<void *(std::size_t bytes)> allocate;
    std::function<void(void *)> release;
    std::function<void(void *to, const void *from_host, std::size_t bytes)> upload;
    std::function<void(void *to_host, const void *from, std::size_t bytes)> download;
    std::function<void(void *, uint8_t byte, std::size_t bytes, void *stream)> fill;
    std::function<void(void *to, const void *from, std::size_t bytes, void *stream)> copy;
    std::function<void *()> stream_create;
    std::function<void(void *)> stream_destroy;
    std::function<void(void *stream)> synchronize;
    std::function<Replay(Issue, int32_t iterations, std::size_t flush_bytes)> record;

    std::function<Operator<ikbo_concat_linear_args>(const ikbo_concat_linear_shape &)> concat_linear;
    std::function<Operator<ikbo_linear_compression_args>(const ikbo_linear_compression_shape &)> linear_compression;
    std::function<Operator<ikbo_attention_args>(const ikbo_attention_shape &)> attention;
};

Backend open_cpu();

// Number of usable CUDA devices; when 0, `why` says what is missing ("no CUDA driver: ...").
int32_t cuda_device_count(std::string &why);
Backend open_cuda(int32_t ordinal);

} // namespace ikbo
