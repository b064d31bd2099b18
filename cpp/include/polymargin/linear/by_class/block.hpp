// The weights of a few classes, and the scores of an example in all of them at once. Features that
// count in none of the classes share a row of zeros, so that what is read stays in a near cache.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/linear/weights/dense.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

template <class T>
class ClassBlock {
public:
    static constexpr int lanes = 32;

    explicit ClassBlock(std::size_t features) : place_(features) { clear(); }

    void clear() {
        for (const std::uint32_t j : features_) place_[j] = 0;
        features_.clear();
        rows_.assign(1, {});
        bias_ = {};
        counts_ = {};
    }

    // The weights of a class at the features of a row; w has those of all features, then the bias.
    template <class Row>
    void set(const Row row, int lane, std::span<const double> w) {
        for (std::size_t p = 0; p < row.size(); ++p) {
            const std::size_t j = row.index(p);
            if (place_[j] == 0) {
                place_[j] = static_cast<std::uint32_t>(rows_.size());
                features_.push_back(static_cast<std::uint32_t>(j));
                rows_.emplace_back();
            }
            T& to = rows_[place_[j]].values[lane];
            counts_[lane] += to == 0 && T(w[j]) != 0;
            to = T(w[j]);
        }
        if (w.size() > place_.size()) bias_.values[lane] = T(w.back());
    }

    template <class Row>
    void scores(const Row row, T* f) const {
        constexpr int packs = lanes / simd::full_lanes<T>;
        const Placed<Row> placed{row, place_.data()};
        detail::scores_fixed<packs, false>(placed, rows_[0].values, lanes, bias_.values, f);
    }

    // Weights of a class that are not zero.
    std::size_t nonzeros(int lane) const { return counts_[lane]; }

private:
    struct alignas(64) LaneRow {
        T values[lanes]{};
    };

    // A row whose features are numbered by their place in the block.
    template <class Row>
    struct Placed {
        Row row;
        const std::uint32_t* place;

        std::size_t size() const { return row.size(); }
        std::size_t index(std::size_t p) const { return place[row.index(p)]; }
        T value(std::size_t p) const { return row.value(p); }
    };

    std::vector<std::uint32_t> place_;     // by feature; 0 where it counts in no class
    std::vector<std::uint32_t> features_;  // that have a place
    std::vector<LaneRow> rows_;            // by place
    LaneRow bias_;
    std::array<std::size_t, lanes> counts_{};
};

}  // namespace polymargin
