// The weights as one matrix U by feature, the lanes of a feature contiguous: scores of an example
// and the update after a block solve are then straight vector loops over classes. A zero-sum
// machine keeps U un-centred while it is trained.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "polymargin/block/change.hpp"
#include "polymargin/feasible.hpp"
#include "polymargin/lanes.hpp"
#include "polymargin/linear/weights/store.hpp"
#include "polymargin/parallel.hpp"
#include "polymargin/simd.hpp"
#include "polymargin/sums.hpp"

namespace polymargin {

namespace detail {

// f[0 .. lanes) = start + sum_p x_p U[j_p][0 .. lanes) for Full packs and a half, kept in
// registers. Few registers per row leave the sum waiting for itself, so several are kept apart.
template <int Full, bool Half, class T, class Row>
[[gnu::always_inline]] inline void scores_fixed(const Row row, const T* weights, std::size_t stride,
                                                const T* start, T* f) {
    using F = simd::Pack<T>;
    using H = simd::Pack<T, simd::half_lanes<T>>;
    constexpr int ways = 2 * Full + Half <= 3 ? 4 : 2 * Full + Half <= 6 ? 2 : 1;
    F full[ways][Full > 0 ? Full : 1]{};
    H half[ways]{};
    const auto step = [&](std::size_t p, int way) __attribute__((always_inline)) {
        const T x = row.value(p);
        const T* u = weights + row.index(p) * stride;
        for (int v = 0; v < Full; ++v) {
            full[way][v] += x * simd::load<F>(u + v * simd::full_lanes<T>);
        }
        if constexpr (Half) half[way] += x * simd::load<H>(u + Full * simd::full_lanes<T>);
    };
    std::size_t p = 0;
    for (; p + ways <= row.size(); p += ways) {
#pragma GCC unroll 4
        for (int way = 0; way < ways; ++way) step(p + way, way);
    }
    for (; p < row.size(); ++p) step(p, 0);
    for (int way = 1; way < ways; ++way) {
        for (int v = 0; v < Full; ++v) full[0][v] += full[way][v];
        half[0] += half[way];
    }
    for (int v = 0; v < Full; ++v) {
        const int at = v * simd::full_lanes<T>;
        simd::store(f + at, start ? simd::load<F>(start + at) + full[0][v] : full[0][v]);
    }
    if constexpr (Half) {
        const int at = Full * simd::full_lanes<T>;
        simd::store(f + at, start ? simd::load<H>(start + at) + half[0] : half[0]);
    }
}

// u[j_p][0 .. lanes) += x_p step[0 .. lanes), the step kept in registers.
template <int Full, bool Half, class T, class Row>
[[gnu::always_inline]] inline void add_fixed(const Row row, T* weights, std::size_t stride,
                                             const T* step, T* constant) {
    using F = simd::Pack<T>;
    using H = simd::Pack<T, simd::half_lanes<T>>;
    constexpr int half_at = Full * simd::full_lanes<T>;
    F full[Full > 0 ? Full : 1]{};
    H half{};
    for (int v = 0; v < Full; ++v) full[v] = simd::load<F>(step + v * simd::full_lanes<T>);
    if constexpr (Half) half = simd::load<H>(step + half_at);
    const auto add = [&](T* u, T x) __attribute__((always_inline)) {
        for (int v = 0; v < Full; ++v) {
            T* to = u + v * simd::full_lanes<T>;
            simd::store(to, simd::load<F>(to) + x * full[v]);
        }
        if constexpr (Half) simd::store(u + half_at, simd::load<H>(u + half_at) + x * half);
    };
    for (std::size_t p = 0; p < row.size(); ++p) {
        add(weights + row.index(p) * stride, row.value(p));
    }
    if (constant) add(constant, T(1));
}

#ifdef __AVX512F__
inline constexpr int block_packs = 8;
#else
inline constexpr int block_packs = 4;
#endif

// Calls body<Full, Half>(first lane) for blocks of so many lanes that fit the registers.
template <class T, class Body>
[[gnu::always_inline]] inline void for_each_block(std::size_t lanes, Body&& body) {
    std::size_t at = 0, left = lanes / simd::half_lanes<T>;
    for (; left >= 2 * block_packs; left -= 2 * block_packs) {
        body.template operator()<block_packs, false>(at);
        at += block_packs * simd::full_lanes<T>;
    }
    switch (left) {
        case 0: break;
        case 1: body.template operator()<0, true>(at); break;
        case 2: body.template operator()<1, false>(at); break;
        case 3: body.template operator()<1, true>(at); break;
        case 4: body.template operator()<2, false>(at); break;
        case 5: body.template operator()<2, true>(at); break;
        case 6: body.template operator()<3, false>(at); break;
        case 7: body.template operator()<3, true>(at); break;
#ifdef __AVX512F__
        case 8: body.template operator()<4, false>(at); break;
        case 9: body.template operator()<4, true>(at); break;
        case 10: body.template operator()<5, false>(at); break;
        case 11: body.template operator()<5, true>(at); break;
        case 12: body.template operator()<6, false>(at); break;
        case 13: body.template operator()<6, true>(at); break;
        case 14: body.template operator()<7, false>(at); break;
        case 15: body.template operator()<7, true>(at); break;
#endif
        default: __builtin_unreachable();
    }
}

}  // namespace detail

template <class T>
class DenseWeights {
public:
    using value_type = T;
    using InDouble = DenseWeights<double>;

    // Lanes first <= c < last, multiples of half a pack: threads write whole packs.
    struct Slice {
        std::size_t first, last;
    };

    struct Scratch {};

    // A bias is the weight of a constant feature 1.
    DenseWeights(std::size_t features, const Lanes& lanes, bool bias)
        : lanes_(lanes),
          features_(features + bias),
          classes_(static_cast<std::size_t>(lanes.size())),
          stride_(simd::padded<T>(classes_)),
          bias_(bias) {
        // calloc hands out untouched zero pages: features that never occur cost no memory.
        constexpr std::size_t line = 64;
        buffer_.reset(std::calloc(features_ * stride_ * sizeof(T) + line, 1));
        if (!buffer_) throw std::bad_alloc();
        const auto address = reinterpret_cast<std::uintptr_t>(buffer_.get());
        data_ = reinterpret_cast<T*>((address + line - 1) / line * line);
    }

    // In memory of somebody else, of which the first bytes() are used.
    DenseWeights(std::size_t features, const Lanes& lanes, bool bias, T* memory)
        : lanes_(lanes),
          features_(features + bias),
          classes_(static_cast<std::size_t>(lanes.size())),
          stride_(simd::padded<T>(classes_)),
          bias_(bias),
          data_(memory) {}

    std::size_t bytes() const { return features_ * stride_ * sizeof(T); }

    DenseWeights copy() const {
        DenseWeights other(features_ - bias_, lanes_, bias_);
        std::memcpy(other.data_, data_, features_ * stride_ * sizeof(T));
        return other;
    }

    DenseWeights<double> in_double() const {
        DenseWeights<double> other(features_ - bias_, lanes_, bias_);
        const auto to = other.view();
        for (std::size_t j = 0; j < features_; ++j) {
            std::copy_n(feature(j), classes_, to.values + j * to.stride);
        }
        return other;
    }

    // Of some classes, which are lanes first <= c < last here.
    DenseWeights part(const Lanes& lanes) const {
        DenseWeights other(features_ - bias_, lanes, bias_);
        const auto first = static_cast<std::size_t>(lanes_.lane_of(lanes.class_of(0)));
        for (std::size_t j = 0; j < features_; ++j) {
            std::copy_n(feature(j) + first, other.classes_, other.feature(j));
        }
        return other;
    }

    const Lanes& lanes() const { return lanes_; }
    Scratch scratch() const { return {}; }

    // The matrix itself, for those who hand it on: feature j of class c at values[j * stride + c],
    // the bias behind the features.
    struct View {
        T* values;
        std::size_t features, classes, stride;
        bool bias;
    };
    View view() { return {data_, features_ - bias_, classes_, stride_, bias_}; }

    // All values by feature, without padding, the bias last.
    std::vector<T> packed() const {
        std::vector<T> values(features_ * classes_);
        for (std::size_t j = 0; j < features_; ++j) {
            std::copy_n(feature(j), classes_, values.data() + j * classes_);
        }
        return values;
    }
    // False where that are not as many as they should be.
    bool unpack(std::span<const T> values) {
        if (values.size() != features_ * classes_) return false;
        for (std::size_t j = 0; j < features_; ++j) {
            std::copy_n(values.data() + j * classes_, classes_, feature(j));
        }
        return true;
    }

    // Asks for the weights of a row, of all classes where a near cache has room for them, or of
    // those that are listed.
    template <class Row>
    [[gnu::always_inline]] void prefetch(const Row row) const {
        constexpr std::size_t line = 64 / sizeof(T), most = (1 << 16) / sizeof(T);
        if (row.size() * stride_ > most) return;
        for (std::size_t p = 0; p < row.size(); ++p) {
            const T* u = feature(row.index(p));
            for (std::size_t c = 0; c < stride_; c += line) __builtin_prefetch(u + c);
        }
    }
    template <class Row>
    [[gnu::always_inline]] void prefetch(const Row row,
                                         std::span<const DualEntry<T>> listed) const {
        for (std::size_t p = 0; p < row.size(); ++p) {
            const T* u = feature(row.index(p));
            for (const auto& entry : listed) __builtin_prefetch(u + entry.c);
        }
    }

    // --- scores and updates of one row, which is passed by value: a reference might alias the
    // weights, and its pointers would be loaded anew each step

    template <class Row>
    void scores(const Row row, T* f) const {
        const std::size_t stride = stride_;
        const T* u = data_;
        const T* start = constant();
        detail::for_each_block<T>(stride, [&]<int Full, bool Half>(
                                              std::size_t at) __attribute__((always_inline)) {
            detail::scores_fixed<Full, Half>(row, u + at, stride, start ? start + at : nullptr,
                                             f + at);
        });
    }

    template <class Row>
    void scores_in_double(const Row row, double* f) const {
        if constexpr (std::is_same_v<T, double>) {
            scores(row, f);
        } else {
            constexpr std::size_t width = 32;  // sums that stay in registers
            std::size_t first = 0;
            for (; first + width <= classes_; first += width) {
                add_up_in_double<width>(row, first, f + first);
            }
            for (; first < classes_; ++first) add_up_in_double<1>(row, first, f + first);
        }
    }

    // That of one lane.
    template <class Row>
    double score_in_double(const Row row, std::size_t lane) const {
        double f = 0;
        add_up_in_double<1>(row, lane, &f);
        return f;
    }

    template <class Row>
    void scores_of(const Row row, std::span<const std::int32_t> classes, T* f, Scratch&) const {
        constexpr std::size_t width = 4;
        std::size_t at = 0;
        for (; at + width <= classes.size(); at += width) {
            scores_of_some<width>(row, classes.data() + at, f + at);
        }
        for (; at < classes.size(); ++at) scores_of_some<1>(row, classes.data() + at, f + at);
    }

    // The rows of weights one after the other where a row fits the registers, else a pack of all at
    // a time, so that many rows are on their way from memory.
    template <class Row>
    void add(const Row row, const T* delta, Slice slice) {
        const std::size_t stride = stride_, count = slice.last - slice.first;
        T* u = data_ + slice.first;
        T* constant = bias_ ? feature(features_ - 1) + slice.first : nullptr;
        const T* step = delta + slice.first;
        const auto add_lanes =
            [&]<int Full, bool Half>(std::size_t at) __attribute__((always_inline)) {
                detail::add_fixed<Full, Half>(row, u + at, stride, step + at,
                                              constant ? constant + at : nullptr);
            };
        if (count <= detail::block_packs * simd::full_lanes<T>) {
            detail::for_each_block<T>(count, add_lanes);
        } else {
            simd::for_each_pack<T>(count, [&]<class P>(std::size_t at, P) {
                constexpr bool is_full = std::is_same_v<P, simd::Pack<T>>;
                add_lanes.template operator()<is_full, !is_full>(at);
            });
        }
    }

    // The same for the few classes that changed.
    template <class Row>
    void add(const Row row, std::span<const Change<T>> changes, Slice slice) {
        const std::size_t stride = stride_;
        T* base = data_;
        T* constant = bias_ ? feature(features_ - 1) : nullptr;
        for (const Change<T>& change : changes) {
            const auto c = static_cast<std::size_t>(change.c);
            if (c < slice.first || c >= slice.last) continue;
            for (std::size_t p = 0; p < row.size(); ++p) {
                base[row.index(p) * stride + c] += row.value(p) * change.delta;
            }
            if (constant) constant[c] += change.delta;
        }
    }

    std::size_t slices() const { return stride_ / simd::half_lanes<T>; }  // at most
    Slice slice(std::size_t s, std::size_t count) const {
        constexpr std::size_t lanes = simd::half_lanes<T>;
        return {slices() * s / count * lanes, slices() * (s + 1) / count * lanes};
    }
    Slice whole() const { return {0, stride_}; }

    // --- the whole matrix

    void scale(T factor) {
        for (std::size_t at = 0; at < features_ * stride_; ++at) data_[at] *= factor;
    }

    // U <- keep U + other, and other <- 0.
    void take(T keep, DenseWeights& other) {
        T* from = other.data_;
        for (std::size_t at = 0; at < features_ * stride_; ++at) {
            data_[at] = keep * data_[at] + from[at];
            from[at] = 0;
        }
    }

    // Of the weights, or of the weights centred over classes, which then have to be all here.
    double squared_norm(bool centred) const {
        CompensatedSum norm;
        for (std::size_t j = 0; j < features_; ++j) {
            const T* u = feature(j);
            double square = 0, sum = 0;
            for (std::size_t c = 0; c < classes_; ++c) {
                square += double(u[c]) * u[c];
                sum += u[c];
            }
            norm += centred ? square - sum * sum / static_cast<double>(classes_) : square;
        }
        return norm.value();
    }

    // Others of some lanes become these, where they differ by more than many roundings.
    void correct(std::span<const std::size_t> lanes, T* others, std::size_t stride) const {
        constexpr T drift = 32 * std::numeric_limits<T>::epsilon();
        for (std::size_t j = 0; j < features_; ++j, others += stride) {
            const T* u = feature(j);
            for (std::size_t at = 0; at < lanes.size(); ++at) {
                const T now = u[lanes[at]];
                if (std::abs(others[at] - now) > drift * std::abs(now)) others[at] = now;
            }
        }
    }

    // Subtracts the mean over classes from every feature's row.
    void centre() {
        for (std::size_t j = 0; j < features_; ++j) {
            T* u = feature(j);
            double sum = 0;
            for (std::size_t c = 0; c < classes_; ++c) sum += u[c];
            const T mean = static_cast<T>(sum / static_cast<double>(classes_));
            if (mean == 0) continue;
            for (std::size_t c = 0; c < classes_; ++c) u[c] -= mean;
        }
    }

    // In single precision a slice of classes at a time, so that the memory for it stays small.
    template <class Problem>
    double rebuild(const Problem& problem, const Duals<T>& duals, int threads) {
        const std::size_t d = features_, k = classes_;
        if (k == 0) return 0;  // a holder of no class
        constexpr bool in_place = std::is_same_v<T, double>;
        const std::size_t small = duals.flat() ? (d + problem.size()) * k / 16 : d * k / 4;
        const std::size_t numbers = std::max<std::size_t>(small, 1 << 16) / threads;
        const std::size_t most = in_place ? (k + threads - 1) / threads : numbers / d;
        const std::size_t width = std::clamp<std::size_t>(most, 1, k);
        const std::size_t slices = (k + width - 1) / width;
        std::vector<double> norms(slices);
        parallel_for(threads, slices, [&](std::size_t slice) {
            const std::size_t first = slice * width, last = std::min(k, first + width);
            CompensatedSum norm;
            std::vector<double> buffer(in_place ? 0 : d * (last - first));
            if constexpr (in_place) {
                clear(first, last);
                add_alphas(problem, duals, first, last, data_ + first, stride_);
            } else {
                add_alphas(problem, duals, first, last, buffer.data(), last - first);
            }
            for (std::size_t j = 0; j < d; ++j) {
                double sum = 0;
                T* u = feature(j);
                for (std::size_t c = first; c < last; ++c) {
                    const double w = in_place ? u[c] : buffer[j * (last - first) + (c - first)];
                    sum += w * w;
                    if (u[c] != T(w)) u[c] = T(w);
                }
                norm += sum;
            }
            norms[slice] = norm.value();
        });
        CompensatedSum total;
        for (const double norm : norms) total += norm;
        return total.value();
    }

    template <class Problem, class V>
    void accumulate(const Problem& part, const Duals<V>& duals)
        requires std::same_as<T, double>
    {
        add_alphas(part, duals, 0, classes_, data_, stride_);
    }

private:
    // The sums stay in registers, or each would wait for its last store.
    template <std::size_t width, class Row>
    [[gnu::always_inline]] void scores_of_some(const Row row, const std::int32_t* classes,
                                               T* f) const {
        std::array<T, width> sum{};
        for (std::size_t p = 0; p < row.size(); ++p) {
            const T* u = feature(row.index(p));
            const T x = row.value(p);
            for (std::size_t at = 0; at < width; ++at) sum[at] += x * u[classes[at]];
        }
        const T* start = constant();
        for (std::size_t at = 0; at < width; ++at) {
            f[at] = start ? start[classes[at]] + sum[at] : sum[at];
        }
    }

    T* feature(std::size_t j) { return data_ + j * stride_; }
    const T* feature(std::size_t j) const { return data_ + j * stride_; }
    const T* constant() const { return bias_ ? feature(features_ - 1) : nullptr; }

    // f[0 .. width) = the scores of as many lanes.
    template <std::size_t width, class Row>
    [[gnu::always_inline]] void add_up_in_double(const Row row, std::size_t first,
                                                 double* f) const {
        const T* start = constant();
        double sums[width];
        for (std::size_t c = 0; c < width; ++c) sums[c] = start ? double(start[first + c]) : 0.0;
        for (std::size_t p = 0; p < row.size(); ++p) {
            const double x = row.value(p);
            const T* u = feature(row.index(p)) + first;
            for (std::size_t c = 0; c < width; ++c) sums[c] += x * double(u[c]);
        }
        std::copy_n(sums, width, f);
    }

    // The classes first <= c < last; writes only what is not 0, to leave untouched pages so.
    void clear(std::size_t first, std::size_t last) {
        for (std::size_t j = 0; j < features_; ++j) {
            for (std::size_t c = first; c < last; ++c) {
                if (feature(j)[c] != 0) feature(j)[c] = 0;
            }
        }
    }

    // W[j * stride + c - first] += sum_i a_ic x_ij for the lanes first <= c < last.
    template <class Problem, class V>
    void add_alphas(const Problem& problem, const Duals<V>& duals, std::size_t first,
                    std::size_t last, double* W, std::size_t stride) const {
        constexpr std::size_t lookahead = 8;
        const std::size_t n = problem.size();
        const Lanes lanes = lanes_.part(static_cast<int>(first), static_cast<int>(last));
        std::vector<double> dense(problem.k);
        std::vector<typename Problem::value_type> scratch(problem.rows.scratch_size());
        double* bias = W + (features_ - 1) * stride;
        for (std::size_t i = 0; i < n; ++i) {
            if (i + lookahead < n) duals.prefetch_contents(i + lookahead);
            bool loaded = false;
            auto x = decltype(problem.rows.row(i, scratch.data())){};
            for_each_alpha(problem.machine, duals, i, problem.labels[i], problem.upper[i], lanes,
                           dense, [&](int lane, double a) {
                               if (!loaded) x = problem.rows.row(i, scratch.data());
                               loaded = true;
                               double* column = W + lane;
                               for (std::size_t p = 0; p < x.size(); ++p) {
                                   column[x.index(p) * stride] += a * x.value(p);
                               }
                               if (bias_) bias[lane] += a;
                           });
        }
    }

    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    Lanes lanes_;
    std::size_t features_, classes_, stride_;  // the bias counted in
    bool bias_;
    std::unique_ptr<void, Free> buffer_;
    T* data_;
};

}  // namespace polymargin
