// Time, and whether the caller wants to stop: asked for at most ten times a second.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "polymargin/fit/certificate.hpp"
#include "polymargin/fit/observer.hpp"

namespace polymargin {

class Watch {
public:
    // `before` are seconds that count as passed.
    explicit Watch(const Observer& observer, double before = 0)
        : observer_(observer), paused_(-before) {}

    double seconds() const {
        const auto passed = std::chrono::steady_clock::now() - start_;
        return std::chrono::duration<double>(passed).count() - paused_;
    }
    // Calls body while the clock stands still.
    template <class Body>
    auto paused(Body&& body) {
        const double before = seconds();
        const auto result = body();
        paused_ += seconds() - before;
        return result;
    }

    // Without asking.
    bool stopped() const { return stopped_; }
    bool interrupted() {
        if (stopped_ || !observer_.interrupted) return stopped_;
        if (const double now = seconds(); now >= next_) {
            next_ = now + 0.1;
            stopped_ = observer_.interrupted();
        }
        return stopped_;
    }
    // Inside a loop over short visits: most of them do not even read the clock.
    bool interrupted(std::size_t visit) { return visit % 64 == 63 ? interrupted() : stopped_; }

    void record(const Record& record) {
        stopped_ = (observer_.on_check && observer_.on_check(record)) || stopped_;
    }
    // Of a check at this time.
    void record(double epoch, const Certificate& now, std::size_t active) {
        record({.epoch = epoch,
                .seconds = seconds(),
                .primal = now.primal,
                .dual = now.dual,
                .gap = now.gap(),
                .violation = now.violation,
                .active = static_cast<std::int64_t>(active)});
    }

private:
    const Observer& observer_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double next_ = 0.1, paused_;
    bool stopped_ = false;
};

}  // namespace polymargin
