// The one way to fail inside the library: throw an Error; the ABI turns it into a status and a text.
#pragma once

#include <string>

#include "ikbo.h"

namespace ikbo {

struct Error {
    ikbo_status status;
    std::string text;
};

[[noreturn]] __attribute__((format(printf, 2, 3))) void fail(ikbo_status status, const char *format, ...);

__attribute__((format(printf, 1, 2))) std::string text(const char *format, ...);

} // namespace ikbo
