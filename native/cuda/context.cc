#include "context.h"

#include <utility>

#include "error.h"
#include "images.h"

namespace ikbo {

extern const char *const tuned_rows_h100; // kernels/tuned/h100.txt

Context::Context(int32_t number) : ordinal(number) {
    const Driver &cuda = driver();
    check(cuda.DeviceGet(&device, ordinal), "opening CUDA device %d", ordinal);
    check(cuda.DevicePrimaryCtxRetain(&handle, device), "creating the context of CUDA device %d", ordinal);
    capability = 10 * attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                 attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    multiprocessors = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    const CurrentContext current(handle);
    check(cuda.MemHostAlloc(&answer, answer_bytes, CU_MEMHOSTALLOC_DEVICEMAP), "allocating memory for answers of the device");
    constexpr int fewest_of_an_h100 = 114; // multiprocessors
    choices_ = load_choices(hopper() && multiprocessors >= fewest_of_an_h100 ? tuned_rows_h100 : "", tuned_file());
}

std::string Context::tuned_file() const {
    char name[128] = {};
    check(driver().DeviceGetName(name, sizeof name, device), "reading the device's name");
    return ikbo::tuned_file(name, text("%d.%d", driver().version / 1000, driver().version % 1000 / 10));
}

// Memory that the driver does not know is the host's, and reading it ends the process's use of the device. Managed memory and
// the host's pinned memory can be reached from every device.
std::string Context::refuse_address(const void *address) const {
    const CurrentContext current(handle);
    unsigned kind = 0, managed = 0;
    int owner = -1;
    CUpointer_attribute names[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *values[] = {&kind, &managed, &owner};
    check(driver().PointerGetAttributes(3, names, values, reinterpret_cast<CUdeviceptr>(address)), "asking whose memory %p is", address);
    if (kind == 0) return text("(%p) is no memory that CUDA device %d knows; copy it to the device first", address, ordinal);
    if (kind == CU_MEMORYTYPE_DEVICE && managed == 0 && owner != ordinal)
        return text("(%p) is memory of CUDA device %d, but the operator is one of CUDA device %d", address, owner, ordinal);
    return {};
}

std::string Context::refuse_stream(CUstream stream) const {
    if (stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD) return {};
    CUcontext of = nullptr;
    if (driver().StreamGetCtx(stream, &of) != CUDA_SUCCESS || of == handle) return {}; // a failure shows again at the launch
    CUdevice owner = -1;
    const CurrentContext current(of);
    check(driver().CtxGetDevice(&owner), "asking for the stream's device");
    if (owner != device) return text("belongs to CUDA device %d, but the operator is one of CUDA device %d", owner, ordinal);
    return text("belongs to another context of CUDA device %d than the primary one, which the operator uses", ordinal);
}

Context::~Context() {
    const Driver &cuda = driver();
    if (cuda.CtxPushCurrent(handle) == CUDA_SUCCESS) {
        (void)cuda.MemFreeHost(answer);
        for (const auto &[name, module] : modules_) (void)cuda.ModuleUnload(module);
        CUcontext popped = nullptr;
        (void)cuda.CtxPopCurrent(&popped);
    }
    (void)cuda.DevicePrimaryCtxRelease(device);
}

int Context::attribute(CUdevice_attribute name) const {
    int value = 0;
    check(driver().DeviceGetAttribute(&value, name, device), "reading device attribute %d", static_cast<int>(name));
    return value;
}

Kernel Context::kernel(const std::string &image, const std::string &name, unsigned shared_bytes) const {
    const Driver &cuda = driver();
    const CurrentContext current(handle);
    const std::scoped_lock lock(mutex_);
    auto found = modules_.find(image);
    if (found == modules_.end()) {
        const void *data = nullptr;
        for (const Image &candidate : kernel_images())
            if (candidate.name == image) data = candidate.data;
        if (data == nullptr) fail(IKBO_UNSUPPORTED, "this build has no CUDA kernels '%s'", image.c_str());
        CUmodule module = nullptr;
        const CUresult result = cuda.ModuleLoadData(&module, data);
        if (result == CUDA_ERROR_NO_BINARY_FOR_GPU || result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
            fail(IKBO_UNSUPPORTED, "the kernels '%s' are not built for compute capability %d.%d", image.c_str(),
                 capability / 10, capability % 10);
        check(result, "loading the kernels '%s'", image.c_str());
        found = modules_.emplace(image, module).first;
    }
    Kernel kernel{nullptr, name};
    check(cuda.ModuleGetFunction(&kernel.handle, found->second, name.c_str()), "looking for kernel %s in '%s'",
          name.c_str(), image.c_str());
    if (shared_bytes > 0)
        check(cuda.FuncSetAttribute(kernel.handle, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(shared_bytes)),
              "asking for %u bytes of shared memory for %s", shared_bytes, name.c_str());
    return kernel;
}

Buffer::Buffer(SharedContext context, std::size_t bytes, const char *what) : context_(std::move(context)), bytes_(bytes) {
    const CurrentContext current(context_->handle);
    check(driver().MemAlloc(&address_, bytes == 0 ? 1 : bytes), "allocating %zu bytes for %s", bytes, what);
}

Buffer::~Buffer() {
    if (address_ == 0) return;
    const Driver &cuda = driver();
    CUcontext popped = nullptr;
    if (cuda.CtxPushCurrent(context_->handle) != CUDA_SUCCESS) return;
    (void)cuda.MemFree(address_);
    (void)cuda.CtxPopCurrent(&popped);
}

Buffer &Buffer::operator=(Buffer &&other) noexcept {
    std::swap(context_, other.context_);
    std::swap(address_, other.address_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

namespace {

// cuLaunchKernelEx's configuration, with the attributes that it points to.
struct Configuration {
    CUlaunchAttribute attributes[3] = {};
    CUlaunchConfig config = {};

    explicit Configuration(const Launch &how, CUstream stream) {
        config.gridDimX = how.grid[0];
        config.gridDimY = how.grid[1];
        config.gridDimZ = how.grid[2];
        config.blockDimX = how.threads;
        config.blockDimY = config.blockDimZ = 1;
        config.sharedMemBytes = how.shared_bytes;
        config.hStream = stream;
        config.attrs = attributes;
        if (how.cluster > 1) {
            CUlaunchAttribute &cluster = attributes[config.numAttrs++];
            cluster.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
            cluster.value.clusterDim.x = how.cluster;
            cluster.value.clusterDim.y = cluster.value.clusterDim.z = 1;
        }
        if (how.overlap) {
            CUlaunchAttribute &overlap = attributes[config.numAttrs++];
            overlap.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
            overlap.value.programmaticStreamSerializationAllowed = 1;
        }
        if (how.together) {
            CUlaunchAttribute &together = attributes[config.numAttrs++];
            together.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
            together.value.cooperative = 1;
        }
    }
    Configuration(const Configuration &) = delete;
};

} // namespace

void launch(const Kernel &kernel, const Launch &how, CUstream stream, void **arguments) {
    const Configuration configuration(how, stream);
    check(driver().LaunchKernelEx(&configuration.config, kernel.handle, arguments, nullptr),
          "launching %s with %u x %u x %u blocks of %u threads and %u bytes of shared memory", kernel.name.c_str(),
          how.grid[0], how.grid[1], how.grid[2], how.threads, how.shared_bytes);
}

int resident_clusters(const Kernel &kernel, const Launch &how) {
    const Configuration configuration(how, nullptr);
    int clusters = 0;
    check(driver().OccupancyMaxActiveClusters(&clusters, kernel.handle, &configuration.config),
          "asking how many clusters of %s fit", kernel.name.c_str());
    return clusters;
}

CUtensorMap tensor_map(const TensorShape &shape, const void *base, const char *what) {
    const auto rank = static_cast<uint32_t>(shape.sizes.size());
    if (reinterpret_cast<uintptr_t>(base) % 16 != 0)
        fail(IKBO_INVALID, "%s must start at a multiple of 16 bytes for this kernel; it is at %p", what, base);
    std::vector<cuuint64_t> strides;
    for (const uint64_t stride : shape.strides) strides.push_back(2 * stride);
    const std::vector<cuuint32_t> steps(rank, 1);
    CUtensorMap map;
    check(driver().TensorMapEncodeTiled(
              &map, shape.dtype == IKBO_BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16, rank,
              const_cast<void *>(base), shape.sizes.data(), strides.data(), shape.box.data(), steps.data(),
              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
              CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
          "describing %s to the copy engine (%u dimensions, innermost %llu)", what, rank,
          static_cast<unsigned long long>(shape.sizes.empty() ? 0 : shape.sizes[0]));
    return map;
}

} // namespace ikbo
