// Attention by the warp-specialized kernel (kernels/cuda/attention_plan.cu, attention_ws.cu).
#pragma once

#include "backend.h"
#include "context.h"

namespace ikbo {

// Empty, or why this device or shape cannot take that kernel.
std::string planned_attention_refusal(const SharedContext &context, const ikbo_attention_shape &shape);
Operator<ikbo_attention_args> planned_attention(const SharedContext &context, const ikbo_attention_shape &shape);

} // namespace ikbo
