// The stages that exist on a CPU, and the copying that stage 0 is about.
#pragma once

#include <algorithm>
#include <cstring>

#include "error.h"
#include "ikbo.h"
#include "product.h"
#include "threads.h"
#include "validate.h"

namespace ikbo::cpu {

inline int32_t stage_of(int32_t stage) {
    if (stage == IKBO_STAGE_BEST) return IKBO_STAGE_FUSED;
    if (stage == IKBO_STAGE_ALIGNED || stage == IKBO_STAGE_WARP_SPECIALIZED)
        fail(IKBO_UNSUPPORTED, "stage %d does not exist on the CPU; 0, 1 and 3 do", stage);
    return stage;
}

// Copies items of `bytes` each: to[i * to_stride] = from[map(i) * from_stride]; strides in bytes.
inline void replicate(const void *from, int64_t from_stride, void *to, int64_t to_stride, int64_t items, int64_t bytes,
                      const Map &map) {
    if (bytes == 0) return;
    const int64_t chunk = std::max<int64_t>(1, (1 << 20) / bytes);
    parallel_for(divide_up(items, chunk), [&](int64_t task, int32_t) {
        for (int64_t i = task * chunk; i < std::min(items, (task + 1) * chunk); ++i)
            std::memcpy(static_cast<std::byte *>(to) + i * to_stride,
                        static_cast<const std::byte *>(from) +
                            source_row(map.kind, map.repeats, map.index, map.bits, map.source_rows, i) * from_stride,
                        static_cast<std::size_t>(bytes));
    });
}

} // namespace ikbo::cpu
