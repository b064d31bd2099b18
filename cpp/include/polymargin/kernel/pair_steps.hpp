// The problem of a working set, two variables at a time: those that gain most together, exactly
// inside their box, as S2DO chooses them (sequential.hpp). For relative box machines (WW), where
//
//     Q_(ic),(jd) = K_ij (A_j + B_d),   A_j = [y_j = y_i] - [y_j = c],   B_d = [d = c] - [d = y_i]
//
// so that most gradients do not depend on most variables. Variables lie in tiles: one class of a
// pack of examples. Where examples with the same label are neighbours, a step reads and writes the
// tiles of few labels and classes; of all others it needs to know what each example gains at most.
// Classes in which nobody of a pack has a variable in use, or is close to it, have no tile.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "polymargin/kernel/problem.hpp"
#include "polymargin/kernel/two_variables.hpp"
#include "polymargin/simd.hpp"

namespace polymargin {

template <class T>
class PairSteps {
public:
    explicit PairSteps(const KernelProblem<T>& problem)
        : problem_(problem), packs_of_(problem.k), tiles_of_(problem.k), of_class_(problem.k) {}

    static bool defined_for(const Machine& machine) {
        return machine.relative && !machine.simplex();
    }

    // Steps, `most` of them, until the gap of the examples is small enough. `scores` has a row of
    // `by_class` entries for each class, `beta` one of `stride` entries for each example; returns
    // the number of steps.
    std::int64_t solve(std::span<const std::int64_t> examples, const T* gram, const T* scores,
                       std::size_t by_class, double enough, std::int64_t most, T* beta,
                       std::size_t stride) {
        load(examples, gram, scores, by_class, beta, stride);
        std::int64_t steps = 0;
        bool moves = true;
        while (moves && steps < most && !(steps % between == 0 && steps > 0 && gap() <= enough)) {
            moves = step();
            ++steps;
        }
        for (std::size_t t = 0; t < tiles_.size(); ++t) {
            const std::size_t first = tiles_[t].pack * lanes, count = std::min(lanes, q_ - first);
            for (std::size_t lane = 0; lane < count; ++lane) {
                beta[(first + lane) * stride + tiles_[t].c] = tiles_[t].beta[lane];
            }
        }
        return steps;
    }

private:
    using P = simd::Pack<T>;
    static constexpr std::size_t lanes = simd::full_lanes<T>;
    using Labels = simd::Pack<std::int32_t, static_cast<int>(lanes)>;
    static constexpr std::int64_t between = 64;  // steps from one look at the gap to the next
    static constexpr T near = T(0.5);  // gradient below zero with which a class has a tile
    // Part of a determinant that rounding may have left of none.
    static constexpr T rounding = sizeof(T) == 4 ? T(1e-6) : T(1e-12);
    static constexpr T no_variable = T(-1e6);  // gradient

    struct Tile {
        P gradient, beta, upper;
        P drive;  // the gradient, where it does not push against a bound
        std::uint32_t pack;
        std::int32_t c;
    };
    struct Variable {
        std::size_t tile;
        std::size_t lane;
        std::size_t e;  // place of the example
        std::int32_t y, c;
    };
    struct Bounds {
        double low, high;
    };

    // --- the largest entry of many packs, and where it is

    struct Search {
        using Numbers = simd::Pack<std::int32_t, static_cast<int>(lanes)>;
        P most{};
        Numbers where{};

        [[gnu::always_inline]] void see(P values, std::size_t number) {
            const auto above = values > most;
            most = simd::max(values, most);
            if constexpr (sizeof(T) == 4) {
                where = above ? Numbers{} + static_cast<std::int32_t>(number) : where;
            } else {
                where = __builtin_convertvector(above, Numbers)
                            ? Numbers{} + static_cast<std::int32_t>(number)
                            : where;
            }
        }
        T value() const {
            return simd::reduce<T, static_cast<int>(lanes)>(most, [](auto a, auto b) {
                return a > b ? a : b;
            });
        }
        std::size_t lane() const {
            return std::countr_zero(~simd::bits_above(splat(value()) - most, T(0)));
        }
    };

    static P splat(T value) { return simd::splat<P>(value); }

    // --- loading

    void load(std::span<const std::int64_t> examples, const T* gram, const T* scores,
              std::size_t by_class, const T* beta, std::size_t stride) {
        q_ = examples.size();
        gram_ = gram;
        const std::size_t packs = (q_ + lanes - 1) / lanes, k = problem_.k;
        labels_.assign(packs * lanes, -1);
        diagonal_.assign(packs, P{});
        inverse_.assign(packs, P{});
        first_tile_.assign(packs + 1, 0);
        gains_.resize(packs);
        stamps_.assign(packs, 0);
        tiles_.clear();
        for (auto& list : packs_of_) list.clear();
        for (auto& list : tiles_of_) list.clear();
        std::vector<P> rows(k);
        for (std::size_t p = 0; p < packs; ++p) {
            P upper{};
            for (std::size_t lane = 0; lane < std::min(lanes, q_ - p * lanes); ++lane) {
                const std::size_t e = p * lanes + lane;
                const std::int64_t i = examples[e];
                const std::int32_t y = labels_[e] = problem_.labels[i];
                const T K = problem_.diagonal[i];
                diagonal_[p][lane] = K;
                inverse_[p][lane] = K > 0 ? 1 / K : T(1e20);
                upper[lane] = T(problem_.machine.upper(false, problem_.upper[i]));
                for (std::size_t c = 0; c < k; ++c) {
                    rows[c][lane] = scores[c * by_class + e] - scores[y * by_class + e];
                }
                auto& with_label = packs_of_[y];
                if (with_label.empty() || with_label.back() != p) with_label.push_back(p);
            }
            load_tiles(p, rows, upper, beta, stride);
        }
        first_tile_[packs] = tiles_.size();
        for (std::size_t p = 0; p < packs; ++p) find_gains(p);
    }

    void load_tiles(std::size_t p, const std::vector<P>& rows, P upper, const T* beta,
                    std::size_t stride) {
        first_tile_[p] = tiles_.size();
        const std::size_t count = std::min(lanes, q_ - p * lanes);
        for (std::int32_t c = 0; c < problem_.k; ++c) {
            Tile tile{.gradient = splat(no_variable),
                      .beta{},
                      .upper{},
                      .drive{},
                      .pack = static_cast<std::uint32_t>(p),
                      .c = c};
            bool in_use = false;
            for (std::size_t lane = 0; lane < count; ++lane) {
                const std::size_t e = p * lanes + lane;
                if (labels_[e] == c) continue;
                tile.gradient[lane] = 1 + rows[c][lane];
                tile.beta[lane] = beta[e * stride + c];
                tile.upper[lane] = upper[lane];
                in_use |= tile.beta[lane] > 0 || tile.gradient[lane] > -near;
            }
            if (!in_use) continue;
            tiles_of_[c].push_back(tiles_.size());
            tiles_.push_back(tile);
            find_drive(tiles_.back());
        }
    }

    [[gnu::always_inline]] static void find_drive(Tile& tile) {
        const P g = tile.gradient;
        const P up = tile.beta < tile.upper ? g : P{}, down = tile.beta > P{} ? g : P{};
        tile.drive = g > P{} ? up : down;
    }

    // What one variable of each example gains at most, times 2 nu^T nu; a step may leave a bound of
    // it.
    [[gnu::always_inline]] void find_gains(std::size_t p) {
        P most{};
        for (std::size_t t = first_tile_[p]; t < first_tile_[p + 1]; ++t) {
            most = simd::max(most, tiles_[t].drive * tiles_[t].drive);
        }
        gains_[p] = most * inverse_[p];
    }

    double gap() const {
        double total = 0;
        for (const Tile& tile : tiles_) {
            const P of_each =
                tile.upper * simd::max(tile.gradient, P{}) - tile.beta * tile.gradient;
            total += simd::reduce<T, static_cast<int>(lanes)>(of_each, std::plus<>{});
        }
        return total;
    }

    // --- what is read in a step

    [[gnu::always_inline]] P kernel(const T* row, std::size_t p) const {
        if ((p + 1) * lanes <= q_) [[likely]]
            return simd::load<P>(row + p * lanes);
        P part{};
        std::memcpy(&part, row + p * lanes, (q_ - p * lanes) * sizeof(T));
        return part;
    }

    const T* row(const Variable& v) const { return gram_ + v.e * q_; }

    // A_j of a variable.
    [[gnu::always_inline]] P of_labels(const Variable& v, std::size_t p) const {
        const Labels y = simd::load<Labels>(labels_.data() + p * lanes);
        return __builtin_convertvector((y == v.c) - (y == v.y), P);  // true is -1
    }

    // Rows are seldom in the nearest cache: all that is needed of one is asked for at once.
    void fetch(const Variable& v) const {
        for (const std::int32_t y : {v.y, v.c}) {
            for (const std::size_t p : packs_of_[y]) __builtin_prefetch(row(v) + p * lanes);
        }
    }

    Variable at(std::size_t t, std::size_t lane) const {
        const std::size_t e = tiles_[t].pack * lanes + lane;
        return {t, lane, e, labels_[e], tiles_[t].c};
    }

    Bounds room(const Variable& v) const {
        const double beta = tiles_[v.tile].beta[v.lane];
        return {-beta, double(tiles_[v.tile].upper[v.lane]) - beta};
    }

    // --- a step

    // False where no variable gains anything.
    bool step() {
        const auto [first, alone] = largest_gain([](std::size_t) { return true; });
        if (!(alone > 0)) return false;
        fetch(first);
        Variable second;
        if (!find_second(first, alone, second)) {
            const double infinity = std::numeric_limits<double>::infinity();
            const double g = tiles_[first.tile].gradient[first.lane];
            const double Q = 2 * double(diagonal_[tiles_[first.tile].pack][first.lane]);
            const T moved = move(first, Q > 0 ? g / Q : g > 0 ? infinity : -infinity);
            if (moved == 0) stand_aside(first);
            update({first, first}, {moved, T(0)});
            return true;
        }
        fetch(second);
        const TwoVariables two = couple(first, second);
        const Bounds of_first = room(first), of_second = room(second);
        const auto mu = solve_two_variables(two, {of_first.low, of_second.low},
                                            {of_first.high, of_second.high});
        const std::array<T, 2> moved{move(first, mu[0]), move(second, mu[1])};
        if (moved[0] == 0) stand_aside(first);
        if (moved[0] == 0 && moved[1] == 0) stand_aside(second);
        update({first, second}, moved);
        return true;
    }

    struct Alone {
        Variable variable;
        T gain;
    };

    // Of one variable by itself, in some of the packs. Bounds that hold the search up are made
    // exact.
    template <class Among>
    Alone largest_gain(Among&& among) {
        while (true) {
            Search search;
            for (std::size_t p = 0; p < gains_.size(); ++p) {
                if (among(p)) search.see(gains_[p], p);
            }
            const T gain = search.value();
            if (!(gain > 0)) return {{}, T(0)};
            const std::size_t lane = search.lane(), p = search.where[lane];
            find_gains(p);
            if (gains_[p][lane] == gain) return {best_of(p, lane), gain};
        }
    }

    // The variable of an example that gains most by itself.
    Variable best_of(std::size_t p, std::size_t lane) const {
        std::size_t best = first_tile_[p];
        for (std::size_t t = best; t < first_tile_[p + 1]; ++t) {
            if (std::abs(tiles_[t].drive[lane]) > std::abs(tiles_[best].drive[lane])) best = t;
        }
        return at(best, lane);
    }

    TwoVariables couple(const Variable& a, const Variable& b) const {
        const double K_aa = diagonal_[tiles_[a.tile].pack][a.lane];
        const double K_bb = diagonal_[tiles_[b.tile].pack][b.lane];
        const double K_ab = a.e == b.e ? K_aa : double(row(a)[b.e]);
        const double product = double(a.y == b.y) - (a.c == b.y) + (a.c == b.c) - (a.y == b.c);
        return {.g = {tiles_[a.tile].gradient[a.lane], tiles_[b.tile].gradient[b.lane]},
                .Q_ii = 2 * K_aa,
                .Q_ij = K_ab * product,
                .Q_jj = 2 * K_bb};
    }

    // Moves a variable, exactly to the bound that it reaches; by how much.
    T move(const Variable& v, double mu) {
        const Bounds bounds = room(v);
        T& beta = tiles_[v.tile].beta[v.lane];
        const T before = beta, upper = tiles_[v.tile].upper[v.lane];
        beta = mu <= bounds.low    ? T(0)
               : mu >= bounds.high ? upper
                                   : std::clamp(T(double(before) + mu), T(0), upper);
        return beta - before;
    }

    // Rounding leaves the variable as it is: it would be chosen again and again.
    void stand_aside(const Variable& v) { tiles_[v.tile].gradient[v.lane] = 0; }

    // The variable with which the first one, that gains so much alone, gains most; whether there is
    // one. All gains are times 2.
    bool find_second(const Variable& first, T alone, Variable& second) {
        const T Q_ii = 2 * diagonal_[tiles_[first.tile].pack][first.lane];
        if (!(Q_ii > 0)) return false;
        Tile& own = tiles_[first.tile];
        const T g = own.drive[first.lane];
        own.drive[first.lane] = 0;
        ++stamp_;
        Search coupled;
        const auto see = [&](std::size_t t, P K, P product) {
            const P drive = tiles_[t].drive, Q_jj = 2 * diagonal_[tiles_[t].pack];
            const P Q_ij = K * product, both = Q_ii * Q_jj;
            const P least = both * rounding + rounding * rounding;
            const P numerator = g * (g * Q_jj - 2 * drive * Q_ij) + drive * drive * Q_ii;
            const P gain = numerator / simd::max(both - Q_ij * Q_ij, least);
            coupled.see(drive == P{} ? P{} : gain, t);
        };
        set_class_factors(first, 0);
        for (const std::int32_t y : {first.y, first.c}) {
            for (const std::size_t p : packs_of_[y]) {
                if (stamps_[p] == stamp_) continue;
                stamps_[p] = stamp_;
                const P K = kernel(row(first), p), A = of_labels(first, p);
                for (std::size_t t = first_tile_[p]; t < first_tile_[p + 1]; ++t) {
                    see(t, K, A + of_class_[tiles_[t].c][0]);
                }
            }
        }
        for (const std::int32_t c : {first.y, first.c}) {
            const P B = splat(of_class_[c][0]);
            for (const std::size_t t : tiles_of_[c]) {
                if (stamps_[tiles_[t].pack] == stamp_) continue;
                see(t, kernel(row(first), tiles_[t].pack), B);
            }
        }
        clear_class_factors(first);
        own.drive[first.lane] = g;
        // Of the others each gains for itself.
        const Alone apart = largest_gain([&](std::size_t p) { return stamps_[p] != stamp_; });
        const T together = coupled.value();
        if (apart.gain > 0 && (alone + apart.gain) / 2 > together) {
            second = apart.variable;
            return true;
        }
        if (!(together > 0)) return false;
        second = at(coupled.where[coupled.lane()], coupled.lane());
        return true;
    }

    // B_d of a variable, for all d.
    void set_class_factors(const Variable& v, int which, T times = T(1)) {
        of_class_[v.c][which] += times;
        of_class_[v.y][which] -= times;
    }
    void clear_class_factors(const Variable& v) { of_class_[v.c] = of_class_[v.y] = {}; }

    // Brings gradients up to date with two variables that moved.
    void update(const std::array<Variable, 2>& moved, const std::array<T, 2>& mu) {
        const auto& [a, b] = moved;
        ++stamp_;
        set_class_factors(a, 0);
        set_class_factors(b, 1);
        const std::array<std::int32_t, 4> special{a.y, a.c, b.y, b.c};
        for (const std::int32_t y : special) {
            for (const std::size_t p : packs_of_[y]) {
                if (stamps_[p] == stamp_) continue;
                stamps_[p] = stamp_;
                const P K_a = mu[0] * kernel(row(a), p), K_b = mu[1] * kernel(row(b), p);
                const P all = K_a * of_labels(a, p) + K_b * of_labels(b, p);
                P most{};
                for (std::size_t t = first_tile_[p]; t < first_tile_[p + 1]; ++t) {
                    Tile& tile = tiles_[t];
                    const auto& factors = of_class_[tile.c];
                    tile.gradient -= all + factors[0] * K_a + factors[1] * K_b;
                    find_drive(tile);
                    most = simd::max(most, tile.drive * tile.drive);
                }
                gains_[p] = most * inverse_[p];
            }
        }
        for (std::size_t s = 0; s < special.size(); ++s) {
            const std::int32_t c = special[s];
            if (std::find(special.begin(), special.begin() + s, c) != special.begin() + s) continue;
            const auto& factors = of_class_[c];
            for (const std::size_t t : tiles_of_[c]) {
                Tile& tile = tiles_[t];
                const std::size_t p = tile.pack;
                if (stamps_[p] == stamp_) continue;
                tile.gradient -=
                    factors[0] * mu[0] * kernel(row(a), p) + factors[1] * mu[1] * kernel(row(b), p);
                find_drive(tile);
                gains_[p] = simd::max(gains_[p], tile.drive * tile.drive * inverse_[p]);
            }
        }
        clear_class_factors(a);
        clear_class_factors(b);
    }

    const KernelProblem<T>& problem_;

    // The working set.
    std::size_t q_ = 0;
    const T* gram_ = nullptr;
    std::vector<std::int32_t> labels_;   // padded
    std::vector<P> diagonal_, inverse_;  // K_ii and 1 / K_ii
    std::vector<P> gains_;
    std::vector<Tile> tiles_;  // of the first pack, of the second ...
    std::vector<std::size_t> first_tile_;
    std::vector<std::vector<std::size_t>> packs_of_, tiles_of_;  // a label, a class
    std::vector<std::array<T, 2>> of_class_;  // factors of the present variables, else 0
    std::vector<std::int64_t> stamps_;        // of packs that this step has been to
    std::int64_t stamp_ = 0;
};

}  // namespace polymargin
