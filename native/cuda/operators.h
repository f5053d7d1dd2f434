// The operators of the CUDA backend, one file each. All take 16-bit types only.
#pragma once

#include "backend.h"
#include "context.h"

namespace ikbo {

Operator<ikbo_linear_compression_args> cuda_linear_compression(const SharedContext &context,
                                                               const ikbo_linear_compression_shape &shape);
Operator<ikbo_concat_linear_args> cuda_concat_linear(const SharedContext &context, const ikbo_concat_linear_shape &shape);
Operator<ikbo_attention_args> cuda_attention(const SharedContext &context, const ikbo_attention_shape &shape);

} // namespace ikbo
