// The certificate of a machine joined by a sum whose classes are dealt to several holders, each of
// which has all examples. A hinge of example i and class c needs the scores of c and of the own
// class y_i alone, so that two steps do: holders find the scores f_y of the examples of their own
// classes and add these up, one number for each example; then each has the sums over the hinges of
// its classes, and these add up to those of all.
//
// A holder knows all dual variables of the examples of its classes, and of all others those of its
// classes.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights/dense.hpp"

namespace polymargin {

// The scores of their own class of the examples of the classes held here; others stay as they are.
template <class Rows, class T = typename Rows::value_type>
void find_own_scores(const LinearProblem<Rows>& problem, const DenseWeights<T>& weights,
                     std::span<double> own_scores) {
    std::vector<T> scratch(problem.rows.scratch_size());
    for (std::size_t i = 0; i < problem.size(); ++i) {
        const int lane = weights.lanes().lane_of(problem.labels[i]);
        if (lane < 0) continue;
        own_scores[i] = weights.score_in_double(problem.rows.row(i, scratch.data()), lane);
    }
}

// In place of a reduction: scores of the own classes that are added up already. What the hinges of
// the other holders' classes say is added up in the end.
class KnownOwnScores {
public:
    static constexpr std::size_t block = 256;

    explicit KnownOwnScores(std::span<const double> own_scores) : own_scores_(own_scores) {}

    void operator()(std::span<ExampleHead> heads) const {
        for (ExampleHead& head : heads) head.own_score = own_scores_[at_++];
    }
    void operator()(std::span<ExamplePart>) const {}

private:
    std::span<const double> own_scores_;
    mutable std::size_t at_ = 0;  // examples come in order
};

}  // namespace polymargin
