// The C ABI: validates, calls the device's backend, turns exceptions into a status and the thread's error text.
#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <variant>

#include "backend.h"
#include "describe.h"
#include "error.h"
#include "pointers.h"
#include "tuned.h"
#include "validate.h"

using namespace ikbo;

struct ikbo_device {
    std::shared_ptr<const Backend> backend;
};

namespace {

template <class Shape, class Args> struct Prepared {
    Shape shape;
    Operator<Args> op;
    bool ready = false;
    // What the device was asked about last and accepted: asking costs the host time in every call.
    std::array<const void *, most_pointers> accepted{};
    void *accepted_stream = nullptr;
};

using ConcatLinear = Prepared<ikbo_concat_linear_shape, ikbo_concat_linear_args>;
using LinearCompression = Prepared<ikbo_linear_compression_shape, ikbo_linear_compression_args>;
using Attention = Prepared<ikbo_attention_shape, ikbo_attention_args>;

thread_local std::string last_error;

template <class Body> ikbo_status guarded(Body body) {
    last_error.clear();
    try {
        body();
        return IKBO_OK;
    } catch (const Error &error) {
        last_error = error.text;
        return error.status;
    } catch (const std::bad_alloc &) {
        last_error = "out of host memory";
        return IKBO_OUT_OF_MEMORY;
    } catch (const std::exception &error) {
        last_error = error.what();
        return IKBO_DRIVER;
    }
}

template <class T> T &require(T *pointer, const char *what) {
    if (pointer == nullptr) fail(IKBO_INVALID, "%s is NULL", what);
    return *pointer;
}

} // namespace

// The backend comes first, so that it is destroyed after the operator that uses it.
struct ikbo_op {
    std::shared_ptr<const Backend> backend;
    std::variant<ConcatLinear, LinearCompression, Attention> kind;
    mutable std::string kernel, shape_class;
};

struct ikbo_recording {
    std::shared_ptr<const Backend> backend;
    Replay replay;
};

namespace {

// What fails inside says for which sizes. What no kernel takes is said of the operator, whatever its other sizes are.
template <class Shape, class Body> auto explained(const Shape &shape, Body body) {
    try {
        return body();
    } catch (Error &error) {
        if (error.status != IKBO_UNSUPPORTED) error.text += " [" + describe(shape) + "]";
        throw;
    }
}

template <class Kind, class Shape, class Create>
ikbo_status create(ikbo_device *device, const Shape *shape, ikbo_op **out, Create create_operator) {
    return guarded([&] {
        require(out, "out") = nullptr;
        const auto &backend = require(device, "device").backend;
        validate(require(shape, "shape"));
        auto op = std::make_unique<ikbo_op>();
        op->backend = backend;
        op->kind.emplace<Kind>(explained(*shape, [&] { return Kind{*shape, create_operator(*backend)}; }));
        *out = op.release();
    });
}

// Every pointer that the kernels will touch is there, and of this device; so is the stream.
template <class Kind, class Args> void check_arguments(const Backend &backend, Kind &kind, const Args &args, void *stream) {
    each_pointer(kind.shape, args, [&](const Pointer &pointer) {
        if (!pointer.needed) return;
        if (pointer.address == nullptr) fail(IKBO_INVALID, "%s is NULL", pointer.name().c_str());
        if (!backend.refuse_address || kind.accepted[pointer.place] == pointer.address) return;
        const std::string reason = backend.refuse_address(pointer.address);
        if (!reason.empty()) fail(IKBO_INVALID, "%s %s", pointer.name().c_str(), reason.c_str());
        kind.accepted[pointer.place] = pointer.address;
    });
    if (!backend.refuse_stream || kind.accepted_stream == stream) return;
    const std::string reason = backend.refuse_stream(stream);
    if (!reason.empty()) fail(IKBO_INVALID, "the stream %s", reason.c_str());
    kind.accepted_stream = stream;
}

template <class Kind> Kind &kind_of(ikbo_op *op) {
    auto *kind = std::get_if<Kind>(&require(op, "op").kind);
    if (kind == nullptr) fail(IKBO_INVALID, "this is another kind of operator");
    return *kind;
}

template <class Kind, class Args> ikbo_status prepare(ikbo_op *op, const Args *args, void *stream) {
    return guarded([&] {
        Kind &kind = kind_of<Kind>(op);
        kind.ready = false;
        explained(kind.shape, [&] {
            check_arguments(*op->backend, kind, require(args, "args"), stream);
            kind.op.prepare(*args, stream);
        });
        kind.ready = true;
    });
}

template <class Kind, class Args> ikbo_status run(ikbo_op *op, const Args *args, void *stream) {
    return guarded([&] {
        Kind &kind = kind_of<Kind>(op);
        if (!kind.ready) fail(IKBO_INVALID, "run before a successful prepare");
        explained(kind.shape, [&] {
            check_arguments(*op->backend, kind, require(args, "args"), stream);
            kind.op.run(*args, stream);
        });
    });
}

} // namespace

extern "C" {

int32_t ikbo_abi_version(void) { return IKBO_ABI_VERSION; }
const char *ikbo_version(void) { return IKBO_VERSION; }
const char *ikbo_last_error(void) { return last_error.c_str(); }

int32_t ikbo_cuda_device_count(void) {
    int32_t count = 0;
    if (guarded([&] { std::string why; count = cuda_device_count(why); if (count == 0) throw Error{IKBO_NO_DEVICE, why}; }) != IKBO_OK)
        return 0;
    return count;
}

ikbo_status ikbo_device_open(int32_t ordinal, ikbo_device **out) {
    return guarded([&] {
        require(out, "out") = nullptr;
        if (ordinal < -1) fail(IKBO_INVALID, "device ordinal %d; -1 is the CPU, 0 and up are CUDA devices", ordinal);
        auto backend = std::make_shared<const Backend>(ordinal == -1 ? open_cpu() : open_cuda(ordinal));
        *out = new ikbo_device{std::move(backend)};
    });
}

ikbo_status ikbo_device_describe(const ikbo_device *device, ikbo_device_info *out) {
    return guarded([&] { require(out, "out") = require(device, "device").backend->info; });
}

const char *ikbo_device_bus_id(const ikbo_device *device) { return device == nullptr ? "" : device->backend->bus_id.c_str(); }

void ikbo_device_close(ikbo_device *device) { delete device; }

ikbo_status ikbo_alloc(ikbo_device *device, size_t bytes, void **out) {
    return guarded([&] {
        require(out, "out") = nullptr;
        *out = require(device, "device").backend->allocate(bytes);
    });
}

void ikbo_free(ikbo_device *device, void *memory) {
    if (device != nullptr && memory != nullptr) (void)guarded([&] { device->backend->release(memory); });
}

ikbo_status ikbo_upload(ikbo_device *device, void *to, const void *from_host, size_t bytes) {
    return guarded([&] { if (bytes > 0) require(device, "device").backend->upload(to, from_host, bytes); });
}

ikbo_status ikbo_download(ikbo_device *device, void *to_host, const void *from, size_t bytes) {
    return guarded([&] { if (bytes > 0) require(device, "device").backend->download(to_host, from, bytes); });
}

ikbo_status ikbo_fill(ikbo_device *device, void *memory, uint8_t byte, size_t bytes, void *stream) {
    return guarded([&] { if (bytes > 0) require(device, "device").backend->fill(memory, byte, bytes, stream); });
}

ikbo_status ikbo_copy(ikbo_device *device, void *to, const void *from, size_t bytes, void *stream) {
    return guarded([&] { if (bytes > 0) require(device, "device").backend->copy(to, from, bytes, stream); });
}

ikbo_status ikbo_stream_create(ikbo_device *device, void **out) {
    return guarded([&] { require(out, "out") = require(device, "device").backend->stream_create(); });
}

void ikbo_stream_destroy(ikbo_device *device, void *stream) {
    if (device != nullptr && stream != nullptr) (void)guarded([&] { device->backend->stream_destroy(stream); });
}

ikbo_status ikbo_synchronize(ikbo_device *device, void *stream) {
    return guarded([&] { require(device, "device").backend->synchronize(stream); });
}

ikbo_status ikbo_record(ikbo_device *device, ikbo_issue issue, void *context, int32_t iterations, size_t flush_bytes,
                        ikbo_recording **out) {
    return guarded([&] {
        require(out, "out") = nullptr;
        const auto &backend = require(device, "device").backend;
        if (issue == nullptr) fail(IKBO_INVALID, "issue is NULL");
        if (iterations < 1) fail(IKBO_INVALID, "%d iterations; at least 1", iterations);
        const Issue checked = [issue, context](int32_t iteration, void *stream) {
            const ikbo_status status = issue(context, iteration, stream);
            if (status != IKBO_OK) throw Error{status, last_error};
        };
        *out = new ikbo_recording{backend, backend->record(checked, iterations, flush_bytes)};
    });
}

ikbo_status ikbo_replay(ikbo_recording *recording, double *milliseconds) {
    return guarded([&] {
        double &mean = require(milliseconds, "milliseconds");
        const std::vector<double> each = require(recording, "recording").replay();
        mean = std::accumulate(each.begin(), each.end(), 0.0) / static_cast<double>(each.size());
    });
}

ikbo_status ikbo_replay_each(ikbo_recording *recording, double *milliseconds) {
    return guarded([&] {
        double *first = &require(milliseconds, "milliseconds");
        const std::vector<double> each = require(recording, "recording").replay();
        std::copy(each.begin(), each.end(), first);
    });
}

void ikbo_recording_destroy(ikbo_recording *recording) { delete recording; }

ikbo_status ikbo_concat_linear_create(ikbo_device *device, const ikbo_concat_linear_shape *shape, ikbo_op **out) {
    return create<ConcatLinear>(device, shape, out, [&](const Backend &b) { return b.concat_linear(*shape); });
}

ikbo_status ikbo_concat_linear_prepare(ikbo_op *op, const ikbo_concat_linear_args *args, void *stream) {
    return prepare<ConcatLinear>(op, args, stream);
}

ikbo_status ikbo_concat_linear_run(ikbo_op *op, const ikbo_concat_linear_args *args, void *stream) {
    return run<ConcatLinear>(op, args, stream);
}

ikbo_status ikbo_linear_compression_create(ikbo_device *device, const ikbo_linear_compression_shape *shape, ikbo_op **out) {
    return create<LinearCompression>(device, shape, out, [&](const Backend &b) { return b.linear_compression(*shape); });
}

ikbo_status ikbo_linear_compression_prepare(ikbo_op *op, const ikbo_linear_compression_args *args, void *stream) {
    return prepare<LinearCompression>(op, args, stream);
}

ikbo_status ikbo_linear_compression_run(ikbo_op *op, const ikbo_linear_compression_args *args, void *stream) {
    return run<LinearCompression>(op, args, stream);
}

ikbo_status ikbo_attention_create(ikbo_device *device, const ikbo_attention_shape *shape, ikbo_op **out) {
    return create<Attention>(device, shape, out, [&](const Backend &b) { return b.attention(*shape); });
}

ikbo_status ikbo_attention_prepare(ikbo_op *op, const ikbo_attention_args *args, void *stream) {
    return prepare<Attention>(op, args, stream);
}

ikbo_status ikbo_attention_run(ikbo_op *op, const ikbo_attention_args *args, void *stream) {
    return run<Attention>(op, args, stream);
}

size_t ikbo_op_workspace_bytes(const ikbo_op *op) {
    if (op == nullptr) return 0;
    return std::visit([](const auto &kind) { return kind.op.workspace_bytes(); }, op->kind);
}

const char *ikbo_op_kernel(const ikbo_op *op) {
    if (op == nullptr) return "";
    op->kernel = std::visit([](const auto &kind) { return kind.op.kernel(); }, op->kind);
    return op->kernel.c_str();
}

const char *ikbo_op_class(const ikbo_op *op) {
    if (op == nullptr) return "";
    op->shape_class = std::visit([](const auto &kind) { return class_of(kind.shape); }, op->kind);
    return op->shape_class.c_str();
}

void ikbo_op_destroy(ikbo_op *op) { delete op; }

const char *ikbo_tuned_file(const ikbo_device *device) { return device == nullptr ? "" : device->backend->tuned_file.c_str(); }

} // extern "C"
