// A loop over independent parts on several threads, and a barrier for threads that work in rounds.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <thread>

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

// Calls body(part) for part = 0 .. parts - 1; parts are handed out as threads become free. What the
// body throws reaches the caller.
void parallel_for(int threads, std::size_t parts, const std::function<void(std::size_t)>& body);

// Threads that are worth starting for this many examples: one costs as much as dozens of visits.
inline std::size_t crew_for(std::size_t examples, std::size_t threads) {
    constexpr std::size_t least = 512;  // for each thread
    return std::clamp<std::size_t>(examples / least, 1, threads);
}

// Calls body(t) for t = 0 .. threads - 1, all at once, t = 0 on the calling thread. Either all of
// them start or none does. The body does not throw.
void run_crew(std::size_t threads, const std::function<void(std::size_t)>& body);

}  // namespace polymargin
