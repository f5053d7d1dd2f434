// The operators in fp64, one output row at a time, straight from their definition: what every kernel is checked against.
// All pointers are host memory; maps are trusted (check_index).
#pragma once

#include <cstdint>
#include <vector>

#include "ikbo.h"

namespace ikbo {

double element(int32_t dtype, const void *data, int64_t i);

// Row b of y: [outputs].
std::vector<double> reference_row(const ikbo_concat_linear_shape &shape, const ikbo_concat_linear_args &args, int64_t row);
// Row b * M + m of out: [columns].
std::vector<double> reference_row(const ikbo_linear_compression_shape &shape, const ikbo_linear_compression_args &args, int64_t row);
// Row (b * Q + q) * H + h of out: [head width]; lse, if not null, gets the row's log-sum-exp.
std::vector<double> reference_row(const ikbo_attention_shape &shape, const ikbo_attention_args &args, int64_t row,
                                  double *lse = nullptr);

} // namespace ikbo
