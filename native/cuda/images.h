// The compiled kernels, embedded by the build: one image (cubin or fatbin) for each .cu file.
#pragma once

#include <span>

namespace ikbo {

struct Image {
    const char *name; // of the .cu file, without its ending
    const void *data;
};

// Defined in a file that the build writes.
std::span<const Image> kernel_images();

} // namespace ikbo
