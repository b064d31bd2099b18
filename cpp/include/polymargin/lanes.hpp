// The classes of a problem, and those whose weights and scores are held here, a lane for each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace polymargin {

class Lanes {
public:
    // All of them.
    Lanes(int classes) : classes_(classes), size_(classes) {}
    // first <= c < last.
    Lanes(int classes, std::int32_t first, std::int32_t last)
        : classes_(classes), size_(last - first), first_(first) {}
    // A list, ascending.
    Lanes(int classes, std::vector<std::int32_t> held)
        : classes_(classes), size_(static_cast<int>(held.size())), held_(std::move(held)) {}

    int classes() const { return classes_; }  // of the problem
    int size() const { return size_; }

    // Some lanes of these, first <= lane < last.
    Lanes part(int first, int last) const {
        if (held_.empty()) return {classes_, first_ + first, first_ + last};
        return {classes_, std::vector(held_.begin() + first, held_.begin() + last)};
    }

    std::int32_t class_of(int lane) const {
        return held_.empty() ? first_ + lane : held_[static_cast<std::size_t>(lane)];
    }
    // Negative where class c is held elsewhere.
    int lane_of(std::int32_t c) const {
        if (held_.empty()) return c >= first_ && c < first_ + size_ ? c - first_ : -1;
        const auto at = std::lower_bound(held_.begin(), held_.end(), c);
        return at != held_.end() && *at == c ? static_cast<int>(at - held_.begin()) : -1;
    }

private:
    int classes_, size_;
    std::int32_t first_ = 0;
    std::vector<std::int32_t> held_;  // empty for a range
};

// Dual variables, those of the classes held here alone.
template <class Variables>
struct Held {
    const Variables& duals;
    const Lanes& lanes;

    template <class Body>
    void for_each(std::size_t i, Body&& body) const {
        duals.for_each(i, [&](std::int32_t c, auto value) {
            if (lanes.lane_of(c) >= 0) body(c, value);
        });
    }
};

}  // namespace polymargin
