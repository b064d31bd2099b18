// Many updates in single precision move the weights away from the dual variables: they are rebuilt
// from these from time to time.
#pragma once

#include <type_traits>

namespace polymargin {

template <class T>
class Drift {
public:
    // That was now.
    void forget(double passes) { rebuilt_ = passes; }

    // It shows late, in small gaps.
    bool is_due(double passes, bool late) const {
        const double most = std::is_same_v<T, double> ? 1000 : late ? 10 : 100;
        return passes - rebuilt_ > most;
    }

private:
    double rebuilt_ = 0;
};

}  // namespace polymargin
