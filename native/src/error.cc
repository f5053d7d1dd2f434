#include "error.h"

#include <cstdarg>
#include <cstdio>

namespace ikbo {
namespace {

std::string format_arguments(const char *format, va_list arguments) {
    char buffer[1024];
    std::vsnprintf(buffer, sizeof buffer, format, arguments);
    return buffer;
}

} // namespace

void fail(ikbo_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string message = format_arguments(format, arguments);
    va_end(arguments);
    throw Error{status, std::move(message)};
}

std::string text(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std::string message = format_arguments(format, arguments);
    va_end(arguments);
    return message;
}

} // namespace ikbo
