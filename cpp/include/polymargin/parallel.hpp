// A loop over independent parts on several threads, and a barrier for threads that work in rounds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace polymargin {

// Waits are short: threads spin, and give way only where there are more of them than processors.
class Barrier {
public:
    explicit Barrier(std::size_t threads) : threads_(threads) {}

    void wait() {
        const std::size_t round = round_.load(std::memory_order_relaxed);
        if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == threads_) {
            arrived_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
            if (spins > 4096) std::this_thread::yield();
        }
    }

private:
    std::size_t threads_;
    std::atomic<std::size_t> arrived_{0}, round_{0};
};

// Parts are handed out as threads become free.
template <class Body>
void parallel_for(int threads, std::size_t parts, Body&& body) {
    const auto workers = std::min<std::size_t>(std::max(threads, 1), parts);
    if (workers <= 1) {
        for (std::size_t part = 0; part < parts; ++part) body(part);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        try {
            for (std::size_t part; (part = next.fetch_add(1)) < parts;) body(part);
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> pool;
        for (std::size_t t = 1; t < workers; ++t) pool.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

// Threads that are worth starting for this many examples: one costs as much as dozens of visits.
inline std::size_t crew_for(std::size_t examples, std::size_t threads) {
    constexpr std::size_t least = 512;  // for each thread
    return std::clamp<std::size_t>(examples / least, 1, threads);
}

// Calls body(t) for t = 0 .. threads - 1, all at once, t = 0 on the calling thread. Either all of
// them start or none does. The body does not throw.
template <class Body>
void run_crew(std::size_t threads, Body&& body) {
    enum Signal { wait, go, cancel };
    std::atomic<Signal> signal{wait};
    std::vector<std::jthread> pool;
    try {
        for (std::size_t t = 1; t < threads; ++t) {
            pool.emplace_back([&, t] {
                signal.wait(wait);
                if (signal == go) body(t);
            });
        }
    } catch (...) {
        signal = cancel;
        signal.notify_all();
        throw;
    }
    signal = go;
    signal.notify_all();
    body(std::size_t{0});
}

}  // namespace polymargin
