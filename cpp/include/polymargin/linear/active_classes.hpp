// The classes of each active example that may move soon, noted while an example is visited in full
// and used for the cheap visits in between.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace polymargin {

class ActiveClasses {
public:
    explicit ActiveClasses(std::size_t n) : lists_(n) {}

    void clear() {
        classes_.clear();
        std::fill(lists_.begin(), lists_.end(), List{});
    }

    // Notes the classes that `offer` passes to its argument; a list longer than `most` is dropped.
    template <class Offer>
    void note(std::size_t i, std::size_t most, Offer&& offer) {
        const std::size_t first = classes_.size();
        offer([&](std::int32_t c) { classes_.push_back(c); });
        if (classes_.size() - first > most) {
            classes_.resize(first);
            lists_[i] = {};
        } else {
            lists_[i] = {first, static_cast<std::uint32_t>(classes_.size() - first)};
        }
    }

    // Empty where all classes are to be visited.
    std::span<const std::int32_t> operator[](std::size_t i) const {
        return std::span(classes_).subspan(lists_[i].first, lists_[i].count);
    }

private:
    struct List {
        std::size_t first = 0;
        std::uint32_t count = 0;
    };
    std::vector<std::int32_t> classes_;
    std::vector<List> lists_;
};

}  // namespace polymargin
