#include "polymargin/kernel/dual.hpp"

namespace polymargin {

template class WorkingSet<float>;
template class WorkingSet<double>;
template class KernelDual<float>;
template class KernelDual<double>;

}  // namespace polymargin
