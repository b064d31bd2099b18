#include "train.inl"

POLYMARGIN_COMPILE(DenseRows<float>)
POLYMARGIN_COMPILE(DenseRows<double>)
