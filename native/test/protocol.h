// Whether a protocol of barriers and buffers is right in every order in which its parts may run; needs no GPU.
//
// A protocol is a set of agents (warps, single threads), each a straight list of steps on barriers and buffers: what the kernels do
// does not depend on data. Barriers are mbarriers: a phase completes when its arrivals and announced copies are there, and a wait
// asks for a parity only, so that a phase and the one two before it look alike. Copies finish at any time after their start.
//
// `check` runs the protocol once, in an order that follows from `seed`, and returns what went wrong, or "". There are two kinds of
// faults: what does go wrong in that order (a buffer read with other contents than meant, or overwritten while it is read; a wait that
// passes for another phase than meant; an arrival in another phase; a deadlock), and what only happened to go well. For the second kind,
// vector clocks say what the protocol itself puts in order. It must order
//   - a write after the last write and all reads of what it overwrites, and a read after the write of what it reads;
//   - an arrival after the end of the phase before its own (else it could count there);
//   - a wait after the end of the phase before the one it means (else it could pass for the one before that);
//   - a wait before the end of the phase after the one it means (else it could come too late and never pass).
// Where this holds in one order, no order goes wrong: up to the first step that does, every barrier has had the same arrivals as here,
// and so whatever is ordered here was ordered there.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <random>
#include <string>
#include <vector>

namespace ikbo::test {

class Protocol {
  public:
    int agent(std::string name) { return add(agents_, {std::move(name), {}}); }
    int barrier(int arrivals) { return add(barriers_, arrivals); }
    int buffer(std::string name) { return add(buffers_, std::move(name)); }

    // Phases are those that are meant, counted from 0; a fresh barrier counts as having completed phase -1.
    void wait(int agent, int barrier, int phase) { step(agent, {Kind::wait, barrier, phase}); }
    void arrive(int agent, int barrier, int phase, int copies = 0) { step(agent, {Kind::arrive, barrier, phase, copies}); }
    // The wait at a named barrier, or for a product of several warps: who has arrived waits for that phase and not for a parity.
    void await(int agent, int barrier, int phase) { step(agent, {Kind::await, barrier, phase}); }
    // Starts a copy into a buffer; its end is one of those that the barrier's phase was told of.
    void load(int agent, int buffer, int contents, int barrier, int phase) {
        step(agent, {Kind::load, buffer, phase, contents, barrier});
    }
    // Starts a copy out of a buffer; `drain` waits until all of the agent's but the `left` last have read.
    void store(int agent, int buffer, int contents) { step(agent, {Kind::store, buffer, 0, contents}); }
    void drain(int agent, int left) { step(agent, {Kind::drain, left}); }
    void write(int agent, int buffer, int contents) { step(agent, {Kind::write, buffer, 0, contents}); }
    void read(int agent, int buffer, int contents) { step(agent, {Kind::read, buffer, 0, contents}); }
    // A read that lasts from `hold` to `drop`.
    void hold(int agent, int buffer, int contents) { step(agent, {Kind::hold, buffer, 0, contents}); }
    void drop(int agent, int buffer) { step(agent, {Kind::drop, buffer}); }

    // `ordering`: also the second kind of faults.
    std::string check(unsigned seed, bool ordering = true) const;

  private:
    using Clock = std::vector<int>;
    enum class Kind { wait, arrive, await, load, store, drain, write, read, hold, drop };
    struct Step {
        Kind kind;
        int object, phase = 0, contents = 0, barrier = 0; // arrive: `contents` is the number of copies
    };
    struct Agent {
        std::string name;
        std::vector<Step> steps;
    };
    class Run;

    template <class T>
    static int add(std::vector<T> &list, T value) {
        list.push_back(std::move(value));
        return static_cast<int>(list.size()) - 1;
    }
    void step(int agent, Step step) { agents_[agent].steps.push_back(step); }

    std::vector<Agent> agents_;
    std::vector<int> barriers_; // arrivals of a phase
    std::vector<std::string> buffers_;
};

class Protocol::Run {
  public:
    // Of those who may go on, the first in a random line does. Now and then two change places, so some fall far behind.
    Run(const Protocol &protocol, unsigned seed, bool ordering)
        : p_(protocol), ordering_(ordering), agents_(static_cast<int>(p_.agents_.size())) {
        const int size = agents_ + static_cast<int>(p_.buffers_.size()); // a buffer's copies count as an agent
        clocks_.assign(size, Clock(size));
        next_.assign(agents_, 0);
        stores_.resize(agents_);
        copies_.resize(p_.buffers_.size());
        buffers_.resize(p_.buffers_.size());
        for (const int arrivals : p_.barriers_) barriers_.push_back({arrivals, 0, 0, arrivals, Clock(size), {}, {}});

        std::mt19937 random(seed);
        std::vector<int> line(size);
        std::iota(line.begin(), line.end(), 0);
        std::shuffle(line.begin(), line.end(), random);
        while (fault.empty()) {
            if (random() % 32 == 0) std::swap(line[random() % size], line[random() % size]);
            const auto first = std::find_if(line.begin(), line.end(), [&](int i) { return may_go_on(i); });
            if (first == line.end()) break;
            if (*first < agents_)
                go_on(*first);
            else
                finish_copy(*first - agents_);
        }
        for (int i = 0; i < agents_; ++i) expect(next_[i] == std::ssize(p_.agents_[i].steps), i, "waits for ever");
    }

    std::string fault; // the first one

  private:
    struct Event { // the number-th of an agent or of a buffer's copies
        int of = 0, number = 0;
    };
    struct Barrier {
        int arrivals, phase, copies, missing;
        Clock gathered;
        std::vector<Clock> ends;                // of the phases so far
        std::vector<std::vector<Event>> passed; // waits for each phase
    };
    struct Buffer {
        int contents = -1, readers = 0;
        Event written = {};
        std::vector<Event> reads = {};
    };
    struct Copy {
        Clock start;
        int agent, store; // which of the agent's stores, or -1
        Step step;
    };

    static bool knows(const Clock &clock, Event event) { return clock[event.of] >= event.number; }
    static bool knows(const Clock &clock, const Clock &other) {
        return std::equal(clock.begin(), clock.end(), other.begin(), std::greater_equal<int>());
    }
    static void join(Clock &clock, const Clock &other) {
        std::transform(clock.begin(), clock.end(), other.begin(), clock.begin(), [](int a, int b) { return std::max(a, b); });
    }
    void expect(bool holds, int agent, const std::string &what) {
        if (!holds && fault.empty()) fault = p_.agents_[agent].name + ", step " + std::to_string(next_[agent]) + ": " + what;
    }
    void expect_order(bool holds, int agent, const std::string &what) { expect(holds || !ordering_, agent, what); }

    bool may_go_on(int i) const {
        if (i >= agents_) return !copies_[i - agents_].empty();
        if (next_[i] == std::ssize(p_.agents_[i].steps)) return false;
        const Step &s = p_.agents_[i].steps[next_[i]];
        if (s.kind == Kind::wait) return ((barriers_[s.object].phase ^ s.phase) & 1) != 0;
        if (s.kind == Kind::await) return barriers_[s.object].phase > s.phase;
        if (s.kind == Kind::drain) return std::none_of(stores_[i].begin(), last(i, s.object), std::mem_fn(&Clock::empty));
        return true;
    }
    // The first of the agent's `left` last stores.
    std::vector<Clock>::const_iterator last(int i, int left) const {
        return stores_[i].end() - std::min<std::ptrdiff_t>(left, std::ssize(stores_[i]));
    }

    void go_on(int i) {
        const Step &s = p_.agents_[i].steps[next_[i]];
        Clock &clock = clocks_[i];
        const Event now{i, ++clock[i]};
        switch (s.kind) {
        case Kind::wait: pass(i, s, now); break;
        case Kind::await: join(clock, barriers_[s.object].ends[s.phase]); break;
        case Kind::arrive: arrive(i, s.object, s.phase, clock, s.contents); break;
        case Kind::load:
            start_write(i, s.object);
            copies_[s.object].push({clock, i, -1, s});
            break;
        case Kind::store:
            start_read(i, s);
            copies_[s.object].push({clock, i, static_cast<int>(stores_[i].size()), s});
            stores_[i].push_back({});
            break;
        case Kind::drain: std::for_each(stores_[i].cbegin(), last(i, s.object), [&](const Clock &end) { join(clock, end); }); break;
        case Kind::write:
            start_write(i, s.object);
            end_write(s, now);
            break;
        case Kind::read:
            start_read(i, s);
            end_read(s.object, now);
            break;
        case Kind::hold: start_read(i, s); break;
        case Kind::drop: end_read(s.object, now); break;
        }
        ++next_[i];
    }

    void finish_copy(int buffer) {
        Copy copy = std::move(copies_[buffer].front());
        copies_[buffer].pop();
        const int of = agents_ + buffer;
        const Event now{of, ++clocks_[of][of]};
        copy.start[of] = now.number;
        if (copy.step.kind == Kind::store) {
            end_read(buffer, now);
            stores_[copy.agent][copy.store] = copy.start;
        } else {
            end_write(copy.step, now);
            arrive(copy.agent, copy.step.barrier, copy.step.phase, copy.start, -1);
        }
    }

    void pass(int i, const Step &s, Event now) {
        Barrier &barrier = barriers_[s.object];
        expect(barrier.phase == s.phase + 1, i, "a wait passes for another phase");
        if (s.phase < 0 || !fault.empty()) return;
        expect_order(s.phase == 0 || knows(clocks_[i], barrier.ends[s.phase - 1]), i, "a wait may pass two phases early");
        join(clocks_[i], barrier.ends[s.phase]);
        barrier.passed.resize(barrier.ends.size());
        barrier.passed[s.phase].push_back(now);
    }

    // `copies`: how many are announced; -1: the end of one, which is no arrival.
    void arrive(int i, int of, int phase, const Clock &clock, int copies) {
        Barrier &barrier = barriers_[of];
        expect(barrier.phase == phase, i, "an arrival counts in another phase");
        if (!fault.empty()) return;
        expect_order(phase == 0 || knows(clock, barrier.ends[phase - 1]), i, "an arrival may count in the phase before");
        join(barrier.gathered, clock);
        barrier.copies += copies;
        if (copies >= 0) --barrier.missing;
        if (barrier.missing != 0 || barrier.copies != 0) return;
        if (phase > 0 && std::ssize(barrier.passed) >= phase)
            for (const Event wait : barrier.passed[phase - 1])
                expect_order(knows(barrier.gathered, wait), i, "a wait for the phase before may come too late");
        barrier.ends.push_back(barrier.gathered);
        std::fill(barrier.gathered.begin(), barrier.gathered.end(), 0);
        barrier.missing = barrier.arrivals;
        ++barrier.phase;
    }

    void start_read(int i, const Step &s) {
        Buffer &buffer = buffers_[s.object];
        const std::string &name = p_.buffers_[s.object];
        expect(buffer.contents == s.contents, i, name + " has other contents than it should");
        expect_order(knows(clocks_[i], buffer.written), i, name + " may be read before it is full");
        ++buffer.readers;
    }
    void end_read(int of, Event now) {
        buffers_[of].reads.push_back(now);
        --buffers_[of].readers;
    }
    void start_write(int i, int of) {
        Buffer &buffer = buffers_[of];
        const std::string &name = p_.buffers_[of];
        expect(buffer.readers == 0, i, name + " is overwritten while it is read");
        expect_order(knows(clocks_[i], buffer.written), i, name + " may be written by two at once");
        for (const Event read : buffer.reads)
            expect_order(knows(clocks_[i], read), i, name + " may be overwritten while it is read");
        buffer.contents = -1;
        buffer.reads.clear();
    }
    void end_write(const Step &s, Event now) {
        buffers_[s.object].contents = s.contents;
        buffers_[s.object].written = now;
    }

    const Protocol &p_;
    const bool ordering_;
    const int agents_;
    std::vector<Clock> clocks_;
    std::vector<int> next_;                  // step of each agent
    std::vector<std::vector<Clock>> stores_; // of each agent: when they had read; empty: not yet
    std::vector<std::queue<Copy>> copies_;   // of each buffer, started and not finished
    std::vector<Buffer> buffers_;
    std::vector<Barrier> barriers_;
};

inline std::string Protocol::check(unsigned seed, bool ordering) const { return Run(*this, seed, ordering).fault; }

} // namespace ikbo::test
