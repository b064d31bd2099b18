// One kind of dense and one kind of sparse rows, so that a build under a sanitizer stays short.
#include "../src/train.inl"

POLYMARGIN_COMPILE(DenseRows<float>)
