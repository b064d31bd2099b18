// The block solvers that can be named, and the machines each is defined for. A new one is a
// header beside these, an entry here and a case in BlockSolver.
#pragma once

#include <string_view>

#include "polymargin/block/bisection.hpp"
#include "polymargin/block/fixed_point.hpp"
#include "polymargin/block/frank_wolfe.hpp"
#include "polymargin/block/greedy.hpp"
#include "polymargin/block/newton.hpp"
#include "polymargin/block/pivot.hpp"
#include "polymargin/block/smo.hpp"
#include "polymargin/block/sort.hpp"
#include "polymargin/block/walrus.hpp"
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
    greedy
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
};

constexpr const BlockSolverInfo* find_block_solver(std::string_view name) {
    for (const BlockSolverInfo& info : registered_block_solvers) {
        if (info.name == name) return &info;
    }
    return nullptr;
}

struct BlockChoice {
    BlockKind kind = BlockKind::newton;
    double tol = 1e-3;  // tolerance of bisection and fixed-point, threshold of greedy
    int max_iter = 0;   // bound on the steps of the inexact ones; 0: their own default
};

// A chosen solver with the memory it needs; one per thread.
template <class T>
class BlockSolver {
public:
    explicit BlockSolver(BlockChoice choice, std::uint64_t seed = 0)
        : choice_(choice), random_(seed) {}

    Thresholds<T> operator()(Block<T>& block) {
        using enum BlockKind;
        const auto [kind, tol, max_iter] = choice_;
        switch (kind) {
            case newton: return block::newton(block);
            case sort: return block::sort(block, values_);
            case pivot: return block::pivot(block, values_, random_);
            case bisection:
                return block::improve_by(block::bisection_thresholds(block, tol), block, variables_,
                                         values_);
            case fixed_point:
                return block::improve_by(block::fixed_point_thresholds(block, tol, max_iter), block,
                                         variables_, values_);
            case smo: return block::smo(block, variables_, max_iter);
            case frank_wolfe: return block::frank_wolfe(block, variables_, values_, max_iter);
            case walrus: return block::walrus(block, points_);
            case greedy: return block::greedy(block, variables_, tol, max_iter);
        }
        __builtin_unreachable();
    }

private:
    BlockChoice choice_;
    Random random_;
    block::Variables variables_;
    std::vector<double> values_;
    std::vector<block::BreakPoint> points_;
};

}  // namespace polymargin
