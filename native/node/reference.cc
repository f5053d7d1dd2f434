// reference(shape, args, rows) -> Float64Array: the fp64 results of the named output rows, one after another. Operands
// that lie on another device are brought to the host first.
#include "reference.h"

#include <vector>

#include "../cpu/threads.h"
#include "binding.h"

namespace ikbo::node {
namespace {

// Host copies of the memories that an argument object names, which it replaces by host memories in a new object.
class HostArguments {
  public:
    HostArguments(Napi::Env env, const Napi::Object &args) : env_(env), copy_(Napi::Object::New(env)) {
        const auto keys = args.GetPropertyNames();
        for (uint32_t i = 0; i < keys.Length(); ++i) {
            const std::string key = keys.Get(i).ToString().Utf8Value();
            copy_.Set(key, key == "out" ? args.Get(key) : moved(args.Get(key)));
        }
    }
    const Napi::Object &object() const { return copy_; }

  private:
    Napi::Value moved(const Napi::Value &value) {
        if (!value.IsObject()) return value;
        if (value.IsArray()) {
            const auto from = value.As<Napi::Array>();
            auto to = Napi::Array::New(env_, from.Length());
            for (uint32_t i = 0; i < from.Length(); ++i) to.Set(i, moved(from.Get(i)));
            return to;
        }
        Memory *memory = memory_of(value, "an argument");
        ikbo_device_info info;
        check(env_, ikbo_device_describe(memory->device(), &info));
        if (info.ordinal < 0) return value;
        const auto exports = value.As<Napi::Object>().Get("constructor").As<Napi::Function>();
        const Napi::Object host = exports.New({host_device(value), Napi::Number::New(env_, static_cast<double>(memory->bytes()))});
        check(env_, ikbo_download(memory->device(), Memory::Unwrap(host)->data(), memory->data(), memory->bytes()));
        return host;
    }

    Napi::Value host_device(const Napi::Value &) {
        if (device_.IsEmpty()) device_ = Device::define(env_).New({Napi::Number::New(env_, -1)});
        return device_;
    }

    Napi::Env env_;
    Napi::Object copy_;
    Napi::Object device_;
};

struct Rows {
    const Shape &shape;
    const Args &args;
    std::vector<double> operator()(int64_t row) const {
        if (const auto *s = std::get_if<ikbo_concat_linear_shape>(&shape))
            return reference_row(*s, std::get<ikbo_concat_linear_args>(args), row);
        if (const auto *s = std::get_if<ikbo_linear_compression_shape>(&shape))
            return reference_row(*s, std::get<ikbo_linear_compression_args>(args), row);
        return reference_row(std::get<ikbo_attention_shape>(shape), std::get<ikbo_attention_args>(args), row);
    }
};

} // namespace

Napi::Value reference(const Napi::CallbackInfo &info) {
    const Shape shape = read_shape(object_argument(info, 0));
    const HostArguments host(info.Env(), object_argument(info, 1));
    const Args args = read_args(shape, host.object());
    const auto wanted = object_argument(info, 2).As<Napi::Float64Array>();
    const std::vector<double> rows(wanted.Data(), wanted.Data() + wanted.ElementLength());
    std::vector<std::vector<double>> results(rows.size());
    const Rows row_of{shape, args};
    cpu::parallel_for(static_cast<int64_t>(rows.size()), [&](int64_t i, int32_t) {
        results[static_cast<std::size_t>(i)] = row_of(static_cast<int64_t>(rows[static_cast<std::size_t>(i)]));
    });
    std::size_t total = 0;
    for (const auto &result : results) total += result.size();
    auto out = Napi::Float64Array::New(info.Env(), total);
    std::size_t to = 0;
    for (const auto &result : results)
        for (double value : result) out[to++] = value;
    return out;
}

} // namespace ikbo::node
