// How the vectors a = sum_c beta_c nu_c of some examples changed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "polymargin/duals.hpp"
#include "polymargin/machine.hpp"

namespace polymargin {

// Examples that changed; entries offsets[e] .. offsets[e + 1] - 1 are those of examples[e].
template <class T>
struct AlphaChanges {
    std::vector<std::int64_t> examples;
    std::vector<std::size_t> offsets{0};
    std::vector<std::int32_t> classes;
    std::vector<T> values;

    std::size_t size() const { return examples.size(); }
    void add(std::int32_t c, T value) {
        classes.push_back(c);
        values.push_back(value);
    }
    // Entries added since the last call are those of example i; false where there are none.
    bool end_example(std::int64_t i) {
        if (classes.size() == offsets.back()) return false;
        examples.push_back(i);
        offsets.push_back(classes.size());
        return true;
    }
};

// The change of one example, summed up in double from its dual variables.
class AlphaChange {
public:
    AlphaChange(const Machine& machine, int k) : machine_(machine), values_(k) {}

    // a += beta nu_c for an example of class y.
    void add(std::int32_t y, std::int32_t c, double beta) {
        machine_.for_each_alpha(y, c, beta, [&](std::int32_t at, double a) { values_[at] += a; });
    }

    // a = the vector of `now` less that of `before`, each row i of some dual variables.
    template <class T>
    void set(std::int32_t y, const Duals<T>& now, std::size_t i, const Duals<T>& before,
             std::size_t j) {
        clear();
        now.for_each(i, [&](std::int32_t c, T beta) { add(y, c, double(beta)); });
        before.for_each(j, [&](std::int32_t c, T beta) { add(y, c, -double(beta)); });
    }

    void clear() { std::fill(values_.begin(), values_.end(), 0.0); }
    const std::vector<double>& values() const { return values_; }

    // As the change of example i; false where there is none.
    template <class T>
    bool append_to(AlphaChanges<T>& changes, std::int64_t i) const {
        for (std::size_t c = 0; c < values_.size(); ++c) {
            if (T(values_[c]) != 0) changes.add(static_cast<std::int32_t>(c), T(values_[c]));
        }
        return changes.end_example(i);
    }

private:
    const Machine& machine_;
    std::vector<double> values_;
};

}  // namespace polymargin
