// Normal random numbers by position: the value at index i depends on the seed and i alone, so pieces can be made in any
// order and by any thread.
#pragma once

#include <cmath>
#include <cstdint>

namespace ikbo::node {

// SplitMix64's finalizer (Steele, Lea, Flood 2014).
inline uint64_t mixed(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

// Box and Muller: two values from one 64-bit word.
inline void normal_pair(uint64_t seed, uint64_t pair, float out[2]) {
    const uint64_t bits = mixed(mixed(seed) ^ pair);
    const float u = (static_cast<float>(bits >> 40) + 0.5f) * 0x1p-24f;
    const float v = static_cast<float>(bits & 0xffffff) * 0x1p-24f;
    const float radius = std::sqrt(-2 * std::log(u));
    out[0] = radius * std::cos(6.2831853f * v);
    out[1] = radius * std::sin(6.2831853f * v);
}

} // namespace ikbo::node
