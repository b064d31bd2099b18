// The scores of examples in double, one after the other, which some stores of weights prepare for a
// block of them together.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "polymargin/linear/weights/store.hpp"

namespace polymargin {

template <class Rows, WeightStore Store>
class ScoresInDouble {
public:
    ScoresInDouble(const Store& weights, const Rows& rows, std::size_t)
        : weights_(weights), rows_(rows), scratch_(rows.scratch_size()) {}

    // Examples that are best prepared together.
    std::size_t at_once() const { return 1; }

    void prepare(std::span<const std::uint32_t> examples) { examples_ = examples; }

    // Of the e-th of them.
    void operator()(std::size_t e, double* f) {
        weights_.scores_in_double(rows_.row(examples_[e], scratch_.data()), f);
    }

private:
    const Store& weights_;
    const Rows& rows_;
    std::vector<typename Rows::value_type> scratch_;
    std::span<const std::uint32_t> examples_;
};

template <class Rows, WeightStore Store>
    requires requires { typename Store::template Together<Rows, double>; }
class ScoresInDouble<Rows, Store> {
public:
    ScoresInDouble(const Store& weights, const Rows& rows, std::size_t stride)
        : together_(weights, rows), stride_(stride) {}

    std::size_t at_once() const {
        constexpr std::size_t most_bytes = 48 << 20, most = 512;
        return std::clamp<std::size_t>(most_bytes / (stride_ * sizeof(double)), 8, most);
    }

    void prepare(std::span<const std::uint32_t> examples) {
        examples_ = examples;
        from_full_.resize(examples.size() * stride_);
        together_.full(examples, from_full_.data());
    }

    void operator()(std::size_t e, double* f) {
        std::copy_n(from_full_.data() + e * stride_, stride_, f);
        together_.lists(examples_[e], f);
    }

private:
    typename Store::template Together<Rows, double> together_;
    std::size_t stride_;
    std::span<const std::uint32_t> examples_;
    std::vector<double> from_full_;
};

}  // namespace polymargin
