#include "polymargin/kernel/dual.hpp"

namespace polymargin {

template class KernelDual<float>;
template class KernelDual<double>;

}  // namespace polymargin
