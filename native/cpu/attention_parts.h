// What the files of the CPU attention share: the plan of one operator, and attending to keys for some rows of it.
#pragma once

#include <vector>

#include "stage.h"

namespace ikbo::cpu::attention_parts {

using Shape = ikbo_attention_shape;
using Args = ikbo_attention_args;

constexpr int64_t key_block = 256; // keys per step of the online softmax; a multiple of every strip
constexpr int64_t row_strips = 8;  // strips of query rows that go through the keys together
constexpr int64_t few_rows = 4;    // so few rows read the keys once and directly: packing them would cost more

// Candidates order[first .. last) attend to the same keys.
struct Group {
    int64_t user, first, last;
};

// A thread's share of a group: rows [first, last) of its (candidate, query, head in group) rows for one key head.
struct Task {
    int64_t group, key_head, first, last;
};

// Pieces of one thread's scratch, for the largest user.
struct Scratch {
    void *keys, *values, *rows, *weights;
    float *scores, *sums, *maximum, *total;
    const void **vectors;
};

struct State {
    Shape shape;
    int32_t stage;
    const Simd &simd = cpu::simd();
    const Kernel &kernel = kernel_for(simd, shape.dtype);
    std::vector<Group> groups;
    std::vector<int64_t> order;
    std::vector<Task> tasks;
    std::vector<int64_t> copied_offsets; // stage 0: first row of each candidate's copy, B + 1
    Buffer copied_keys, copied_values, scratch;
    std::size_t scratch_each = 0;

    explicit State(const Shape &s) : shape(s), stage(stage_of(s.stage)) {}
};

inline int64_t group_size(const Shape &shape) { return shape.heads / shape.key_heads; }

struct Keys {
    const void *k, *v; // first row of this user, key head 0
    int64_t count;
};

// Divides a thread's scratch, which starts at `memory`; returns its size. `memory` may be null to learn the size.
std::size_t carve(const State &s, std::byte *memory, Scratch &out);

// All rows of a task, into args.out and args.lse.
void attend(const State &s, const Args &a, const Task &task, const Keys &keys, const Scratch &scratch);

} // namespace ikbo::cpu::attention_parts
