// The operators of the CPU backend, one file each. Stages: 0 materialized, 1 decomposed, 3 fused; best is 3.
#pragma once

#include "backend.h"

namespace ikbo::cpu {

Operator<ikbo_concat_linear_args> concat_linear(const ikbo_concat_linear_shape &shape);
Operator<ikbo_linear_compression_args> linear_compression(const ikbo_linear_compression_shape &shape);
Operator<ikbo_attention_args> attention(const ikbo_attention_shape &shape);

} // namespace ikbo::cpu
