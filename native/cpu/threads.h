// A fixed set of worker threads for data-parallel loops.
#pragma once

#include <cstdint>
#include <functional>

namespace ikbo::cpu {

// Threads that work on a loop, the caller included: IKBO_THREADS if set, else the processors this process may use.
int32_t thread_count();

// Calls body(i, thread) for every i in [0, count), in any order; thread < thread_count(). Returns when all are done and
// rethrows the first exception. One loop at a time: loops from several callers wait for each other.
void parallel_for(int64_t count, const std::function<void(int64_t i, int32_t thread)> &body);

} // namespace ikbo::cpu
