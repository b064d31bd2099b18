// The weights of a sparse store that are not 0, by feature and in each by ascending class: what of
// it is kept in files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace polymargin {

template <class T>
struct FeatureLists {
    std::vector<std::int64_t> ends{0};  // of each feature, after a 0
    std::vector<std::int32_t> classes;
    std::vector<T> values;

    // To the feature that has not ended; its classes may come in any order.
    void add(std::int32_t c, T value) { feature_.push_back({c, value}); }

    void end_feature() {
        std::ranges::sort(feature_);
        for (const auto& [c, value] : feature_) {
            classes.push_back(c);
            values.push_back(value);
        }
        ends.push_back(static_cast<std::int64_t>(classes.size()));
        feature_.clear();
    }

private:
    std::vector<std::pair<std::int32_t, T>> feature_;
};

// The same where somebody else has the memory.
template <class T>
struct FeatureListsView {
    std::span<const std::int64_t> ends;
    std::span<const std::int32_t> classes;
    std::span<const T> values;

    // Whether these are lists of so many features and classes.
    bool are_of(std::size_t features, std::size_t k) const {
        if (ends.size() != features + 1 || ends.front() != 0 || classes.size() != values.size() ||
            ends.back() != static_cast<std::int64_t>(classes.size()) ||
            !std::ranges::is_sorted(ends)) {
            return false;
        }
        for (std::size_t j = 0; j < features; ++j) {
            std::int64_t before = -1;
            for (std::int64_t e = ends[j]; e < ends[j + 1]; ++e) {
                if (classes[e] <= before || classes[e] >= static_cast<std::int64_t>(k))
                    return false;
                before = classes[e];
            }
        }
        return true;
    }

    template <class Body>
    void for_each(std::size_t j, Body&& body) const {
        for (std::int64_t e = ends[j]; e < ends[j + 1]; ++e) body(classes[e], values[e]);
    }
};

}  // namespace polymargin
