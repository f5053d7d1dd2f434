// One small case of each operator, through an index, as data: for tests that do the same with all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness.h"

namespace ikbo::test {

constexpr int32_t case_dtype = IKBO_BF16;

// What the three operators have in common: a shape, operands on the host, and how arguments are made of addresses.
struct Case {
    std::string name;
    std::vector<Bytes> operands; // in the order in which prepare and run take their addresses; the output comes last
    std::vector<double> reference;
    std::function<ikbo_status(ikbo_device *, int32_t stage, ikbo_op **)> create;
    std::function<ikbo_status(ikbo_op *, const std::vector<void *> &, void *stream)> prepare, run;
};

// One of each operator, made once.
const std::vector<Case> &cases();

} // namespace ikbo::test
