// What the linear loops ask of a store of weights U, for rows x of a problem and the classes held
// here, a lane for each:
//
//     scores(x, f), scores_in_double(x, f)   f = U^T x of all lanes, padded with zeros
//     scores_of(x, classes, f, scratch)      of some; each thread has its own scratch()
//     add(x, change, slice)                  U += x change^T for a slice of the lanes, the change
//                                            of all lanes or a list of Change
//     slices(), slice(s, count), whole()     slices that threads may write side by side
//     squared_norm(centred), centre()        over the classes
//     scale(factor)                          all of U
//     rebuild(problem, duals, threads)       U anew from the dual variables; returns |W|^2, W being
//                                            U before it was rounded
//     accumulate(part, duals)                U += sum_i a_i x_i^T of a part of the examples;
//     InDouble
//                                            alone, the same store in double precision
//     copy(), lanes()
//
// A constant feature 1, where the problem has a bias, is the store's own business.
#pragma once

#include <concepts>
#include <cstddef>
#include <span>

#include "polymargin/block/change.hpp"
#include "polymargin/lanes.hpp"

namespace polymargin {

template <class Store>
concept WeightStore = requires(Store store, const Store& weights, std::size_t s) {
    typename Store::value_type;
    typename Store::Slice;
    typename Store::InDouble;
    { weights.lanes() } -> std::convertible_to<const Lanes&>;
    { weights.scratch() } -> std::same_as<typename Store::Scratch>;
    { weights.squared_norm(true) } -> std::same_as<double>;
    { weights.slice(s, s) } -> std::same_as<typename Store::Slice>;
    { weights.whole() } -> std::same_as<typename Store::Slice>;
    { weights.copy() } -> std::same_as<Store>;
    store.centre();
    store.scale(typename Store::value_type{});
};

}  // namespace polymargin
