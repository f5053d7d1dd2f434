#include "maps.h"

#include <algorithm>
#include <vector>

#include "error.h"
#include "layout.h"
#include "validate.h"

namespace ikbo {
namespace {

constexpr int64_t threads = 256;

// Says on the host which index is wrong.
void report(const MapShape &map, const void *index) {
    std::vector<unsigned char> copy(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.index_bits / 8));
    check(driver().MemcpyDtoH(copy.data(), reinterpret_cast<CUdeviceptr>(index), copy.size()), "reading the index");
    check_index(map.what, map.kind, copy.data(), map.index_bits, map.rows, map.source_rows);
}

} // namespace

void upload_map(const MapShape &map, const void *index, const Buffer &to, CUstream stream) {
    const Driver &cuda = driver();
    if (map.source_rows > INT32_MAX)
        fail(IKBO_UNSUPPORTED, "%s: %lld source rows; the CUDA kernels count them in 32 bits", map.what,
             static_cast<long long>(map.source_rows));
    if (map.rows == 0) return;
    const Context &context = *to.context();
    const Kernel kernel = context.kernel("layout", "map_rows");
    Launch how;
    how.threads = threads;
    how.grid[0] = static_cast<unsigned>(std::min<int64_t>((map.rows + threads - 1) / threads, 4096));
    MapRowsWork work{};
    work.to = static_cast<int32_t *>(to.data());
    work.rows = map.rows;
    work.repeats = map.kind == IKBO_MAP_REPEATS ? map.repeats : map.kind == IKBO_MAP_ALL ? map.rows : 1;
    if (!has_index(map.kind)) return launch(kernel, how, stream, work);

    work.index = index;
    work.index_bits = map.index_bits;
    work.source_rows = map.source_rows;
    work.from_end = map.kind == IKBO_MAP_INDEX_FROM_END;
    CUstreamCaptureStatus captured = CU_STREAM_CAPTURE_STATUS_NONE;
    check(cuda.StreamIsCapturing(stream, &captured), "asking whether the stream is captured");
    if (captured != CU_STREAM_CAPTURE_STATUS_NONE) return launch(kernel, how, stream, work);
    const std::scoped_lock lock(context.answer_mutex);
    work.fault = static_cast<int32_t *>(context.answer);
    *work.fault = 0;
    launch(kernel, how, stream, work);
    check(cuda.StreamSynchronize(stream), "waiting for the map");
    if (*work.fault != 0) report(map, index);
}

} // namespace ikbo
