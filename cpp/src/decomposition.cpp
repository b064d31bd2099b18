#include "polymargin/kernel/crammer_singer.hpp"
#include "polymargin/kernel/sequential.hpp"

namespace polymargin {

template class CrammerSinger<float>;
template DecompositionOutcome decompose(const Goal&, const ScoredDuals<float>&,
                                        CrammerSinger<float>&, const Observer&);
template class CrammerSinger<double>;
template DecompositionOutcome decompose(const Goal&, const ScoredDuals<double>&,
                                        CrammerSinger<double>&, const Observer&);
template class Sequential<float>;
template DecompositionOutcome decompose(const Goal&, const ScoredDuals<float>&, Sequential<float>&,
                                        const Observer&);
template class Sequential<double>;
template DecompositionOutcome decompose(const Goal&, const ScoredDuals<double>&,
                                        Sequential<double>&, const Observer&);

}  // namespace polymargin
