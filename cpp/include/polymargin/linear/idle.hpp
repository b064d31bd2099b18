// Dual variables at rest. One that has not moved in three sweeps over all examples is left out of
// those that follow, until all are taken back. What that has cost is seen by the certificate, which
// looks at every variable.
//
// Two counts of such sweeps for each example: since any of its variables has moved, and since the
// set of the positive ones has changed. After three the whole example is left out, or, where its
// variables are listed, all that are not.
//
// Alber, Zimmert, Dogan & Kloft (2017), section 3.1.1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/duals.hpp"

namespace polymargin {

class IdleVariables {
public:
    static constexpr std::uint32_t patience = 3;

    explicit IdleVariables(std::size_t n) : marks_(n) {}

    // Both counts and a digest of the positive variables, for those who keep them elsewhere
    // between sweeps.
    std::span<std::uint32_t> marks() { return marks_; }

    // Counts start anew.
    void take_back() { std::fill(marks_.begin(), marks_.end(), 0); }

    // A sweep begins; those over the active examples alone do not count.
    void begin(bool all) { counts_ = all; }

    bool leaves_out(std::size_t i) const { return since_move(marks_[i]) == patience; }
    bool leaves_out_unlisted(std::size_t i) const { return since_change(marks_[i]) == patience; }

    // Example i was visited.
    template <class T>
    void note(std::size_t i, bool has_moved, const Duals<T>& duals) {
        std::uint32_t& mark = marks_[i];
        const std::uint32_t step = counts_ ? 1 : 0;
        if (!has_moved) {
            const std::uint32_t move = std::min(since_move(mark) + step, patience);
            const std::uint32_t change = std::min(since_change(mark) + step, patience);
            mark = (mark & digest_bits) | change << 2 | move;
            return;
        }
        const std::uint32_t digest = digest_of(i, duals);
        const bool same = digest == (mark & digest_bits);
        const std::uint32_t change = same ? std::min(since_change(mark) + step, patience) : 0;
        mark = digest | change << 2;
    }

private:
    static constexpr std::uint32_t digest_bits = ~std::uint32_t{15};

    static std::uint32_t since_move(std::uint32_t mark) { return mark & 3; }
    static std::uint32_t since_change(std::uint32_t mark) { return mark >> 2 & 3; }

    // Of the classes alone (FNV).
    template <class T>
    static std::uint32_t digest_of(std::size_t i, const Duals<T>& duals) {
        std::uint32_t digest = 2166136261u;
        duals.for_each(i, [&](std::int32_t c, T) {
            digest = (digest ^ static_cast<std::uint32_t>(c)) * 16777619u;
        });
        return digest & digest_bits;
    }

    std::vector<std::uint32_t> marks_;
    bool counts_ = true;
};

}  // namespace polymargin
