// Shapes and arguments from JavaScript objects, operations, and recordings of them.
#include "binding.h"

namespace ikbo::node {
namespace {

int32_t map_kind(const Napi::Object &object) {
    const Napi::Value value = object.Get("map");
    const std::string name = value.IsUndefined() ? "none" : value.ToString().Utf8Value();
    if (name == "none") return IKBO_MAP_NONE;
    if (name == "repeats") return IKBO_MAP_REPEATS;
    if (name == "index") return IKBO_MAP_INDEX;
    if (name == "all") return IKBO_MAP_ALL;
    throw Napi::TypeError::New(object.Env(), "there is no map '" + name + "'");
}

int32_t small(const Napi::Object &object, const char *key, int64_t otherwise = 0) {
    return static_cast<int32_t>(integer(object, key, otherwise));
}

const void *pointer(const Napi::Object &object, const char *key) {
    const Napi::Value value = object.Get(key);
    return value.IsUndefined() || value.IsNull() ? nullptr : memory_of(value, key)->data();
}

void *target(const Napi::Object &object) { return memory_of(object.Get("out"), "out")->data(); }

// What linear compression and attention have in common: the type, the stage, and one map.
template <class Shape> Shape mapped_shape(const Napi::Object &o) {
    Shape s{};
    s.dtype = dtype_of(o.Get("dtype"));
    s.stage = small(o, "stage");
    s.map_kind = map_kind(o);
    s.index_bits = small(o, "indexBits", 32);
    s.repeats = integer(o, "repeats", 0);
    s.batch = integer(o, "batch", 0);
    s.users = integer(o, "users", 0);
    return s;
}

ikbo_concat_linear_shape concat_linear(const Napi::Object &o) {
    ikbo_concat_linear_shape s{};
    s.dtype = dtype_of(o.Get("dtype"));
    s.stage = small(o, "stage");
    s.activation = small(o, "activation");
    s.has_bias = small(o, "bias");
    s.rows = integer(o, "rows", 0);
    s.outputs = integer(o, "outputs", 0);
    const auto blocks = o.Get("blocks").As<Napi::Array>();
    s.blocks = static_cast<int32_t>(blocks.Length());
    int64_t width = 0;
    for (uint32_t i = 0; i < blocks.Length() && i < IKBO_MAX_BLOCKS; ++i) {
        const auto block = blocks.Get(i).As<Napi::Object>();
        const int64_t wide = integer(block, "width", 0);
        s.block[i] = {integer(block, "rows", 0), wide, integer(block, "stride", wide), map_kind(block), small(block, "indexBits", 32),
                      integer(block, "repeats", 0)};
        width += wide;
    }
    s.weight_stride = integer(o, "weightStride", width);
    s.out_stride = integer(o, "outStride", s.outputs);
    return s;
}

ikbo_linear_compression_shape linear_compression(const Napi::Object &o) {
    auto s = mapped_shape<ikbo_linear_compression_shape>(o);
    s.outputs = integer(o, "outputs", 0);
    s.columns = integer(o, "columns", 0);
    s.user_width = integer(o, "userWidth", 0);
    s.candidate_width = integer(o, "candidateWidth", 0);
    s.weight_stride = integer(o, "weightStride", s.user_width + s.candidate_width);
    s.candidate_first = small(o, "candidateFirst");
    return s;
}

ikbo_attention_shape attention(const Napi::Object &o) {
    auto s = mapped_shape<ikbo_attention_shape>(o);
    s.queries = integer(o, "queries", 0);
    s.heads = integer(o, "heads", 0);
    s.key_heads = integer(o, "keyHeads", 0);
    s.head_width = integer(o, "headWidth", 0);
    s.keys = integer(o, "keys", 0);
    s.total_keys = integer(o, "totalKeys", 0);
    s.ragged = s.total_keys > 0;
    s.scale = o.Get("scale").ToNumber().FloatValue();
    return s;
}

ikbo_concat_linear_args concat_linear_args(const ikbo_concat_linear_shape &shape, const Napi::Object &o) {
    ikbo_concat_linear_args a{};
    const auto x = o.Get("x").As<Napi::Array>(), index = o.Get("index").As<Napi::Array>();
    for (uint32_t i = 0; i < static_cast<uint32_t>(shape.blocks); ++i) {
        a.x[i] = memory_of(x.Get(i), "x")->data();
        const Napi::Value map = index.Get(i);
        a.index[i] = map.IsObject() ? memory_of(map, "index")->data() : nullptr;
    }
    a.weight = pointer(o, "weight");
    a.bias = pointer(o, "bias");
    a.out = target(o);
    return a;
}

// One of the functions of ikbo.h, by the type of the arguments.
template <auto concat_linear, auto linear_compression, auto attention> struct Call {
    ikbo_op *op;
    void *stream;
    ikbo_status operator()(const ikbo_concat_linear_args &a) const { return concat_linear(op, &a, stream); }
    ikbo_status operator()(const ikbo_linear_compression_args &a) const { return linear_compression(op, &a, stream); }
    ikbo_status operator()(const ikbo_attention_args &a) const { return attention(op, &a, stream); }
};
using Prepare = Call<ikbo_concat_linear_prepare, ikbo_linear_compression_prepare, ikbo_attention_prepare>;
using Run = Call<ikbo_concat_linear_run, ikbo_linear_compression_run, ikbo_attention_run>;

} // namespace

Shape read_shape(const Napi::Object &object) {
    const std::string kind = object.Get("kind").ToString().Utf8Value();
    if (kind == "concat-linear") return concat_linear(object);
    if (kind == "linear-compression") return linear_compression(object);
    if (kind == "attention") return attention(object);
    throw Napi::TypeError::New(object.Env(), "there is no operator '" + kind + "'");
}

Args read_args(const Shape &shape, const Napi::Object &o) {
    if (const auto *s = std::get_if<ikbo_concat_linear_shape>(&shape)) return concat_linear_args(*s, o);
    if (std::holds_alternative<ikbo_linear_compression_shape>(shape))
        return ikbo_linear_compression_args{pointer(o, "user"), pointer(o, "candidate"), pointer(o, "index"), pointer(o, "weight"), target(o)};
    return ikbo_attention_args{pointer(o, "q"), pointer(o, "k"), pointer(o, "v"), static_cast<const int32_t *>(pointer(o, "keyOffsets")),
                               pointer(o, "index"), target(o), nullptr};
}

Napi::Function Operation::define(Napi::Env env) {
    return DefineClass(env, "Operation",
                       {InstanceMethod<&Operation::prepare>("prepare"), InstanceMethod<&Operation::run_once>("run"),
                        InstanceMethod<&Operation::destroy>("destroy"), InstanceMethod<&Operation::kernel>("kernel"),
                        InstanceMethod<&Operation::workspace_bytes>("workspaceBytes")});
}

// new Operation(device, shape)
Operation::Operation(const Napi::CallbackInfo &info)
    : ObjectWrap(info), device_(device_argument(info, 0)), shape_(read_shape(object_argument(info, 1))) {
    struct Create {
        ikbo_device *device;
        ikbo_op **op;
        ikbo_status operator()(const ikbo_concat_linear_shape &s) const { return ikbo_concat_linear_create(device, &s, op); }
        ikbo_status operator()(const ikbo_linear_compression_shape &s) const { return ikbo_linear_compression_create(device, &s, op); }
        ikbo_status operator()(const ikbo_attention_shape &s) const { return ikbo_attention_create(device, &s, op); }
    };
    check(info.Env(), std::visit(Create{device_.get(), &op_}, shape_));
}

Napi::Value Operation::prepare(const Napi::CallbackInfo &info) {
    check(info.Env(), std::visit(Prepare{op_, nullptr}, read_args(shape_, object_argument(info, 0))));
    check(info.Env(), ikbo_synchronize(device_.get(), nullptr)); // run may use another stream
    return info.Env().Undefined();
}

ikbo_status Operation::run(const Args &args, void *stream) const {
    return std::visit(Run{op_, stream}, args);
}

Napi::Value Operation::run_once(const Napi::CallbackInfo &info) {
    check(info.Env(), run(read_args(shape_, object_argument(info, 0)), nullptr));
    check(info.Env(), ikbo_synchronize(device_.get(), nullptr));
    return info.Env().Undefined();
}

Napi::Value Operation::destroy(const Napi::CallbackInfo &info) {
    ikbo_op_destroy(op_);
    op_ = nullptr;
    return info.Env().Undefined();
}

Napi::Value Operation::kernel(const Napi::CallbackInfo &info) { return Napi::String::New(info.Env(), ikbo_op_kernel(op_)); }

Napi::Value Operation::workspace_bytes(const Napi::CallbackInfo &info) {
    return Napi::Number::New(info.Env(), static_cast<double>(ikbo_op_workspace_bytes(op_)));
}

Napi::Function Recording::define(Napi::Env env) {
    return DefineClass(env, "Recording", {InstanceMethod<&Recording::replay>("replay"), InstanceMethod<&Recording::replay_each>("replayEach"),
                                         InstanceMethod<&Recording::destroy>("destroy")});
}

// new Recording(device, { operation, args: [...] } | { from, to }, iterations, flushBytes)
Recording::Recording(const Napi::CallbackInfo &info)
    : ObjectWrap(info), device_(device_argument(info, 0)), iterations_(static_cast<int32_t>(integer_argument(info, 2))) {
    const Napi::Object work = object_argument(info, 1);
    kept_.push_back(Napi::Persistent(work));
    if (work.Get("operation").IsObject()) {
        operation_ = Operation::Unwrap(work.Get("operation").As<Napi::Object>());
        const auto sets = work.Get("args").As<Napi::Array>();
        for (uint32_t i = 0; i < sets.Length(); ++i) args_.push_back(read_args(operation_->shape(), sets.Get(i).As<Napi::Object>()));
        if (args_.empty()) throw Napi::TypeError::New(info.Env(), "a recording needs at least one set of arguments");
    } else {
        copy_from_ = memory_of(work.Get("from"), "from");
        copy_to_ = memory_of(work.Get("to"), "to");
    }
    check(info.Env(), ikbo_record(device_.get(), issue, this, iterations_, static_cast<std::size_t>(integer_argument(info, 3)), &recording_));
}

ikbo_status Recording::issue(void *context, int32_t iteration, void *stream) {
    const auto &self = *static_cast<Recording *>(context);
    if (self.operation_ != nullptr) return self.operation_->run(self.args_[static_cast<std::size_t>(iteration) % self.args_.size()], stream);
    const std::size_t bytes = std::min(self.copy_from_->bytes(), self.copy_to_->bytes());
    return ikbo_copy(self.device_.get(), self.copy_to_->data(), self.copy_from_->data(), bytes, stream);
}

Napi::Value Recording::replay(const Napi::CallbackInfo &info) {
    double milliseconds = 0;
    check(info.Env(), ikbo_replay(recording_, &milliseconds));
    return Napi::Number::New(info.Env(), milliseconds);
}

Napi::Value Recording::replay_each(const Napi::CallbackInfo &info) {
    auto each = Napi::Float64Array::New(info.Env(), static_cast<std::size_t>(iterations_));
    check(info.Env(), ikbo_replay_each(recording_, each.Data()));
    return each;
}

Napi::Value Recording::destroy(const Napi::CallbackInfo &info) {
    ikbo_recording_destroy(recording_);
    recording_ = nullptr;
    return info.Env().Undefined();
}

} // namespace ikbo::node
