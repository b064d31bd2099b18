// What the core offers for linear machines, for each kind of rows, either precision and any store
// of weights. The templates are compiled in cpp/src for dense and for sparse weights; train.inl
// compiles them for another store.
#pragma once

#include <utility>

#include "polymargin/duals.hpp"
#include "polymargin/linear/certificate.hpp"
#include "polymargin/linear/dealt_certificate.hpp"
#include "polymargin/linear/local_descent.hpp"
#include "polymargin/linear/outcome.hpp"
#include "polymargin/linear/problem.hpp"
#include "polymargin/linear/weights/dense.hpp"
#include "polymargin/linear/weights/sparse.hpp"

namespace polymargin {

// Trains from the given duals (zero, or a warm start inside the bounds) and leaves there and in
// the weights what it reached.
template <class Rows, WeightStore Store, class T = typename Rows::value_type>
LinearOutcome train(const LinearProblem<Rows>& problem, const LinearOptions& options,
                    Duals<T>& duals, Store& weights, const Observer& observer);

// What train() does where it pays: sweeps in double begin in single precision.
template <class Rows>
LinearOutcome train_single_first(const LinearProblem<Rows>& problem, const LinearOptions& options,
                                 Duals<double>& duals, DenseWeights<double>& weights,
                                 const Observer& observer);

// A part of a sweep over the examples of one holder, which leaves W + sigma V in the weights.
template <class Rows, WeightStore Store>
std::pair<double, double> descend(LocalDescent<Rows, Store>& local, std::size_t part,
                                  std::size_t parts, double negligible, const Observer& observer);

// Visits the examples of a stream once; returns how many, fewer than all after an interrupt. Their
// dual variables, where they are kept, are those of the last pass and then of this one.
template <class Rows, WeightStore Store, class T = typename Rows::value_type>
std::size_t train_stream(const LinearProblem<Rows>& problem, const LinearOptions& options,
                         Store& weights, Duals<T>* kept, const Observer& observer);

// Adds a part of a stream to the certificate of these weights, which are centred where the machine
// is zero-sum.
template <class Rows, WeightStore Store, class T = typename Rows::value_type>
void check_stream(const LinearProblem<Rows>& problem, const Store& weights, const Duals<T>& kept,
                  PassingCertificate<typename Store::InDouble>& certificate);

// The scores f_y of the examples whose class is held here; the others stay as they are.
template <class Rows, WeightStore Store>
void score_own_classes(const LinearProblem<Rows>& problem, const Store& weights,
                       std::span<double> own_scores);

// The weights of the classes held here become those of the dual variables; their squared norm
// before they were rounded.
template <class Rows, WeightStore Store, class T = typename Rows::value_type>
double rebuild_own_classes(const LinearProblem<Rows>& problem, const Duals<T>& duals,
                           Store& weights);

// What the classes held here say of all examples, with the scores f_y of all.
template <class Rows, WeightStore Store, class T = typename Rows::value_type>
CertificateSums check_own_classes(const LinearProblem<Rows>& problem, const Store& weights,
                                  const Duals<T>& duals, std::span<const double> own_scores);

// out (n, k) = rows coef^T + intercept; coef has k rows and any strides.
template <class Rows, class T = typename Rows::value_type>
void predict_scores(const Rows& rows, const T* coef, std::size_t k, std::ptrdiff_t class_stride,
                    std::ptrdiff_t feature_stride, const T* intercept, T* out, int threads);

}  // namespace polymargin
