#include "maps.h"

#include <vector>

#include "error.h"
#include "validate.h"

namespace ikbo {

void upload_map(const MapShape &map, const void *index, const Buffer &to, CUstream stream) {
    const Driver &cuda = driver();
    if (map.source_rows > INT32_MAX)
        fail(IKBO_UNSUPPORTED, "%s: %lld source rows; the CUDA kernels count them in 32 bits", map.what,
             static_cast<long long>(map.source_rows));
    if (map.rows == 0) return;
    std::vector<unsigned char> host_index;
    if (map.kind == IKBO_MAP_INDEX) {
        host_index.resize(static_cast<std::size_t>(map.rows) * static_cast<std::size_t>(map.index_bits / 8));
        check(cuda.StreamSynchronize(stream), "waiting for the index");
        check(cuda.MemcpyDtoH(host_index.data(), reinterpret_cast<CUdeviceptr>(index), host_index.size()),
              "reading the index");
        check_index(map.what, host_index.data(), map.index_bits, map.rows, map.source_rows);
    }
    std::vector<int32_t> rows(static_cast<std::size_t>(map.rows));
    for (int64_t row = 0; row < map.rows; ++row)
        rows[static_cast<std::size_t>(row)] =
            static_cast<int32_t>(source_row(map.kind, map.repeats, host_index.data(), map.index_bits, row));
    check(cuda.MemcpyHtoD(reinterpret_cast<CUdeviceptr>(to.data()), rows.data(), rows.size() * sizeof(int32_t)),
          "copying the map");
}

} // namespace ikbo
