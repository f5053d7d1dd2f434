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

// Writes the map to `to`, int32 [rows] on the device, on the stream. Indices are checked: waits for the stream and throws
// IKBO_BAD_INDEX. While the stream is captured nobody can wait: there a wrong index traps when the graph runs.
void upload_map(const MapShape &map, const void *index, const Buffer &to, CUstream stream);

} // namespace ikbo
