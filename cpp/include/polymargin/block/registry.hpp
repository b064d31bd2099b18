// The block solvers that can be named, and the machines each is defined for. A new one is a
// header beside these, an entry here and a case in cpp/src/block.cpp.
#pragma once

#include <string_view>

#include "polymargin/machine.hpp"

namespace polymargin {

enum class BlockKind {
    newton,
    sort,
    pivot,
    bisection,
    fixed_point,
    smo,
    frank_wolfe,
    walrus,
    greedy,
    greedy_pairs
};

struct BlockSolverInfo {
    BlockKind kind;
    std::string_view name;
    bool (*defined_for)(const Machine&);
};

inline constexpr BlockSolverInfo registered_block_solvers[] = {
    {BlockKind::newton, "newton", [](const Machine&) { return true; }},
    {BlockKind::sort, "sort", [](const Machine& m) { return m.simplex() && !m.has_own; }},
    {BlockKind::pivot, "pivot", [](const Machine& m) { return m.simplex() && !m.has_own; }},
    {BlockKind::bisection, "bisection", [](const Machine&) { return true; }},
    {BlockKind::fixed_point, "fixed-point",
     [](const Machine& m) { return m.simplex() && !m.has_own; }},
    {BlockKind::smo, "smo", [](const Machine& m) { return m.simplex(); }},
    {BlockKind::frank_wolfe, "frank-wolfe", [](const Machine&) { return true; }},
    {BlockKind::walrus, "walrus", [](const Machine& m) { return !m.simplex(); }},
    {BlockKind::greedy, "greedy", [](const Machine& m) { return !m.simplex(); }},
    {BlockKind::greedy_pairs, "greedy-pairs", [](const Machine& m) { return !m.simplex(); }},
};

constexpr const BlockSolverInfo* find_block_solver(std::string_view name) {
    for (const BlockSolverInfo& info : registered_block_solvers) {
        if (info.name == name) return &info;
    }
    return nullptr;
}

struct BlockChoice {
    BlockKind kind = BlockKind::newton;
    double tol = 1e-3;  // of bisection and fixed-point; threshold of the greedy ones
    int max_iter = 0;   // bound on the steps of the inexact ones; 0: their own default
};

}  // namespace polymargin
