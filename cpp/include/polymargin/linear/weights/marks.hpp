// Some of the classes, each with its place among them: who walks along a list of classes finds
// those that are marked without looking at the others one by one.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "polymargin/simd.hpp"

namespace polymargin {

class Marks {
public:
    Marks() = default;
    explicit Marks(int classes)
        : bits_((static_cast<std::size_t>(classes) + 31) / 32), places_(classes) {}

    bool empty() const { return places_.empty(); }

    void set(std::int32_t c, std::size_t place) {
        bits_[c >> 5] |= std::uint32_t{1} << (c & 31);
        places_[c] = static_cast<std::uint32_t>(place);
    }
    void clear(std::int32_t c) { bits_[c >> 5] = 0; }

    // Calls body(e, place) for the entries e of a list whose class is marked.
    template <class Body>
    [[gnu::always_inline]] void for_each(const std::int32_t* classes, std::size_t count,
                                         Body&& body) const {
        std::size_t e = 0;
        for (; e + simd::marked_lanes <= count; e += simd::marked_lanes) {
            std::uint32_t found = simd::marked(classes + e, bits_.data());
            for (; found; found &= found - 1) {
                const std::size_t at = e + static_cast<std::size_t>(std::countr_zero(found));
                body(at, places_[classes[at]]);
            }
        }
        for (; e < count; ++e) {
            const std::int32_t c = classes[e];
            if (bits_[c >> 5] >> (c & 31) & 1) body(e, places_[c]);
        }
    }

private:
    std::vector<std::uint32_t> bits_;    // one for each class
    std::vector<std::uint32_t> places_;  // of the marked classes
};

}  // namespace polymargin
