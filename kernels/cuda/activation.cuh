// The activations of a linear layer, in fp32.
#pragma once

#include <cstdint>

#include "ptx.cuh"

namespace ikbo {

// `kind` is ikbo_activation: identity, ReLU, GELU (the exact form x Phi(x)), SiLU (x sigmoid(x)). NaN stays NaN.
IKBO_DEVICE float activate(float x, int32_t kind) {
    switch (kind) {
        case 1: return x < 0.0f ? 0.0f : x;
        case 2: return 0.5f * x * (1.0f + erff(x * 0.70710678f));
        case 3: return x / (1.0f + __expf(-x));
        default: return x;
    }
}

}  // namespace ikbo
