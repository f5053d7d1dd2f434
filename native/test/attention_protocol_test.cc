// The barriers of attention_ws.cu (kernels/cuda/attention_load.cuh, attention_compute.cuh): right in every order, for all its builds.
// protocol.h says how that is shown. Each warpgroup is two warps: the one whose thread 0 gives buffers back, and another that may
// fall behind. Not in here: the rare second look at a block's scores, and zeros written over V's rows past a user's keys.
#include "attention.h"
#include "protocol.h"

#include <gtest/gtest.h>

namespace ikbo::test {
namespace {

constexpr int kWarps = 2;

struct Tile {
    int blocks; // of keys
    int units;  // of the tile's first blocks and warpgroups; the others have no rows
};

class Attention {
  public:
    // `meets`: a warpgroup's warps meet before and after they stage their results, or, where another warp stores them, wait until the
    // last ones have left.
    Attention(const AttentionBuild &build, std::vector<Tile> tiles, bool meets = true)
        : c_(build), tiles_(std::move(tiles)), meets_(meets) {
        blocks_.resize(c_.cluster);
        for (int block = 0; block < c_.cluster; ++block) make(block);
        for (int block = 0; block < c_.cluster; ++block) {
            load_keys(block, 0);
            load_keys(block, 1);
            load_units(block);
            if (c_.stores) store_units(block);
            for (int w = 0; w < c_.consumers; ++w)
                for (int warp = 0; warp < kWarps; ++warp) Consumer(*this, block, w, warp).run();
        }
    }
    Protocol protocol;

  private:
    struct Block {
        std::vector<int> full[2], empty[2], keys[2]; // of K and V
        std::vector<int> q_full, q_empty, q, table, o, turn, group, products, staged, stored;
    };

    bool has_rows(int tile, int block, int w) const { return w * c_.cluster + block < tiles_[tile].units; }
    static int count(const std::vector<Tile> &tiles) { return static_cast<int>(tiles.size()); }

    void make(int index) {
        Block &b = blocks_[index];
        const auto barriers = [&](std::vector<int> &list, int count, int arrivals) {
            for (int i = 0; i < count; ++i) list.push_back(protocol.barrier(arrivals));
        };
        const auto buffers = [&](std::vector<int> &list, int count, const std::string &name) {
            for (int i = 0; i < count; ++i)
                list.push_back(protocol.buffer("block " + std::to_string(index) + " " + name + std::to_string(i)));
        };
        for (int kind = 0; kind < 2; ++kind) {
            barriers(b.full[kind], c_.stages, 1);
            barriers(b.empty[kind], c_.stages, c_.consumers * c_.cluster);
            buffers(b.keys[kind], c_.stages * c_.cluster, kind == 0 ? "share of K " : "share of V ");
        }
        barriers(b.q_full, c_.q_slots, 1);
        barriers(b.q_empty, c_.q_slots, 1);
        buffers(b.q, c_.q_slots, "Q ");
        buffers(b.table, c_.unit_table(), "entry of the table ");
        buffers(b.o, c_.consumers * kWarps, "part of O ");
        barriers(b.turn, c_.consumers, 2 * kWarps);
        barriers(b.group, c_.consumers, kWarps);
        barriers(b.products, c_.consumers * 2, kWarps);
        barriers(b.staged, c_.consumers, kWarps);
        barriers(b.stored, c_.consumers, 1);
    }

    void load_keys(int index, int kind) {
        const int agent = protocol.agent((kind == 0 ? "loader of K " : "loader of V ") + std::to_string(index));
        int n = 0;
        for (const Tile &tile : tiles_)
            for (int j = 0; j < tile.blocks; ++j, ++n) {
                const int slot = n % c_.stages, lap = n / c_.stages;
                protocol.wait(agent, blocks_[index].empty[kind][slot], lap - 1);
                protocol.arrive(agent, blocks_[index].full[kind][slot], lap, c_.cluster);
                for (const Block &to : blocks_)
                    protocol.load(agent, to.keys[kind][slot * c_.cluster + index], n, to.full[kind][slot], lap);
            }
    }

    void load_units(int index) {
        Block &b = blocks_[index];
        const int agent = protocol.agent("loader of Q " + std::to_string(index));
        for (int n = 0; n < (count(tiles_) + 1) * c_.consumers; ++n) {
            const int slot = n % c_.q_slots, lap = n / c_.q_slots, tile = n / c_.consumers;
            const bool boxes = tile < count(tiles_) && tiles_[tile].blocks > 0 && has_rows(tile, index, n % c_.consumers);
            protocol.wait(agent, b.q_empty[slot], lap - 1);
            protocol.write(agent, b.table[n % c_.unit_table()], n);
            protocol.arrive(agent, b.q_full[slot], lap, boxes ? 1 : 0);
            if (boxes) protocol.load(agent, b.q[slot], n, b.q_full[slot], lap);
        }
    }

    void store_units(int index) {
        Block &b = blocks_[index];
        const int agent = protocol.agent("storing warp " + std::to_string(index));
        for (int n = 0; n < (count(tiles_) + 1) * c_.consumers; ++n) {
            const int w = n % c_.consumers, tile = n / c_.consumers;
            protocol.wait(agent, b.staged[w], tile);
            protocol.read(agent, b.table[n % c_.unit_table()], n);
            if (tile == count(tiles_)) continue;
            for (int warp = 0; warp < kWarps && has_rows(tile, index, w); ++warp) protocol.store(agent, b.o[w * kWarps + warp], tile);
            protocol.drain(agent, 0);
            protocol.arrive(agent, b.stored[w], tile);
        }
    }

    // One warp of an AttentionConsumer.
    struct Consumer {
        const Attention &a;
        Protocol &p;
        const Block &b;
        const AttentionBuild &c;
        const int index, w, warp, agent;
        int at = 0, tile = 0, turns = 0, meetings = 0, products = 0; // how many so far

        Consumer(Attention &attention, int index, int w, int warp)
            : a(attention), p(attention.protocol), b(attention.blocks_[index]), c(attention.c_), index(index), w(w), warp(warp),
              agent(p.agent("warp " + std::to_string(index) + std::to_string(w) + std::to_string(warp))) {}

        int unit() const { return tile * c.consumers + w; }
        void meet() {
            p.arrive(agent, b.group[w], meetings);
            p.await(agent, b.group[w], meetings++);
        }
        void take_turn() {
            p.arrive(agent, b.turn[w], turns);
            p.await(agent, b.turn[w], turns);
        }
        void pass_turn() {
            const int next = (w + 1) % c.consumers;
            p.arrive(agent, b.turn[next], next == 0 ? turns + 1 : turns);
            ++turns;
        }
        void wait_keys(int kind, int n) { p.wait(agent, b.full[kind][n % c.stages], n / c.stages); }
        void give_back_keys(int kind, int n) {
            if (warp != 0) return;
            for (const Block &to : a.blocks_) p.arrive(agent, to.empty[kind][n % c.stages], n / c.stages);
        }
        void wait_unit() {
            p.wait(agent, b.q_full[unit() % c.q_slots], unit() / c.q_slots);
            p.read(agent, b.table[unit() % c.unit_table()], unit());
        }
        void give_back_unit() {
            if (warp == 0) p.arrive(agent, b.q_empty[unit() % c.q_slots], unit() / c.q_slots);
        }

        // The first warp's reads stand for a product until it is finished: of Q and K, or of V.
        void each(const std::vector<int> &shares, int n, auto &&what) {
            for (int share = 0; share < c.cluster; ++share) what(shares[n % c.stages * c.cluster + share]);
        }
        void begin_read(int buffer, int contents) { warp == 0 ? p.hold(agent, buffer, contents) : p.read(agent, buffer, contents); }
        void end_read(int buffer) {
            if (warp == 0) p.drop(agent, buffer);
        }
        int issue() {
            p.arrive(agent, b.products[w * 2 + products % 2], products / 2);
            return products++;
        }
        void finish_product(int n) { p.await(agent, b.products[w * 2 + n % 2], n / 2); }
        int issue_scores() {
            begin_read(b.q[unit() % c.q_slots], unit());
            each(b.keys[0], at, [&](int share) { begin_read(share, at); });
            return issue();
        }
        void finish_scores(int n) {
            finish_product(n);
            end_read(b.q[unit() % c.q_slots]);
            each(b.keys[0], at, [&](int share) { end_read(share); });
        }
        int issue_output(int n) {
            each(b.keys[1], n, [&](int share) { begin_read(share, n); });
            return issue();
        }
        void finish_output(int product, int n) {
            finish_product(product);
            each(b.keys[1], n, [&](int share) { end_read(share); });
            give_back_keys(1, n);
        }

        // O of this warpgroup's unit of tile `of`, and its log-sum-exp, which looks the unit up.
        void finish(int of, bool lse_last = false) {
            const auto look_up = [&] { p.read(agent, b.table[(of * c.consumers + w) % c.unit_table()], of * c.consumers + w); };
            if (c.stores) {
                look_up();
                stage(of, true);
                return;
            }
            if (!lse_last) look_up();
            if (warp == 0) p.drain(agent, 0);
            if (a.meets_) meet();
            p.write(agent, b.o[w * kWarps + warp], of);
            if (a.meets_) meet();
            if (warp == 0) {
                look_up();
                for (int each = 0; each < kWarps && a.has_rows(of, index, w); ++each) p.store(agent, b.o[w * kWarps + each], of);
            }
            if (lse_last) look_up();
        }

        void stage(int of, bool rows) {
            if (a.meets_) p.wait(agent, b.stored[w], of - 1);
            if (rows) p.write(agent, b.o[w * kWarps + warp], of);
            p.arrive(agent, b.staged[w], of);
        }

        void first_block() {
            give_back_keys(0, at);
            if (c.stores && a.tiles_[tile].blocks == 1) meet();
            if (a.tiles_[tile].blocks == 1) give_back_unit();
        }
        bool computes() const { return tile < count(a.tiles_) && a.tiles_[tile].blocks > 0 && a.has_rows(tile, index, w); }

        void chain() {
            wait_keys(0, at);
            take_turn();
            const int first = issue_scores();
            pass_turn();
            finish_scores(first);
            first_block();
            for (;;) {
                for (int left = a.tiles_[tile].blocks - 1; left > 0; --left) {
                    ++at;
                    wait_keys(0, at);
                    take_turn();
                    const int scores = issue_scores();
                    wait_keys(1, at - 1);
                    const int output = issue_output(at - 1);
                    pass_turn();
                    finish_scores(scores);
                    meet(); // group_any
                    finish_output(output, at - 1);
                    give_back_keys(0, at);
                    if (left == 1) give_back_unit();
                }
                ++tile;
                ++at;
                wait_unit();
                wait_keys(1, at - 1);
                if (!computes()) {
                    finish_output(issue_output(at - 1), at - 1);
                    finish(tile - 1);
                    return;
                }
                wait_keys(0, at);
                take_turn();
                const int output = issue_output(at - 1), scores = issue_scores();
                pass_turn();
                finish_output(output, at - 1);
                finish(tile - 1);
                finish_scores(scores);
                first_block();
            }
        }
        void pass() {
            for (int j = 0; j < a.tiles_[tile].blocks; ++j, ++at) {
                wait_keys(0, at);
                take_turn();
                pass_turn();
                give_back_keys(0, at);
                wait_keys(1, at);
                meet();
                give_back_keys(1, at);
            }
        }

        void run() {
            if (w == c.consumers - 1) p.arrive(agent, b.turn[0], 0);
            wait_unit();
            while (tile < count(a.tiles_)) {
                if (computes()) {
                    chain();
                    continue;
                }
                if (a.tiles_[tile].blocks > 0)
                    pass();
                else
                    finish(tile, true);
                if (c.stores) stage(tile, false);
                give_back_unit();
                ++tile;
                wait_unit();
            }
            if (c.stores) stage(tile, false);
        }
    };

    AttentionBuild c_;
    std::vector<Tile> tiles_;
    bool meets_;
    std::vector<Block> blocks_;
};

constexpr AttentionBuild kBuilds[] = {attention_d128, attention_d128_c2, attention_d128_c2_short, attention_d64, attention_d64_c2};

// Tiles of every kind in random order: short and long, without keys (`fewest` 0), with idle warpgroups.
std::vector<Tile> some_tiles(unsigned seed, int units, int fewest) {
    std::mt19937 random(seed);
    std::vector<Tile> tiles(1 + random() % 12);
    for (Tile &tile : tiles) {
        const int blocks = static_cast<int>(random() % 5);
        tile = {std::max(blocks - 1, fewest), random() % 3 == 0 ? 1 + static_cast<int>(random() % units) : units};
    }
    return tiles;
}

} // namespace

TEST(AttentionProtocol, IsRight) {
    for (const AttentionBuild &build : kBuilds)
        for (unsigned seed = 0; seed < 20; ++seed)
            ASSERT_EQ(Attention(build, some_tiles(seed, build.tile_units(), build.stores ? 1 : 0)).protocol.check(seed), "") << seed;
}

// The table of units several times over, by units of one block of keys, with and without warpgroups that have no rows.
TEST(AttentionProtocol, IsRightForManyShortUnits) {
    for (const AttentionBuild &build : kBuilds)
        for (int units = 1; units <= build.tile_units(); ++units)
            ASSERT_EQ(Attention(build, std::vector<Tile>(20, {1, units})).protocol.check(units), "") << units;
}

TEST(AttentionProtocol, FindsMistakes) {
    for (const AttentionBuild &build : kBuilds)
        for (const int blocks : {0, 1}) {
            if (build.stores && blocks == 0) continue;
            const Attention attention(build, std::vector<Tile>(10, {blocks, build.tile_units()}), false);
            EXPECT_NE(attention.protocol.check(1).find("part of O"), std::string::npos) << attention.protocol.check(1);
            bool happened = false;
            for (unsigned seed = 1; seed <= 200 && !happened; ++seed) happened = !attention.protocol.check(seed, false).empty();
            EXPECT_TRUE(happened);
        }
}

} // namespace ikbo::test
