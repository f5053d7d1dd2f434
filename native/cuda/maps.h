// Index maps on the device: whatever its kind, a kernel sees one int32 source row for each output row.
#pragma once

#include "context.h"
#include "ikbo.h"

namespace ikbo {

struct MapShape {
    const char *what; // for errors: "index"
    int32_t kind, index_bits;
    int64_t repeats, rows, source_rows;
};

// Checks the indices (IKBO_BAD_INDEX) and writes them to `to`, int32 [rows] on the device. Waits for the stream.
void upload_map(const MapShape &map, const void *index, const Buffer &to, CUstream stream);

} // namespace ikbo
