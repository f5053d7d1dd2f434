// Arithmetic on sizes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ikbo {

inline int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }
inline int64_t parts(int64_t total, int64_t part) { return (total + part - 1) / part; }
inline std::size_t size(int64_t value) { return static_cast<std::size_t>(value); }

} // namespace ikbo
