// The barriers of kernels/cuda/split_rings.cuh, as linear compression and concat-linear use them: right in every order, for both blocks
// of a cluster. protocol.h says how that is shown. Ring sizes are those of the kernels' headers; the steps are written as the kernels
// take them, each warpgroup as two warps: the one that gives slots back, and another that may fall behind.
#include "concat_linear.h"
#include "linear_compression.h"
#include "protocol.h"

#include <gtest/gtest.h>

namespace ikbo::test {
namespace {

constexpr int kBlocks = 2, kWarpgroups = 2, kWarps = 2;

struct Choice {
    int weight_slots, input_slots, parts;
    RingWork work; // consumers, k_blocks, first_block, skew
    bool resident = false; // then each part of a tile is given back by itself, else all at once
    int first_consumers = 1; // of the users' product
    bool awaits_staging = true, awaits_each = true, skips_together = true, awaits_copies = true; // what mutations leave out
};

template <class Shape>
Choice choice(int k_blocks, int skew, bool resident = false) {
    RingWork work{};
    work.consumers = kWarpgroups;
    work.k_blocks = k_blocks;
    work.skew = skew;
    work.first_block = resident ? 0 : std::min(4, k_blocks - 1);
    return {Shape::weight_slots, Shape::input_slots, Shape::parts, work, resident};
}

struct Place { // of the n-th use of a ring
    int slot, lap;
    Place(int n, int slots) : slot(n % slots), lap(n / slots) {}
};

// One block's barriers and buffers.
struct Block {
    std::vector<int> weight_full, weight_free, weights, input_full[kWarpgroups], input_free[kWarpgroups], inputs[kWarpgroups];
    std::vector<int> staged, stored[kWarpgroups], staging;
    int turn[kWarpgroups], group[kWarpgroups];
    int product[kWarpgroups][2]; // two may run
};

class Rings {
  public:
    // `users` tiles of a first product (7 K blocks), then `tiles`.
    Rings(const Choice &choice, int users, int tiles) : c_(choice), tiles_(tiles) {
        first_ = c_.work;
        first_.consumers = c_.first_consumers;
        first_.k_blocks = 7;
        first_.skew = 0;
        users_ = users;
        for (int block = 0; block < kBlocks; ++block) make(block);
        for (int block = 0; block < kBlocks; ++block) {
            load_weights(block);
            store_outputs(block);
            for (int w = 0; w < kWarpgroups; ++w) {
                load_inputs(block, w);
                for (int warp = 0; warp < kWarps; ++warp) Consumer(*this, block, w, warp).run();
            }
        }
    }
    Protocol protocol;

  private:
    static int weight_tag(int n, int k) { return n * 64 + k; }
    static int input_tag(int phase, int tile, int k) { return (phase * 1000 + tile) * 64 + k; }
    int output_tag(int tile, int w, int part) const { return (tile * kWarpgroups + w) * c_.parts + part; }

    void make(int index) {
        Block &b = blocks_[index];
        const std::string name = "block " + std::to_string(index) + " ";
        const auto fill = [&](std::vector<int> &list, int count, auto &&one) {
            for (int i = 0; i < count; ++i) list.push_back(one(i));
        };
        const auto barriers = [&](std::vector<int> &list, int count, int arrivals) {
            fill(list, count, [&](int) { return protocol.barrier(arrivals); });
        };
        const auto buffers = [&](std::vector<int> &list, int count, const std::string &what) {
            fill(list, count, [&](int i) { return protocol.buffer(name + what + std::to_string(i)); });
        };
        barriers(b.weight_full, c_.weight_slots, 1);
        barriers(b.weight_free, c_.weight_slots, kWarpgroups);
        buffers(b.weights, c_.weight_slots, "weight ");
        for (int w = 0; w < kWarpgroups; ++w) {
            barriers(b.input_full[w], c_.input_slots, 1);
            barriers(b.input_free[w], c_.input_slots, kBlocks);
            buffers(b.inputs[w], c_.input_slots * kBlocks, "half of input "); // each block fills one half
            barriers(b.stored[w], c_.parts, 1);
            b.turn[w] = protocol.barrier(kWarpgroups * kWarps);
            b.group[w] = protocol.barrier(kWarps);
            for (int &product : b.product[w]) product = protocol.barrier(kWarps);
        }
        barriers(b.staged, c_.parts, kWarps);
        buffers(b.staging, c_.parts * kWarps, "part of staging "); // each warp fills its part
    }

    void load_weights(int index) {
        Block &b = blocks_[index];
        const int agent = protocol.agent("weight loader " + std::to_string(index));
        int n = 0;
        const auto load = [&](int steps, const RingWork &work) {
            for (int step = 0; step < steps; ++step, ++n) {
                const auto [slot, lap] = Place(n, c_.weight_slots);
                protocol.wait(agent, b.weight_free[slot], lap - 1);
                protocol.arrive(agent, b.weight_full[slot], lap, 1);
                protocol.load(agent, b.weights[slot], weight_tag(n, (work.first_block + step) % work.k_blocks), b.weight_full[slot],
                              lap);
            }
        };
        if (users_ > 0) load(users_ * first_.k_blocks, first_);
        if (tiles_ > 0) load(c_.resident ? c_.work.k_blocks : tiles_ * c_.work.k_blocks + c_.work.skew, c_.work);
    }

    void load_inputs(int index, int w) {
        const int agent = protocol.agent("input loader " + std::to_string(index) + std::to_string(w));
        int n = 0;
        const auto load = [&](int phase, int tiles, const RingWork &work) {
            if (w >= work.consumers) return;
            for (int tile = 0; tile < tiles; ++tile)
                for (int step = 0; step < work.k_blocks; ++step, ++n) {
                    const auto [slot, lap] = Place(n, c_.input_slots);
                    protocol.wait(agent, blocks_[index].input_free[w][slot], lap - 1);
                    protocol.arrive(agent, blocks_[index].input_full[w][slot], lap, kBlocks);
                    const int tag = input_tag(phase, tile, (ring_start(work, w) + step) % work.k_blocks);
                    for (const Block &to : blocks_)
                        protocol.load(agent, to.inputs[w][slot * kBlocks + index], tag, to.input_full[w][slot], lap);
                }
        };
        load(0, users_, first_);
        load(1, tiles_, c_.work);
    }

    void store_outputs(int index) {
        Block &b = blocks_[index];
        const int agent = protocol.agent("storing warp " + std::to_string(index));
        for (int tile = 0; tile < tiles_; ++tile)
            for (int w = 0; w < kWarpgroups; ++w) {
                for (int part = 0; part < c_.parts; ++part) {
                    protocol.wait(agent, b.staged[part], tile * kWarpgroups + w);
                    for (int warp = 0; warp < kWarps; ++warp)
                        protocol.store(agent, b.staging[part * kWarps + warp], output_tag(tile, w, part));
                    if (!c_.resident || part == 0) continue;
                    if (c_.awaits_copies) protocol.drain(agent, kWarps);
                    protocol.arrive(agent, b.stored[w][part - 1], tile);
                }
                protocol.drain(agent, 0);
                protocol.arrive(agent, b.stored[w][c_.parts - 1], tile);
            }
    }

    // One warp of a RingConsumer.
    struct Consumer {
        Rings &r;
        const Choice &c;
        Protocol &p;
        Block &b;
        const int w, warp, agent;
        int weight = 0, input = 0, products = 0, meetings = 0; // how many so far

        Consumer(Rings &rings, int index, int w, int warp)
            : r(rings), c(rings.c_), p(rings.protocol), b(rings.blocks_[index]), w(w), warp(warp),
              agent(p.agent("warp " + std::to_string(index) + std::to_string(w) + std::to_string(warp))) {}

        void run() {
            product(0, r.users_, r.first_, false);
            product(1, r.tiles_, c.work, c.resident);
        }

        void product(int phase, int tiles, const RingWork &work, bool resident) {
            if (tiles == 0) return;
            if (w >= work.consumers) return skip(tiles * work.k_blocks);
            const int first_weight = weight;
            if (!resident)
                skip(work.skew * w);
            else if (w == 1)
                p.arrive(agent, b.turn[0], 0);
            for (int tile = 0; tile < tiles; ++tile) {
                if (resident) {
                    weight = first_weight;
                    p.arrive(agent, b.turn[w], tile);
                    p.await(agent, b.turn[w], tile);
                }
                for (int step = 0; step < work.k_blocks; ++step) {
                    const int k = (ring_start(work, w) + step) % work.k_blocks;
                    multiply(weight_tag(weight, k), input_tag(phase, tile, k));
                    if (step > 0) finish_product(1, !resident);
                    ++weight, ++input;
                }
                if (resident && !(w == 1 && tile + 1 == tiles)) p.arrive(agent, b.turn[w ^ 1], tile + w);
                if (phase == 1 && c.awaits_staging) await_staging(tile, resident ? 0 : c.parts - 1);
                finish_product(0, !resident);
                if (phase == 1) stage(tile);
            }
            if (!resident) skip(work.skew * (1 - w));
        }

        void meet() {
            p.arrive(agent, b.group[w], meetings);
            p.await(agent, b.group[w], meetings++);
        }
        void skip(int steps) {
            for (int i = 0; i < steps; ++i, ++weight) {
                const auto [slot, lap] = Place(weight, c.weight_slots);
                p.wait(agent, b.weight_full[slot], lap);
                if (c.skips_together) meet();
                if (warp == 0) p.arrive(agent, b.weight_free[slot], lap);
            }
        }
        // A product starts when all warps have issued it. The first warp's reads stand for all of it until it is finished.
        void multiply(int weight_contents, int input_contents) {
            const Place of_weight(weight, c.weight_slots), of_input(input, c.input_slots);
            p.wait(agent, b.weight_full[of_weight.slot], of_weight.lap);
            p.wait(agent, b.input_full[w][of_input.slot], of_input.lap);
            const auto read = [&](int buffer, int contents) {
                warp == 0 ? p.hold(agent, buffer, contents) : p.read(agent, buffer, contents);
            };
            read(b.weights[of_weight.slot], weight_contents);
            for (int half = 0; half < kBlocks; ++half) read(b.inputs[w][of_input.slot * kBlocks + half], input_contents);
            p.arrive(agent, b.product[w][products % 2], products / 2);
            ++products;
        }
        // Waits for all products but the `running` last and gives back what the last of those used.
        void finish_product(int running, bool frees_weight) {
            const int last = products - 1 - running;
            p.await(agent, b.product[w][last % 2], last / 2);
            if (warp != 0) return;
            const Place of_weight(weight - 1, c.weight_slots), of_input(input - 1, c.input_slots);
            p.drop(agent, b.weights[of_weight.slot]);
            for (int half = 0; half < kBlocks; ++half) p.drop(agent, b.inputs[w][of_input.slot * kBlocks + half]);
            for (const Block &to : r.blocks_) p.arrive(agent, to.input_free[w][of_input.slot], of_input.lap);
            if (frees_weight) p.arrive(agent, b.weight_free[of_weight.slot], of_weight.lap);
        }
        // That part of the other warpgroup's tile before this one has left.
        void await_staging(int tile, int part) { p.wait(agent, b.stored[w ^ 1][part], tile + w - 1); }
        void stage(int tile) {
            for (int part = 0; part < c.parts; ++part) {
                if (c.resident && part > 0 && c.awaits_each) await_staging(tile, part);
                p.write(agent, b.staging[part * kWarps + warp], r.output_tag(tile, w, part));
                p.arrive(agent, b.staged[part], tile * kWarpgroups + w);
            }
        }
    };

    Choice c_;
    RingWork first_;
    int users_, tiles_;
    Block blocks_[kBlocks];
};

// In some order it goes wrong, and in any one the missing order is seen.
void expect_found(const Choice &choice, int users, int tiles, const std::string &fault) {
    const Rings rings(choice, users, tiles);
    EXPECT_NE(rings.protocol.check(1).find(fault), std::string::npos) << rings.protocol.check(1);
    bool happened = false;
    for (unsigned seed = 1; seed <= 200 && !happened; ++seed) happened = !rings.protocol.check(seed, false).empty();
    EXPECT_TRUE(happened);
}

void expect_right(Choice choice) {
    unsigned seed = 0;
    for (const int consumers : {1, 2})
        for (const int users : {0, 1, 3})
            for (const int tiles : {0, 1, 2, 3, 9}) {
                choice.first_consumers = consumers;
                ASSERT_EQ(Rings(choice, users, tiles).protocol.check(++seed), "")
                    << users << " users by " << consumers << ", " << tiles << " tiles";
            }
}

} // namespace

TEST(RingsProtocol, LinearCompression) {
    expect_right(choice<CompressionShape<224>>(14, 4));
    expect_right(choice<CompressionShape<224>>(1, 0));
    expect_right(choice<CompressionShape<96>>(3, 1));
    expect_right(choice<CompressionShape<32>>(5, 0));
}

TEST(RingsProtocol, ConcatLinear) {
    expect_right(choice<ConcatShape<256>>(8, 4));
    expect_right(choice<ConcatShape<192>>(5, 2));
    expect_right(choice<ConcatShape<64>>(20, 4));
    expect_right(choice<ConcatShape<256>>(4, 0, true));
    expect_right(choice<ConcatShape<128>>(8, 0, true));
    expect_right(choice<ConcatShape<64>>(1, 0, true));
}

TEST(RingsProtocol, FindsMistakes) {
    Choice mistaken = choice<CompressionShape<224>>(14, 4);
    mistaken.awaits_staging = false;
    expect_found(mistaken, 0, 8, "may be written by two at once");
    mistaken = choice<CompressionShape<224>>(14, 4);
    mistaken.skips_together = false;
    expect_found(mistaken, 1, 1, "may come too late");
    mistaken = choice<ConcatShape<256>>(4, 0, true);
    mistaken.awaits_each = false;
    expect_found(mistaken, 0, 8, "is overwritten while it is read");
    mistaken = choice<ConcatShape<256>>(4, 0, true);
    mistaken.awaits_copies = false;
    expect_found(mistaken, 0, 8, "may be overwritten while it is read");
}

} // namespace ikbo::test
