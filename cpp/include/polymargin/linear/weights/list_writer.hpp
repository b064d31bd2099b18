// Many additions to the weights of one feature: while a list is written, the place of each of its
// classes is known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "polymargin/linear/weights/feature_row.hpp"

namespace polymargin {

template <class T>
class ListWriter {
public:
    explicit ListWriter(std::size_t classes) : place_(classes) {}

    void open(FeatureRow<T>& row) {
        row_ = &row;
        if (!row.is_full()) {
            row.for_each(0, [&](std::size_t c, T) { note(static_cast<std::int32_t>(c)); });
        }
    }

    // A list that would pass `most` entries becomes a full row of `stride` values.
    void add(std::int32_t c, T change, std::size_t most, std::size_t stride) {
        if (row_->is_full()) {
            row_->values()[c] += change;
        } else if (place_[c]) {
            row_->values()[place_[c] - 1] += change;
        } else {
            row_->append(c, change, most, stride);
            note(c);
        }
    }

    void close() {
        for (const std::int32_t c : noted_) place_[c] = 0;
        noted_.clear();
    }

private:
    void note(std::int32_t c) {
        noted_.push_back(c);
        place_[c] = static_cast<std::uint32_t>(noted_.size());
    }

    FeatureRow<T>* row_ = nullptr;
    std::vector<std::uint32_t> place_;  // by class, from 1; 0 where the list does not have it
    std::vector<std::int32_t> noted_;
};

}  // namespace polymargin
