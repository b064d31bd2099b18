// What a step of a solver moves: the variables that the papers' rules name, found here among all
// by gradients computed anew from the dual variables.
#include <algorithm>
#include <cmath>
#include <limits>

#include "harness.hpp"
#include "kernel_data.hpp"
#include "polymargin/kernel/crammer_singer.hpp"
#include "polymargin/kernel/sequential.hpp"
#include "polymargin/machines/registry.hpp"

namespace polymargin::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double ties = 1 - 1e-9;  // two are equal where rounding alone tells them apart
constexpr int slack = MarginProducts::none;

struct Variable {
    std::size_t i;
    std::int32_t c;
};

// The dual variables and their gradients before a step.
class Snapshot {
public:
    explicit Snapshot(const KernelData<double>& data, const ScoredDuals<double>& state)
        : data_(data), state_(state), products_(state.problem().machine, data.k) {
        for (std::size_t i = 0; i < data.n; ++i) {
            for (std::int32_t c = 0; c < data.k; ++c) beta_.push_back(state.beta(i, c));
        }
        for (std::size_t i = 0; i < data.n; ++i) {
            for (std::int32_t c = 0; c < data.k; ++c) gradient_.push_back(compute_gradient({i, c}));
        }
    }

    std::vector<Variable> changed() const {
        std::vector<Variable> variables;
        for_each([&](Variable v) {
            if (state_.beta(v.i, v.c) != beta(v)) variables.push_back(v);
        });
        return variables;
    }

    template <class Body>
    void for_each(Body&& body) const {
        for (std::size_t i = 0; i < data_.n; ++i) {
            for (std::int32_t c = 0; c < data_.k; ++c) {
                if (state_.has_variable(i, c)) body(Variable{i, c});
            }
        }
    }

    double beta(Variable v) const { return beta_[v.i * data_.k + v.c]; }
    double gradient(Variable v) const { return gradient_[v.i * data_.k + v.c]; }
    bool in_use(std::size_t i) const {
        return std::any_of(row(i), row(i) + data_.k, [](double b) { return b > 0; });
    }
    double slack_of(std::size_t i) const {
        const double left = data_.upper[i] - std::accumulate(row(i), row(i) + data_.k, 0.0);
        return left > 1e-14 ? left : 0;
    }

    // The gradient of a variable that its box lets follow it, else 0.
    double drive(Variable v) const {
        const double g = gradient(v);
        return (g > 0 ? beta(v) < state_.upper(v.i, v.c) : beta(v) > 0) ? g : 0;
    }
    double Q(Variable v, Variable w) const {
        return data_.gram[v.i * data_.n + w.i] *
               products_(data_.labels[v.i], v.c, data_.labels[w.i], w.c);
    }
    double gain_of_two(Variable v, Variable w) const {
        return two_variable_gain({{gradient(v), gradient(w)}, Q(v, v), Q(v, w), Q(w, w)});
    }

    // Of mass that moves inside an example, into the largest gradient.
    double gain_of_pair(std::size_t i) const {
        std::int32_t to = slack;
        double top = 0, best = 0;
        for (std::int32_t c = 0; c < data_.k; ++c) {
            if (state_.has_variable(i, c) && gradient({i, c}) > top) top = gradient({i, c}), to = c;
        }
        const auto offer = [&](std::int32_t from, double g) {
            const double distance = products_.distance(data_.labels[i], to, from);
            if (from == to || !(top > g)) return;
            const double curvature = data_.diagonal[i] * distance;
            best = std::max(best, curvature > 0 ? (top - g) * (top - g) / curvature : infinity);
        };
        if (slack_of(i) > 0) offer(slack, 0);
        for (std::int32_t c = 0; c < data_.k; ++c) {
            if (beta({i, c}) > 0) offer(c, gradient({i, c}));
        }
        return best;
    }

    // psi_i = max_c g_ic - min_{c: beta_ic > 0} g_ic, the slack a variable of gradient 0.
    double psi(std::size_t i) const {
        double top = 0, low = slack_of(i) > 0 ? 0 : infinity;
        for (std::int32_t c = 0; c < data_.k; ++c) {
            if (!state_.has_variable(i, c)) continue;
            top = std::max(top, gradient({i, c}));
            if (beta({i, c}) > 0) low = std::min(low, gradient({i, c}));
        }
        return std::max(0.0, top - low);
    }
    template <class Among>
    double largest_psi(Among&& among) const {
        double largest = 0;
        for (std::size_t i = 0; i < data_.n; ++i) {
            if (among(i)) largest = std::max(largest, psi(i));
        }
        return largest;
    }

private:
    const double* row(std::size_t i) const { return beta_.data() + i * data_.k; }

    double compute_gradient(Variable v) const {
        const Machine& machine = state_.problem().machine;
        double g = v.c == data_.labels[v.i] ? machine.own_margin(data_.k) : Machine::other_margin;
        for_each([&](Variable w) { g -= Q(v, w) * beta(w); });
        return g;
    }

    const KernelData<double>& data_;
    const ScoredDuals<double>& state_;
    MarginProducts products_;
    std::vector<double> beta_, gradient_;
};

// Takes steps one by one, no variable standing aside, and calls each(step, before, changed) for
// those that changed something.
template <class Solver, class Each>
void take_steps(const KernelData<double>& data, const ScoredDuals<double>& state, Solver& solver,
                int steps, Each&& each) {
    const Observer observer;
    Watch watch(observer);
    for (int step = 0; step < steps; ++step) {
        solver.complete();
        const Snapshot before(data, state);
        if (solver.advance(1, 0, watch).taken == 0) break;
        if (const auto changed = before.changed(); !changed.empty()) each(step, before, changed);
    }
}

template <class Each>
void take_sequential_steps(const Machine& machine, bool two_variables, Each&& each) {
    context() = machine.name;
    const KernelData<double> data({1, 0.5, 2});
    const auto problem = data.problem(machine);
    RowCache<double> rows = data.rows(data.n);
    ScoredDuals<double> state(problem, Duals<double>(data.n, data.k));
    Sequential<double> solver(state, rows, two_variables, false);
    take_steps(data, state, solver, 100, each);
}

TEST(choices, smo_moves_the_variable_of_the_largest_gain) {
    for (const Machine& machine : registered_machines) {
        if (machine.simplex()) continue;
        int steps = 0;
        take_sequential_steps(machine, false,
                              [&](int, const Snapshot& before, const auto& changed) {
                                  const auto gain = [&](Variable v) {
                                      return before.drive(v) * before.drive(v) / before.Q(v, v);
                                  };
                                  double best = 0;
                                  before.for_each(
                                      [&](Variable v) { best = std::max(best, gain(v)); });
                                  CHECK(changed.size() == 1);
                                  CHECK_AT_MOST(best * ties, gain(changed[0]));
                                  ++steps;
                              });
        CHECK(steps > 50);
    }
}

TEST(choices, s2do_moves_the_largest_gradient_and_what_gains_most_with_it) {
    for (const Machine& machine : registered_machines) {
        if (machine.simplex()) continue;
        int pairs = 0;
        take_sequential_steps(machine, true, [&](int, const Snapshot& before, const auto& changed) {
            const auto size = [&](Variable v) { return std::abs(before.drive(v)); };
            double steepest = 0;
            before.for_each([&](Variable v) { steepest = std::max(steepest, size(v)); });
            CHECK(changed.size() <= 2);
            if (changed.size() == 1) return;
            const auto is_best = [&](Variable first, Variable second) {
                double best = 0;
                before.for_each([&](Variable v) {
                    if ((v.i == first.i && v.c == first.c) || size(v) < 1e-12) return;
                    best = std::max(best, before.gain_of_two(first, v));
                });
                return size(first) >= steepest * ties &&
                       before.gain_of_two(first, second) >= best * ties;
            };
            CHECK(is_best(changed[0], changed[1]) || is_best(changed[1], changed[0]));
            ++pairs;
        });
        CHECK(pairs > 50);
    }
}

TEST(choices, mass_moves_inside_the_example_where_it_gains_most) {
    const KernelData<double> data;
    for (const Machine& machine : registered_machines) {
        if (!machine.simplex()) continue;
        for (const bool two_variables : {false, true}) {
            int steps = 0;
            const auto check = [&](int, const Snapshot& before, const auto& changed) {
                double best = 0;
                for (std::size_t i = 0; i < data.n; ++i) {
                    best = std::max(best, before.gain_of_pair(i));
                }
                CHECK(changed.size() <= 2 && changed.front().i == changed.back().i);
                CHECK_AT_MOST(best * ties, before.gain_of_pair(changed[0].i));
                ++steps;
            };
            take_sequential_steps(machine, two_variables, check);
            CHECK(steps > 50);
        }
    }
}

template <class Each>
void take_crammer_singer_steps(const Machine& machine, const CrammerSingerOptions& options,
                               Each&& each) {
    context() = machine.name;
    const KernelData<double> data({1, 0.5, 2});
    const auto problem = data.problem(machine);
    RowCache<double> rows = data.rows(data.n);
    ScoredDuals<double> state(problem, Duals<double>(data.n, data.k));
    CrammerSinger<double> solver(state, rows, options);
    take_steps(data, state, solver, 150,
               [&](int step, const Snapshot& before, const auto& changed) {
                   CHECK(changed.front().i == changed.back().i);
                   each(step, before, changed[0].i);
               });
}

const std::vector<const Machine*> fixed_point_machines{&machines::cs, &machines::adm};

TEST(choices, crammer_singer_visits_the_example_of_the_largest_psi) {
    const CrammerSingerOptions options{.active_set = false, .cooling = Cooling::none};
    for (const Machine* machine : fixed_point_machines) {
        int steps = 0;
        take_crammer_singer_steps(*machine, options,
                                  [&](int, const Snapshot& before, std::size_t i) {
                                      const double largest =
                                          before.largest_psi([](std::size_t) { return true; });
                                      CHECK_AT_MOST(largest * ties, before.psi(i));
                                      ++steps;
                                  });
        CHECK(steps > 50);
    }
}

TEST(choices, examples_in_use_come_first) {
    const CrammerSingerOptions options{.cooling = Cooling::none, .accuracy = 0.3};
    for (const Machine* machine : fixed_point_machines) {
        int used = 0, unused = 0;
        take_crammer_singer_steps(*machine, options,
                                  [&](int, const Snapshot& before, std::size_t i) {
                                      const double largest = before.largest_psi([&](std::size_t j) {
                                          return before.in_use(j) == before.in_use(i);
                                      });
                                      CHECK_AT_MOST(largest * ties, before.psi(i));
                                      if (!before.in_use(i)) {
                                          CHECK_AT_MOST(before.largest_psi([&](std::size_t j) {
                                              return before.in_use(j);
                                          }),
                                                        options.accuracy);
                                      }
                                      ++(before.in_use(i) ? used : unused);
                                  });
        CHECK(used > 20 && unused > 10);
    }
}

TEST(choices, cyclic_visits_one_example_after_the_other) {
    const std::size_t n = KernelData<double>().n;
    int steps = 0;
    take_crammer_singer_steps(machines::cs, {.choice = ExampleChoice::cyclic},
                              [&](int step, const Snapshot&, std::size_t i) {
                                  CHECK(i == step % n);
                                  ++steps;
                              });
    CHECK(steps > 50);
}

TEST(choices, random_order_has_every_example_once_in_a_round) {
    const std::size_t n = KernelData<double>().n;
    std::vector<std::vector<std::size_t>> rounds(3);
    take_crammer_singer_steps(machines::cs, {.choice = ExampleChoice::random, .seed = 5},
                              [&](int step, const Snapshot&, std::size_t i) {
                                  rounds[step / n].push_back(i);
                              });
    CHECK(rounds[0] != rounds[1]);
    for (auto& round : rounds) {
        CHECK(round.size() > 10 && !std::is_sorted(round.begin(), round.end()));
        std::sort(round.begin(), round.end());
        CHECK(std::adjacent_find(round.begin(), round.end()) == round.end());
    }
}

TEST(choices, accuracy_cools_as_the_schedules_say) {
    const double start = 0.999, goal = 1e-4;
    const auto at = [&](Cooling cooling, std::int64_t step) {
        return CoolingSchedule(cooling, goal).at(step);
    };
    CHECK_CLOSE(at(Cooling::none, 0), goal, 1e-15);
    for (const std::int64_t step : {0, 1, 5, 90}) {
        const double t = double(step);
        CHECK_CLOSE(at(Cooling::exponential, step), std::max(goal, start * std::exp(-t)), 1e-15);
        CHECK_CLOSE(at(Cooling::linear, step), start / (t + 1), 1e-15);
        CHECK_CLOSE(at(Cooling::logarithmic, step), start / std::log10(t + 10), 1e-15);
    }
    // Where nobody misses it, it falls below the largest violation.
    for (const Cooling cooling : {Cooling::none, Cooling::exponential, Cooling::logarithmic}) {
        CoolingSchedule schedule(cooling, goal);
        schedule.lower(3, 1e-6);
        CHECK(schedule.at(3) < 1e-6 && schedule.at(3) > 1e-8);
    }
}

// The accuracy in force decides when examples that are not in use have their turn.
TEST(choices, cooling_lets_others_come_earlier) {
    for (const Cooling cooling :
         {Cooling::exponential, Cooling::linear, Cooling::logarithmic, Cooling::none}) {
        CoolingSchedule schedule(cooling, 1e-3);
        const CrammerSingerOptions options{.cooling = cooling, .accuracy = 1e-3};
        const auto check = [&](int step, const Snapshot& before, std::size_t i) {
            const auto largest = [&](bool used) {
                return before.largest_psi([&](std::size_t j) { return before.in_use(j) == used; });
            };
            const double most = std::max(largest(true), largest(false));
            if (most <= schedule.at(step)) schedule.lower(step, most);
            CHECK(before.in_use(i) == (largest(true) > schedule.at(step)));
        };
        take_crammer_singer_steps(machines::cs, options, check);
    }
}

}  // namespace
}  // namespace polymargin::testing
