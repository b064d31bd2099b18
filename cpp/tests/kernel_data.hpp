// A small kernel problem for the tests of its solvers.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/row_cache.hpp"
#include "polymargin/random.hpp"

namespace polymargin::testing {

// Rows of a Gaussian kernel between points drawn at random, some of them twice.
template <class T>
struct KernelData {
    std::size_t n = 60;
    int k = 4;
    std::vector<std::int32_t> labels;
    std::vector<double> upper;
    std::vector<T> diagonal, gram;

    // Point i lies at `lengths[i % 3]` in feature space.
    explicit KernelData(std::array<double, 3> lengths = {1, 1, 1}) : gram(n * n) {
        Random random(7);
        const auto draw = [&] { return double(random.below(1000)) / 500 - 1; };
        std::vector<std::array<double, 3>> points(n);
        for (std::size_t i = 0; i < n; ++i) {
            labels.push_back(std::int32_t(i % k));
            upper.push_back(i % 5 ? 1.5 : 0.5);
            for (double& x : points[i]) x = draw();
            points[i][labels[i] % 3] += 0.7;
            if (i % 10 == 9) points[i] = points[i - 5];
        }
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t j = 0; j < n; ++j) {
                double distance = 0;
                for (int f = 0; f < 3; ++f) distance += std::pow(points[i][f] - points[j][f], 2);
                gram[i * n + j] = T(lengths[i % 3] * lengths[j % 3] * std::exp(-distance));
            }
            diagonal.push_back(gram[i * n + i]);
        }
    }

    KernelProblem<T> problem(const Machine& machine) const {
        return {labels, upper, diagonal, k, machine};
    }
    RowCache<T> rows(std::size_t count) const {
        return {n, count * n * sizeof(T), [this](std::size_t i, T* row) {
                    std::copy_n(gram.begin() + std::ptrdiff_t(i * n), n, row);
                }};
    }
};

}  // namespace polymargin::testing
