#include "error.h"
#include "operators.h"

namespace ikbo::cpu {
Operator<ikbo_attention_args> attention(const ikbo_attention_shape &) { fail(IKBO_UNSUPPORTED, "not on the CPU yet"); }
} // namespace ikbo::cpu
