// A change of one class of an example.
#pragma once

#include <cstdint>

namespace polymargin {

template <class T>
struct Change {
    std::int32_t c;
    T delta;  // of a_c
    T beta;   // new beta_c, which may sit exactly at its bound
};

}  // namespace polymargin
