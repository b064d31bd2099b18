// Trains a Weston-Watkins machine on three points and says how close to the optimum it is.
#include <cstdio>
#include <vector>

#include "polymargin/linear/train.hpp"
#include "polymargin/machines/registry.hpp"

int main() {
    using namespace polymargin;
    const std::vector<double> X{1, 0, 0, 1, -1, -1};  // three rows of two features
    const std::vector<double> norms{1, 1, 2}, C(3, 10.0);
    const std::vector<std::int32_t> labels{0, 1, 2};
    const DenseRows<double> rows(X.data(), 3, 2, 2, 1);
    const LinearProblem<DenseRows<double>> problem{rows,         norms,
                                                   labels,       C,
                                                   /*k=*/3,      *find_machine("ww"),
                                                   /*bias=*/true};

    Duals<double> duals(problem.size(), 3);
    auto weights = problem.weights<DenseWeights<double>>();
    const LinearOptions options{.goal = {.tol = 1e-6}};
    const LinearOutcome outcome = train(problem, options, duals, weights, Observer{});

    std::printf("relative duality gap %.1e after %lld passes\n", outcome.certificate.gap(),
                static_cast<long long>(outcome.n_iter));
    return outcome.converged ? 0 : 1;
}
