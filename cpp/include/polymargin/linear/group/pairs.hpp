// The pairs (example, class) of a group that its dual variables list, and the pairs of one class
// together: through them, and the Gram matrix, a change of one example reaches the scores of the
// others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace polymargin {

class GroupPairs {
public:
    explicit GroupPairs(int k) : chain_(k, none) {}

    void clear() {
        classes_.clear();
        begin_.assign(1, 0);
    }
    void add(std::int32_t c) { classes_.push_back(c); }
    void end_example() { begin_.push_back(classes_.size()); }

    // Pairs of one class become neighbours, examples ascending.
    void chain() {
        chains_.clear();
        std::vector<std::uint32_t>& of_pair = slot_;
        of_pair.resize(size());
        for (std::size_t p = 0; p < size(); ++p) {
            std::uint32_t& found = chain_[classes_[p]];
            if (found == none) {
                found = static_cast<std::uint32_t>(chains_.size());
                chains_.push_back({0, 0});
            }
            of_pair[p] = found;
            ++chains_[found].end;
        }
        std::uint32_t at = 0;
        for (Chain& chain : chains_) {
            const std::uint32_t count = chain.end;
            chain = {at, at};
            at += count;
        }
        of_slot_.resize(size());
        for (std::size_t p = 0; p < size(); ++p) {
            const std::uint32_t found = of_pair[p];
            const std::uint32_t slot = chains_[found].end++;
            of_slot_[slot] = found;
            of_pair[p] = slot;
            chain_[classes_[p]] = none;
        }
    }

    std::size_t size() const { return classes_.size(); }
    std::size_t begin(std::size_t e) const { return begin_[e]; }
    std::size_t end(std::size_t e) const { return begin_[e + 1]; }
    std::int32_t c(std::size_t p) const { return classes_[p]; }
    std::span<const std::int32_t> classes(std::size_t e) const {
        return {classes_.data() + begin_[e], begin_[e + 1] - begin_[e]};
    }

    // The slot of a pair, and the slots of its class.
    struct Chain {
        std::uint32_t begin, end;
    };
    std::uint32_t slot(std::size_t p) const { return slot_[p]; }
    Chain chain(std::size_t p) const { return chains_[of_slot_[slot_[p]]]; }

private:
    static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

    std::vector<std::int32_t> classes_;  // by pair
    std::vector<std::size_t> begin_;     // by example
    std::vector<std::uint32_t> slot_, of_slot_;
    std::vector<Chain> chains_;
    std::vector<std::uint32_t> chain_;  // by class
};

}  // namespace polymargin
