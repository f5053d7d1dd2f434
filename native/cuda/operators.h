// The operators of the CUDA backend, one file each. All take 16-bit types only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "backend.h"
#include "context.h"

namespace ikbo {

Operator<ikbo_linear_compression_args> cuda_linear_compression(const SharedContext &context,
                                                               const ikbo_linear_compression_shape &shape);
Operator<ikbo_concat_linear_args> cuda_concat_linear(const SharedContext &context,
                                                     const ikbo_concat_linear_shape &shape);
Operator<ikbo_attention_args> cuda_attention(const SharedContext &context, const ikbo_attention_shape &shape);

// An implementation with prepare, run, workspace_bytes and kernel, as an operator that owns it.
template <class Args, class Implementation> Operator<Args> wrap(std::shared_ptr<Implementation> implementation) {
    return {
        [implementation](const Args &args, void *stream) {
            implementation->prepare(args, static_cast<CUstream>(stream));
        },
        [implementation](const Args &args, void *stream) { implementation->run(args, static_cast<CUstream>(stream)); },
        [implementation] { return implementation->workspace_bytes(); },
        [implementation] { return implementation->kernel(); }};
}

// The shape with what was measured for its class, where its caller leaves the choice open. The last stage stays an open choice: it
// has a way out for arguments that it cannot take.
template <class Shape> Shape with_choice(const Context &context, Shape shape) {
    if (shape.stage != IKBO_STAGE_BEST || shape.tile != 0) return shape;
    const Choice choice = context.choice(shape);
    shape.tile = choice.tile;
    if (choice.stage < IKBO_STAGE_WARP_SPECIALIZED) shape.stage = choice.stage;
    return shape;
}

// Whether the copy engine can start there.
inline bool copy_aligned(const void *pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

// `fast` where the arguments allow it, else what `fallback` makes at its first use; decided by each prepare.
template <class Args>
Operator<Args> fast_where(std::function<bool(const Args &)> allowed, Operator<Args> fast,
                          std::function<Operator<Args>()> fallback) {
    const auto chosen = std::make_shared<Operator<Args>>(fast);
    const auto slow = std::make_shared<Operator<Args>>();
    return {[=](const Args &args, void *stream) {
                const bool taken = allowed(args);
                if (!taken && !slow->run) *slow = fallback();
                *chosen = taken ? fast : *slow;
                chosen->prepare(args, stream);
            },
            [chosen](const Args &args, void *stream) { chosen->run(args, stream); },
            [chosen] { return chosen->workspace_bytes(); }, [chosen] { return chosen->kernel(); }};
}

} // namespace ikbo
