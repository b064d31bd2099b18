// Cholesky factorisation of a small symmetric matrix, A = L L^T.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace polymargin {

class Cholesky {
public:
    // Takes A (size x size) by rows, of which the lower triangle is read.
    Cholesky(std::vector<double> matrix, std::size_t size)
        : factor_(std::move(matrix)), size_(size) {
        for (std::size_t j = 0; j < size_; ++j) {
            for (std::size_t i = j; i < size_; ++i) {
                double sum = at(i, j);
                for (std::size_t p = 0; p < j; ++p) sum -= at(i, p) * at(j, p);
                at(i, j) = i == j ? std::sqrt(sum) : sum / at(j, j);
            }
        }
    }

    // b <- A^-1 b
    void solve(std::span<double> b) const {
        for (std::size_t i = 0; i < size_; ++i) {
            for (std::size_t p = 0; p < i; ++p) b[i] -= at(i, p) * b[p];
            b[i] /= at(i, i);
        }
        for (std::size_t i = size_; i-- > 0;) {
            b[i] /= at(i, i);
            for (std::size_t p = 0; p < i; ++p) b[p] -= at(i, p) * b[i];
        }
    }

private:
    double& at(std::size_t i, std::size_t j) { return factor_[i * size_ + j]; }
    double at(std::size_t i, std::size_t j) const { return factor_[i * size_ + j]; }

    std::vector<double> factor_;
    std::size_t size_;
};

}  // namespace polymargin
