// The block solver beside one pass that reads k values: nanoseconds as JSON, one line per case.
//
// A case is a machine, a precision and k. Its blocks are those a fit meets late: dual variables at
// the solution for one set of scores, and scores that have moved a little since. Timed are
//
//     read    the sum of the k scores, vectorised: the least that anything can cost,
//     solve   the exact solver alone, from the prepared block to its thresholds,
//     block   all of it: gradients, gap, list of candidates, solver, changes.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "polymargin/block/example.hpp"
#include "polymargin/block/newton.hpp"
#include "polymargin/machines/registry.hpp"
#include "polymargin/random.hpp"

namespace polymargin {
namespace {

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// The least of several repeats, in nanoseconds per call.
template <class Call>
double nanoseconds(int calls, Call&& call) {
    double best = 1e9;
    for (int repeat = 0; repeat < 9; ++repeat) {
        const double start = now();
        for (int c = 0; c < calls; ++c) call(c);
        best = std::min(best, (now() - start) / calls);
    }
    return 1e9 * best;
}

template <class T>
struct Case {
    Case(const Machine& machine, int k) : machine(machine), k(k), example(machine, k) {
        Random random(1);
        const auto noise = [&] {
            double sum = 0;
            for (int term = 0; term < 12; ++term) sum += random.below(1u << 20) / double(1u << 20);
            return T(sum - 6);
        };
        const std::size_t size = example.size();
        for (int b = 0; b < blocks; ++b) {
            std::vector<T> f(size), dual(size), solved(k);
            for (int c = 0; c < k; ++c) f[c] = T(0.3) * noise();
            f[0] += T(1);
            std::vector<T> gradient(k);
            for (int c = 0; c < k; ++c) gradient[c] = 1 + f[c] - (machine.relative ? f[0] : T(0));
            if (machine.has_own) gradient[0] = T(machine.own_margin(k)) - f[0];
            example.solve(gradient.data(), dual.data(), T(1), T(1), 0, solver, solved.data());
            for (int c = 0; c < k; ++c) {
                dual[c] = solved[c];
                f[c] += T(0.01) * noise();
            }
            // The scores of the solution, not of beta = 0: |x|^2 = 1 moves f by a.
            for (int c = 1; c < k; ++c) {
                f[c] -= solved[c];
                if (machine.relative) f[0] += solved[c];
            }
            scores.push_back(f);
            beta.push_back(dual);
        }
    }

    void load(int b) {
        std::copy(scores[b].begin(), scores[b].end(), example.scores());
        std::copy(beta[b].begin(), beta[b].end(), example.beta());
    }

    void run() {
        volatile double sink = 0;
        const double read = nanoseconds(calls(), [&](int c) {
            simd::Sum<T> sum;
            const T* f = scores[c % blocks].data();
            simd::for_each_pack<T>(example.size(), [&]<class P>(std::size_t at, P) {
                sum.add(simd::load<P>(f + at));
            });
            sink = sum.value();
        });
        const double copy = nanoseconds(calls(), [&](int c) {
            load(c % blocks);
            sink = double(example.scores()[k / 2]);
        });
        const double block = nanoseconds(calls(), [&](int c) {
            load(c % blocks);
            if (example.prepare(0, T(1), T(1), T(0)).moves) example.solve(solver);
        });
        double solve = 0;
        for (int b = 0; b < blocks; ++b) {
            load(b);
            if (!example.prepare(0, T(1), T(1), T(0)).moves) continue;
            example.solve([&](Block<T>& prepared) {
                Thresholds<T> thresholds{};
                solve += nanoseconds(calls() / blocks + 1, [&](int) {
                    asm volatile("" : : "r"(&prepared) : "memory");
                    thresholds = block::newton(prepared);
                    sink = thresholds.other;
                });
                return thresholds;
            });
        }
        std::printf(
            "{\"machine\": \"%s\", \"precision\": \"%s\", \"k\": %d, \"read\": %.1f, "
            "\"solve\": %.1f, \"block\": %.1f}\n",
            std::string(machine.name).c_str(), sizeof(T) == 4 ? "float32" : "float64", k, read,
            solve / blocks, block - copy);
    }

    int calls() const { return std::max(64, 2'000'000 / k); }

    static constexpr int blocks = 16;
    static Thresholds<T> solver(Block<T>& prepared) { return block::newton(prepared); }
    const Machine& machine;
    int k;
    ExampleBlock<T> example;
    std::vector<std::vector<T>> scores, beta;
};

}  // namespace
}  // namespace polymargin

int main() {
    using namespace polymargin;
    for (const char* name : {"cs", "ww", "llw"}) {
        for (const int k : {100, 1000, 10000}) {
            Case<float>(*find_machine(name), k).run();
            Case<double>(*find_machine(name), k).run();
        }
    }
}
