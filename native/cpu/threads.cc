#include "threads.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace ikbo::cpu {
namespace {

int32_t configured_threads() {
    if (const char *text = std::getenv("IKBO_THREADS")) {
        const long value = std::strtol(text, nullptr, 10);
        if (value >= 1 && value <= 1024) return static_cast<int32_t>(value);
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
    return std::max(1, static_cast<int32_t>(std::thread::hardware_concurrency()));
}

class Pool {
  public:
    explicit Pool(int32_t threads) {
        for (int32_t t = 1; t < threads; ++t) workers_.emplace_back([this, t] { work(t); });
    }
    Pool(const Pool &) = delete;
    Pool &operator=(const Pool &) = delete;

    int32_t threads() const { return static_cast<int32_t>(workers_.size()) + 1; }

    void run(int64_t count, const std::function<void(int64_t, int32_t)> &body) {
        const std::lock_guard one_loop(loop_);
        {
            const std::lock_guard lock(mutex_);
            body_ = &body;
            count_ = count;
            next_.store(0, std::memory_order_relaxed);
            error_ = nullptr;
            busy_ = static_cast<int32_t>(workers_.size());
            ++generation_;
        }
        wake_.notify_all();
        drain(0);
        std::unique_lock lock(mutex_);
        done_.wait(lock, [this] { return busy_ == 0; });
        body_ = nullptr;
        if (error_) std::rethrow_exception(error_);
    }

  private:
    void drain(int32_t thread) {
        try {
            for (int64_t i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < count_;) (*body_)(i, thread);
        } catch (...) {
            const std::lock_guard lock(mutex_);
            if (!error_) error_ = std::current_exception();
            next_.store(count_, std::memory_order_relaxed);
        }
    }

    void work(int32_t thread) {
        uint64_t seen = 0;
        while (true) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return generation_ != seen; });
                seen = generation_;
            }
            drain(thread);
            const std::lock_guard lock(mutex_);
            if (--busy_ == 0) done_.notify_one();
        }
    }

    std::mutex loop_;
    std::mutex mutex_;
    std::condition_variable wake_, done_;
    std::vector<std::thread> workers_;
    const std::function<void(int64_t, int32_t)> *body_ = nullptr;
    std::atomic<int64_t> next_{0};
    int64_t count_ = 0;
    int32_t busy_ = 0;
    uint64_t generation_ = 0;
    std::exception_ptr error_;
};

// Lives until the process is gone: a process forked from this one has no threads to join at its exit.
Pool &pool() {
    static Pool *const shared = new Pool(configured_threads());
    return *shared;
}

} // namespace

int32_t thread_count() { return pool().threads(); }

void parallel_for(int64_t count, const std::function<void(int64_t, int32_t)> &body) {
    if (count == 1 || pool().threads() == 1) {
        for (int64_t i = 0; i < count; ++i) body(i, 0);
    } else if (count > 1) {
        pool().run(count, body);
    }
}

} // namespace ikbo::cpu
