// The machines that can be named. A new one is a header beside these, an include and an entry.
#pragma once

#include <string_view>

#include "polymargin/machines/adm.hpp"
#include "polymargin/machines/atm.hpp"
#include "polymargin/machines/ats.hpp"
#include "polymargin/machines/cs.hpp"
#include "polymargin/machines/llw.hpp"
#include "polymargin/machines/mmr.hpp"
#include "polymargin/machines/ovr.hpp"
#include "polymargin/machines/rm.hpp"
#include "polymargin/machines/ww.hpp"

namespace polymargin {

// clang-format off
inline constexpr Machine registered_machines[] = {
    machines::ww,
    machines::cs,
    machines::llw,
    machines::adm,
    machines::ats,
    machines::atm,
    machines::mmr,
    machines::rm,
    machines::ovr,
};
// clang-format on

// The machine of that name or alias, or null.
constexpr const Machine* find_machine(std::string_view name) {
    for (const Machine& machine : registered_machines) {
        if (machine.name == name) return &machine;
        for (const std::string_view alias : machine.aliases) {
            if (alias == name) return &machine;
        }
    }
    return nullptr;
}

}  // namespace polymargin
