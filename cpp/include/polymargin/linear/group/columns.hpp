// The rows of a group of examples, also by feature: who reads or writes the weights of a feature
// does it for all of them at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace polymargin {

template <class T>
class GroupColumns {
public:
    struct Entry {
        std::uint32_t at;  // place of the example in the group, or of the feature
        T x;
    };

    explicit GroupColumns(std::size_t features) : place_(features, absent) {}

    template <class Rows>
    void gather(const Rows& rows, std::span<const std::uint32_t> examples) {
        scratch_.resize(rows.scratch_size());
        features_.clear();
        column_begin_.clear();
        by_row_.clear();
        row_begin_.assign(1, 0);
        for (const std::uint32_t i : examples) {
            const auto row = rows.row(i, scratch_.data());
            for (std::size_t p = 0; p < row.size(); ++p) {
                if (row.value(p) != 0) by_row_.push_back({place(row.index(p)), row.value(p)});
            }
            row_begin_.push_back(by_row_.size());
        }
        for (const std::uint32_t j : features_) place_[j] = absent;

        std::size_t begin = 0;
        for (std::size_t& count : column_begin_) begin += std::exchange(count, begin);
        column_begin_.push_back(begin);
        by_column_.resize(begin);
        next_.assign(column_begin_.begin(), column_begin_.end());
        for (std::size_t e = 0; e < examples.size(); ++e) {
            for (const auto& [l, x] : row(e)) {
                by_column_[next_[l]++] = {static_cast<std::uint32_t>(e), x};
            }
        }
    }

    // The features that occur.
    std::size_t size() const { return features_.size(); }
    std::size_t feature(std::size_t l) const { return features_[l]; }
    // Examples ascend; a row that repeats a feature has several entries.
    std::span<const Entry> column(std::size_t l) const {
        return part(by_column_, column_begin_, l);
    }
    std::span<const Entry> row(std::size_t e) const { return part(by_row_, row_begin_, e); }

private:
    static constexpr std::uint32_t absent = static_cast<std::uint32_t>(-1);

    static std::span<const Entry> part(const std::vector<Entry>& entries,
                                       const std::vector<std::size_t>& begin, std::size_t at) {
        return {entries.data() + begin[at], begin[at + 1] - begin[at]};
    }

    // Of a feature, which has one more entry now.
    std::uint32_t place(std::size_t j) {
        std::uint32_t& place = place_[j];
        if (place == absent) {
            place = static_cast<std::uint32_t>(features_.size());
            features_.push_back(static_cast<std::uint32_t>(j));
            column_begin_.push_back(0);
        }
        ++column_begin_[place];
        return place;
    }

    std::vector<std::uint32_t> place_;  // by feature, among those that occur
    std::vector<std::uint32_t> features_;
    std::vector<Entry> by_row_, by_column_;
    std::vector<std::size_t> row_begin_, column_begin_, next_;
    std::vector<T> scratch_;
};

}  // namespace polymargin
