// The portable kernels (kernels/cuda/gemm.cu, layout.cu) as functions of the host.
#pragma once

#include <cstdint>

#include "context.h"
#include "gemm.h"
#include "layout.h"

namespace ikbo {

// B [k, n] contiguous in n, or in k (a weight [n, k]).
enum class ContiguousIn { n, k };

// C = A B with the portable kernel; picks the tile by the size and the copies by the alignment.
class Product {
  public:
    Product() = default;
    Product(const SharedContext &context, int32_t dtype, ContiguousIn b);
    // Everything in `work` but the granules, which follow from the pointers and strides. `overlap`: may start before the launch
    // before it has ended; only for work with addends, which are all that it may take from that launch.
    void run(GemmWork work, CUstream stream, bool overlap = false) const;
    const std::string &name() const { return large_[1].name; }

  private:
    Kernel large_[2], small_[2]; // [aligned]
    ContiguousIn b_ = ContiguousIn::n;
    int multiprocessors_ = 0;
    bool overlaps_ = false; // the kernels wait for the launch before them
};

// The memory-bound kernels; picks 16-byte groups where everything is aligned.
class Layout {
  public:
    Layout() = default;
    Layout(const SharedContext &context, int32_t dtype);
    void pack(const PackWork &work, CUstream stream) const;
    void gather(const GatherWork &work, CUstream stream) const;
    void gather_add(const GatherAddWork &work, CUstream stream) const;
    void sum_parts(const SumPartsWork &work, CUstream stream) const; // may start before the launch before it has ended

  private:
    Kernel pack_, sum_parts_, gather_[2], gather_add_[2]; // [aligned]
};

} // namespace ikbo
