// An operator's shape in words, for errors that happen while it runs.
#pragma once

#include <string>

#include "ikbo.h"

namespace ikbo {

std::string describe(const ikbo_concat_linear_shape &shape);      // "concat-linear bf16, 96 rows of 512 (16 by index) + 64 to 256"
std::string describe(const ikbo_linear_compression_shape &shape); // "linear compression bf16, B 1024, U 15, M 433, N 256, Ku 1178, Kc 866"
std::string describe(const ikbo_attention_shape &shape);          // "attention bf16, B 2048, U 32, Q 64, H 2/2, D 128, S 1024"

} // namespace ikbo
