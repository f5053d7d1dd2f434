// A CUDA device that is in use: its primary context, what it can do, and the kernels loaded on it.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "driver.h"
#include "tuned.h"

namespace ikbo {

// A function of a loaded module, kept with its name for error texts.
struct Kernel {
    CUfunction handle = nullptr;
    std::string name;
};

class Context {
  public:
    explicit Context(int32_t ordinal);
    ~Context();
    Context(const Context &) = delete;
    Context &operator=(const Context &) = delete;

    int attribute(CUdevice_attribute name) const;

    // Kernel `name` of the embedded image `image` (the name of its .cu file). Loads the image at first use; raises the limit
    // of dynamic shared memory to `shared_bytes`. Throws IKBO_UNSUPPORTED where the device cannot run the image.
    Kernel kernel(const std::string &image, const std::string &name, unsigned shared_bytes = 0) const;

    // Whether kernels built for sm_90a run here.
    bool hopper() const { return capability == 90; }

    // What was measured for shapes of this class; IKBO_STAGE_BEST where nothing was.
    template <class Shape> Choice choice(const Shape &shape) const { return choices_.find(class_of(shape)); }
    std::string tuned_file() const;

    // Why a kernel here must not get this address or stream (backend.h); empty where it may.
    std::string refuse_address(const void *address) const;
    std::string refuse_stream(CUstream stream) const;

    // Where a kernel of `prepare` says what is wrong: memory of the host that the device writes, so that waiting for the stream is
    // all that it takes to know. Whoever holds the mutex may use it.
    static constexpr std::size_t answer_bytes = 64;
    void *answer = nullptr;
    mutable std::mutex answer_mutex;

    int32_t ordinal = 0;
    CUdevice device = 0;
    CUcontext handle = nullptr;
    int capability = 0; // 10 * major + minor
    int multiprocessors = 0;

  private:
    mutable std::mutex mutex_;
    mutable std::map<std::string, CUmodule> modules_;
    Choices choices_;
};

using SharedContext = std::shared_ptr<const Context>;

// Device memory that an operator owns.
class Buffer {
  public:
    Buffer() = default;
    Buffer(SharedContext context, std::size_t bytes, const char *what);
    ~Buffer();
    Buffer(Buffer &&other) noexcept { *this = std::move(other); }
    Buffer &operator=(Buffer &&other) noexcept;

    void *data() const { return reinterpret_cast<void *>(address_); }
    std::size_t bytes() const { return bytes_; }
    const SharedContext &context() const { return context_; }

  private:
    SharedContext context_;
    CUdeviceptr address_ = 0;
    std::size_t bytes_ = 0;
};

// One launch. `overlap` lets the grid start while the one before it on the stream still runs: the kernel must then wait for
// that one (griddepcontrol.wait) before it reads what it wrote. `together`: all blocks or none, since they wait for each other.
struct Launch {
    unsigned grid[3] = {1, 1, 1};
    unsigned threads = 1;
    unsigned shared_bytes = 0;
    unsigned cluster = 1;
    bool overlap = false, together = false;
};

void launch(const Kernel &kernel, const Launch &how, CUstream stream, void **arguments);

// Arguments are passed by value exactly as the kernel declares them.
template <class... Arguments>
void launch(const Kernel &kernel, const Launch &how, CUstream stream, const Arguments &...arguments) {
    void *addresses[] = {const_cast<void *>(static_cast<const void *>(&arguments))...};
    launch(kernel, how, stream, addresses);
}

// Clusters of this shape that the device holds at once.
int resident_clusters(const Kernel &kernel, const Launch &how);

// A tensor of 16-bit elements as the copy engine sees it: sizes and box innermost first, strides in elements (of dimension 1
// and up). 128-byte swizzle; the box's inner extent is 64 elements. Base and strides must be multiples of 16 bytes.
struct TensorShape {
    int32_t dtype = 0; // IKBO_FP16 or IKBO_BF16
    std::vector<uint64_t> sizes, strides;
    std::vector<uint32_t> box;
};
CUtensorMap tensor_map(const TensorShape &shape, const void *base, const char *what);

} // namespace ikbo
