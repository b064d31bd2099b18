// Kernel rows of examples in a bounded memory, the least recently used given up first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

namespace polymargin {

// Fills in row i of the kernel matrix, n values.
template <class T>
using RowSource = std::function<void(std::size_t i, T* row)>;

template <class T>
class RowCache {
public:
    // Two rows at least: what moves two examples at once reads both.
    static constexpr std::size_t least_rows = 2;

    RowCache(std::size_t n, std::size_t bytes, RowSource<T> source)
        : n_(n),
          capacity_(std::clamp(bytes / (n * sizeof(T)), std::min(least_rows, n), n)),
          source_(std::move(source)),
          slot_of_(n, none) {}

    // Stays valid until least_rows - 1 other rows have been asked for.
    const T* row(std::size_t i) {
        std::uint32_t slot = slot_of_[i];
        if (slot == none) {
            slot = free_slot();
            source_(i, slots_[slot].values.get());
            slots_[slot].example = i;
            slot_of_[i] = slot;
            ++computed_;
        } else {
            unlink(slot);
        }
        link_first(slot);
        return slots_[slot].values.get();
    }

    std::size_t capacity() const { return capacity_; }
    std::int64_t computed() const { return computed_; }

    // Forgets all rows, not the memory.
    void clear() {
        for (Slot& slot : slots_) {
            if (slot.example != nobody) slot_of_[slot.example] = none;
            slot.example = nobody;
        }
    }

private:
    static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::size_t nobody = std::numeric_limits<std::size_t>::max();

    struct Slot {
        std::unique_ptr<T[]> values;
        std::size_t example = nobody;
        std::uint32_t newer = none, older = none;
    };

    // Not in the list of slots by age.
    std::uint32_t free_slot() {
        if (slots_.size() < capacity_) {
            slots_.push_back({.values = std::make_unique_for_overwrite<T[]>(n_)});
            return static_cast<std::uint32_t>(slots_.size() - 1);
        }
        const std::uint32_t slot = oldest_;
        unlink(slot);
        if (slots_[slot].example != nobody) slot_of_[slots_[slot].example] = none;
        slots_[slot].example = nobody;
        return slot;
    }

    void link_first(std::uint32_t slot) {
        slots_[slot].newer = none;
        slots_[slot].older = newest_;
        (newest_ == none ? oldest_ : slots_[newest_].newer) = slot;
        newest_ = slot;
    }

    void unlink(std::uint32_t slot) {
        const auto [newer, older] = std::pair(slots_[slot].newer, slots_[slot].older);
        (newer == none ? newest_ : slots_[newer].older) = older;
        (older == none ? oldest_ : slots_[older].newer) = newer;
    }

    std::size_t n_, capacity_;
    RowSource<T> source_;
    std::vector<std::uint32_t> slot_of_;
    std::vector<Slot> slots_;
    std::uint32_t newest_ = none, oldest_ = none;
    std::int64_t computed_ = 0;
};

}  // namespace polymargin
