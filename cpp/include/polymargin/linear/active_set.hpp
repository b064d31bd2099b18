// The examples in the order in which they are visited, those that are active first.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/random.hpp"

namespace polymargin {

class ActiveSet {
public:
    ActiveSet(std::size_t n, std::uint64_t seed) : order_(n), active_(n), random_(seed) {
        std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    }

    std::size_t size() const { return active_; }
    std::span<const std::uint32_t> all() const { return order_; }
    std::span<const std::uint32_t> active() const { return all().first(active_); }
    std::uint32_t operator[](std::size_t at) const { return order_[at]; }

    void shuffle() { random_.shuffle(std::span(order_).first(active_)); }

    // A new choice: keep() the positions of those that stay, ascending, then end with end_choice().
    void begin_choice() { kept_ = 0; }
    void keep(std::size_t at) { std::swap(order_[kept_++], order_[at]); }
    void end_choice() { active_ = kept_; }

private:
    std::vector<std::uint32_t> order_;
    std::size_t active_, kept_ = 0;
    Random random_;
};

}  // namespace polymargin
