#include "error.h"
#include "operators.h"

namespace ikbo::cpu {
Operator<ikbo_linear_compression_args> linear_compression(const ikbo_linear_compression_shape &) { fail(IKBO_UNSUPPORTED, "not on the CPU yet"); }
} // namespace ikbo::cpu
