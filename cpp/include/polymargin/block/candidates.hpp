// Some of the other classes of an example, as a list: those that can be positive in the solution of
// its block, and those near that. The block problem is then one of these alone.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "polymargin/block/block.hpp"
#include "polymargin/block/change.hpp"

namespace polymargin {

template <class T>
class Candidates {
public:
    // At most so many classes.
    explicit Candidates(int most)
        : classes_(most), z_(simd::padded<T>(most)), beta_(simd::padded<T>(most)) {}

    void clear() { count_ = 0; }
    int size() const { return count_; }
    void add(std::int32_t c, T z, T beta) {
        classes_[count_] = c;
        z_[count_] = z;
        beta_[count_++] = beta;
    }

    void enter(Block<T>& block) {
        block.z = z_.data();
        block.beta = beta_.data();
        block.size = simd::padded<T>(count_);
        block.count = count_;
        for (std::size_t at = count_; at < block.size; ++at) {
            z_[at] = -std::numeric_limits<T>::infinity();
            beta_[at] = 0;
        }
    }

    // Moves every class to beta_of(z - threshold); returns by how much all of them rose.
    template <class BetaOf>
    T move(T threshold, const BetaOf& beta_of, std::vector<Change<T>>& changes) {
        changes.clear();
        T sum = 0;
        for (int at = 0; at < count_; ++at) {
            const T beta = beta_of(z_[at] - threshold), moved = beta - beta_[at];
            if (moved == 0) continue;
            changes.push_back({classes_[at], -moved, beta});
            beta_[at] = beta;
            sum += moved;
        }
        return sum;
    }

    // Calls body(c, beta_c) for those less than `near` below the threshold.
    template <class Body>
    void for_each_near(T threshold, T near, Body&& body) const {
        for (int at = 0; at < count_; ++at) {
            if (z_[at] - threshold > -near) body(classes_[at], beta_[at]);
        }
    }

private:
    std::vector<std::int32_t> classes_;
    std::vector<T> z_, beta_;
    int count_ = 0;
};

}  // namespace polymargin
