#include "products.h"

#include <algorithm>

#include "error.h"

namespace ikbo {
namespace {

const char *dtype_name(int32_t dtype) { return dtype == IKBO_BF16 ? "bf16" : "fp16"; }

uint64_t bits(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }

// The largest of 16, 4 and 2 bytes that divides the address and the strides (in elements) of a matrix of 16-bit
// elements.
int32_t granule(const void *base, int64_t row, int64_t matrix) {
    const uint64_t all = bits(base) | static_cast<uint64_t>(2 * row) | static_cast<uint64_t>(2 * matrix);
    return all % 16 == 0 ? 16 : all % 4 == 0 ? 4 : 2;
}

// Rows so far apart are left to the unaligned kernels, which count in 64 bits.
constexpr int64_t most_aligned_stride = int64_t{1} << 24;

// Whether the kernels for aligned operands may be used: B must not end within 8 columns.
bool aligned(const GemmWork &work, ContiguousIn b) {
    return work.a_granule == 16 && work.b_granule == 16 && (b == ContiguousIn::k || work.n % 8 == 0) &&
           std::max(work.a_row, work.b_row) < most_aligned_stride;
}

template <class Tile> int64_t tiles(const GemmWork &work) {
    const auto parts = [](int64_t total, int64_t part) { return (total + part - 1) / part; };
    return parts(work.m, Tile::rows) * parts(work.n, Tile::columns) * work.batch;
}

// Blocks for `rows` rows of `groups` groups each: enough threads in flight, no more blocks than rows.
Launch row_launch(int64_t rows, int64_t groups) {
    Launch how;
    how.threads = static_cast<unsigned>(std::clamp<int64_t>((groups + 31) / 32 * 32, 32, 256));
    how.grid[0] = static_cast<unsigned>(std::clamp<int64_t>(rows, 1, 65536));
    how.grid[1] = static_cast<unsigned>(
        std::clamp<int64_t>(groups / (4 * how.threads), 1, std::max<int64_t>(1, 65536 / how.grid[0])));
    return how;
}

constexpr int64_t group = 8; // elements of 16 bytes

} // namespace

Product::Product(const SharedContext &context, int32_t dtype, ContiguousIn b)
    : b_(b), multiprocessors_(context->multiprocessors), overlaps_(context->capability >= 90) {
    const std::string name = std::string(b == ContiguousIn::n ? "gemm_nn_" : "gemm_nt_") + dtype_name(dtype);
    constexpr unsigned large = gemm_shared_bytes<LargeGemmTile>(), small = gemm_shared_bytes<SmallGemmTile>();
    large_[0] = context->kernel("gemm", name + "_unaligned", large);
    large_[1] = context->kernel("gemm", name, large);
    small_[0] = context->kernel("gemm", name + "_small_unaligned", small);
    small_[1] = context->kernel("gemm", name + "_small", small);
}

void Product::run(GemmWork work, CUstream stream, bool overlap) const {
    if (work.m == 0 || work.n == 0 || work.batch == 0) return;
    work.a_granule = granule(work.a, work.a_row, work.a_matrix);
    work.b_granule = granule(work.b, work.b_row, work.b_matrix);
    const bool small = work.interleaved != 0 || tiles<LargeGemmTile>(work) < multiprocessors_;
    const int64_t blocks = small ? tiles<SmallGemmTile>(work) : tiles<LargeGemmTile>(work);
    if (blocks > INT32_MAX)
        fail(IKBO_UNSUPPORTED, "a product of %d x %d x %d, %d times, is too large for one launch", work.m, work.n,
             work.k, work.batch);
    Launch how;
    how.grid[0] = static_cast<unsigned>(blocks);
    how.threads = small ? SmallGemmTile::threads : LargeGemmTile::threads;
    how.shared_bytes = small ? gemm_shared_bytes<SmallGemmTile>() : gemm_shared_bytes<LargeGemmTile>();
    how.overlap = overlap && overlaps_;
    const bool fast = aligned(work, b_);
    launch(small ? small_[fast] : large_[fast], how, stream, work);
}

Layout::Layout(const SharedContext &context, int32_t dtype) {
    const std::string add = std::string("gather_add_") + dtype_name(dtype);
    pack_ = context->kernel("layout", "pack_columns");
    sum_parts_ = context->kernel("layout", std::string("sum_parts_") + dtype_name(dtype));
    gather_[0] = context->kernel("layout", "gather_single");
    gather_[1] = context->kernel("layout", "gather_wide");
    gather_add_[0] = context->kernel("layout", add + "_single");
    gather_add_[1] = context->kernel("layout", add);
}

void Layout::pack(const PackWork &work, CUstream stream) const {
    if (work.rows > 0) launch(pack_, row_launch(work.rows, work.padded), stream, work);
}

void Layout::sum_parts(const SumPartsWork &work, CUstream stream) const {
    if (work.elements == 0) return;
    Launch how;
    how.threads = 128;
    how.grid[1] = static_cast<unsigned>(std::clamp<int64_t>(work.elements / 4 / how.threads, 1, 1024));
    how.overlap = true;
    launch(sum_parts_, how, stream, work);
}

void Layout::gather(const GatherWork &work, CUstream stream) const {
    if (work.rows == 0) return;
    uint64_t all = bits(work.to) | static_cast<uint64_t>(2 * work.to_stride);
    int64_t widest = 0;
    for (int32_t i = 0; i < work.blocks; ++i) {
        const GatherWork::Block &block = work.block[i];
        all |= bits(block.rows) | static_cast<uint64_t>(2 * block.stride) | static_cast<uint64_t>(2 * block.width);
        widest = std::max(widest, block.width);
    }
    const bool aligned = all % 16 == 0;
    launch(gather_[aligned], row_launch(work.rows, widest / (aligned ? group : 1)), stream, work);
}

void Layout::gather_add(const GatherAddWork &work, CUstream stream) const {
    if (work.rows == 0) return;
    uint64_t all = bits(work.to) | static_cast<uint64_t>(2 * work.to_stride) | static_cast<uint64_t>(2 * work.width);
    for (int32_t i = 0; i < work.sources; ++i)
        all |= bits(work.source[i].rows) | static_cast<uint64_t>(2 * work.source[i].stride);
    const bool aligned = all % 16 == 0;
    launch(gather_add_[aligned], row_launch(work.rows, work.width / (aligned ? group : 1)), stream, work);
}

} // namespace ikbo
