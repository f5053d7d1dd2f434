// How the host shares groups among the runs of a kernel built on split_rings.cuh.
#pragma once

#include <cstdint>

#include "split_rings.h"

namespace ikbo {

// Runs `first` to `first + count` start `late` K blocks after the others: gives them as many groups fewer as make the longest
// run shortest.
void share_runs(RingWork &ring, int32_t first, int32_t count, int64_t late);

} // namespace ikbo
