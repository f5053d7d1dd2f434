// The library for JavaScript: devices, memory, operators and recordings as objects that free what they own. Sizes are
// numbers, data crosses as Buffers or stays in native memory, failures are thrown as Errors with the library's text.
// Loaded by the benchmark host alone, never by an editor or a language server.
#pragma once

#include <napi.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ikbo.h"

namespace ikbo::node {

// Throws a JavaScript Error when a call failed; its `status` property is the ikbo_status.
void check(Napi::Env env, ikbo_status status);

struct DeviceCloser {
    void operator()(ikbo_device *device) const { ikbo_device_close(device); }
};
using DeviceHandle = std::shared_ptr<ikbo_device>; // shared by all that lives on the device

class Memory : public Napi::ObjectWrap<Memory> {
  public:
    static Napi::Function define(Napi::Env env);
    explicit Memory(const Napi::CallbackInfo &info);
    ~Memory() override { release(); }
    void *data() const { return data_; }
    std::size_t bytes() const { return bytes_; }
    ikbo_device *device() const { return device_.get(); }

  private:
    void release();
    Napi::Value free(const Napi::CallbackInfo &info);
    Napi::Value upload(const Napi::CallbackInfo &info);
    Napi::Value download(const Napi::CallbackInfo &info);
    Napi::Value fill(const Napi::CallbackInfo &info);
    Napi::Value normal(const Napi::CallbackInfo &info);
    Napi::Value replicate(const Napi::CallbackInfo &info);
    Napi::Value values(const Napi::CallbackInfo &info);
    Napi::Value count_bytes(const Napi::CallbackInfo &info);

    DeviceHandle device_;
    void *data_ = nullptr;
    std::size_t bytes_ = 0;
};

using Shape = std::variant<ikbo_concat_linear_shape, ikbo_linear_compression_shape, ikbo_attention_shape>;
using Args = std::variant<ikbo_concat_linear_args, ikbo_linear_compression_args, ikbo_attention_args>;

// { kind: 'concat-linear' | 'linear-compression' | 'attention', ... } as declared in src/bench/host/addon.ts.
Shape read_shape(const Napi::Object &object);
Args read_args(const Shape &shape, const Napi::Object &object);

class Operation : public Napi::ObjectWrap<Operation> {
  public:
    static Napi::Function define(Napi::Env env);
    explicit Operation(const Napi::CallbackInfo &info);
    ~Operation() override { ikbo_op_destroy(op_); }
    ikbo_status run(const Args &args, void *stream) const;
    const Shape &shape() const { return shape_; }

  private:
    Napi::Value prepare(const Napi::CallbackInfo &info);
    Napi::Value run_once(const Napi::CallbackInfo &info);
    Napi::Value destroy(const Napi::CallbackInfo &info);
    Napi::Value kernel(const Napi::CallbackInfo &info);
    Napi::Value workspace_bytes(const Napi::CallbackInfo &info);

    DeviceHandle device_;
    Shape shape_;
    ikbo_op *op_ = nullptr;
};

// Runs one operation with several sets of arguments in turn, or copies memory; replay() gives milliseconds, replayEach() those of each call.
class Recording : public Napi::ObjectWrap<Recording> {
  public:
    static Napi::Function define(Napi::Env env);
    explicit Recording(const Napi::CallbackInfo &info);
    ~Recording() override { ikbo_recording_destroy(recording_); }

  private:
    static ikbo_status issue(void *context, int32_t iteration, void *stream);
    Napi::Value replay(const Napi::CallbackInfo &info);
    Napi::Value replay_each(const Napi::CallbackInfo &info);
    Napi::Value destroy(const Napi::CallbackInfo &info);

    DeviceHandle device_;
    int32_t iterations_;
    Operation *operation_ = nullptr; // null: a copy from the first memory to the second
    std::vector<Args> args_;
    Memory *copy_from_ = nullptr, *copy_to_ = nullptr;
    std::vector<Napi::ObjectReference> kept_; // what the recording uses must outlive it
    ikbo_recording *recording_ = nullptr;
};

class Device : public Napi::ObjectWrap<Device> {
  public:
    static Napi::Function define(Napi::Env env);
    explicit Device(const Napi::CallbackInfo &info);
    const DeviceHandle &handle() const { return handle_; }

  private:
    Napi::Value describe(const Napi::CallbackInfo &info);

    DeviceHandle handle_;
};


Napi::Value reference(const Napi::CallbackInfo &info);

// Argument helpers: throw a TypeError that names what is missing.
Napi::Object object_argument(const Napi::CallbackInfo &info, std::size_t i);
int64_t integer(const Napi::Object &object, const char *key, int64_t otherwise);
int64_t integer_argument(const Napi::CallbackInfo &info, std::size_t i);
DeviceHandle device_argument(const Napi::CallbackInfo &info, std::size_t i);
Memory *memory_of(const Napi::Value &value, const char *what);
int32_t dtype_of(const Napi::Value &value);

} // namespace ikbo::node
