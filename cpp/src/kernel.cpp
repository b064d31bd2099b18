#include "polymargin/kernel/certificate.hpp"
#include "polymargin/kernel/working_set_solver.hpp"

namespace polymargin {

template void Scores::add(const AlphaChanges<float>&, std::span<const std::int64_t>,
                          std::span<const float* const>, std::size_t, std::size_t, int);
template void Scores::add(const AlphaChanges<double>&, std::span<const std::int64_t>,
                          std::span<const double* const>, std::size_t, std::size_t, int);
template Certificate certify(const KernelProblem<float>&, const Duals<float>&, const ScoreRows&,
                             std::span<double>, std::span<double>, int);
template Certificate certify(const KernelProblem<double>&, const Duals<double>&, const ScoreRows&,
                             std::span<double>, std::span<double>, int);
template class WorkingSet<float>;
template class WorkingSet<double>;
template class WorkingSetSolver<float>;
template class WorkingSetSolver<double>;

}  // namespace polymargin
