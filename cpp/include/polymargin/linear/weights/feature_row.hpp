// The weights of one feature: a list of (class, weight) in no order, or, where that would be long,
// a weight for every class.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <new>
#include <utility>

namespace polymargin {

template <class T>
class FeatureRow {
public:
    bool is_full() const { return capacity_ == full; }
    // Of a list.
    std::size_t size() const { return count_; }
    // Of a list its entries, of a full row one value for each class, aligned to cache lines.
    T* values() { return static_cast<T*>(memory_.get()); }
    const T* values() const { return static_cast<const T*>(memory_.get()); }
    const std::int32_t* classes() const {
        return reinterpret_cast<const std::int32_t*>(values() + capacity_);
    }

    // Calls body(class, weight).
    template <class Body>
    void for_each(std::size_t k, Body&& body) const {
        const T* value = values();
        if (is_full()) {
            for (std::size_t c = 0; c < k; ++c) body(c, value[c]);
        } else {
            const std::int32_t* c = classes();
            for (std::size_t e = 0; e < count_; ++e) body(static_cast<std::size_t>(c[e]), value[e]);
        }
    }

    // A class that a list does not have yet.
    void append(std::int32_t c, T value, std::size_t most, std::size_t stride) {
        if (!is_full() && count_ == capacity_) grow(most, stride);
        if (is_full()) {
            values()[c] += value;
        } else {
            values()[count_] = value;
            const_cast<std::int32_t*>(classes())[count_++] = c;
        }
    }

    // Of `stride` values.
    void fill_up(std::size_t stride) {
        if (is_full()) return;
        FeatureRow other;
        const std::size_t bytes = (stride * sizeof(T) + line - 1) / line * line;
        other.memory_.reset(std::aligned_alloc(line, bytes));
        if (!other.memory_) throw std::bad_alloc();
        std::memset(other.memory_.get(), 0, bytes);
        for_each(0, [&](std::size_t c, T value) { other.values()[c] = value; });
        other.capacity_ = full;
        *this = std::move(other);
    }

    // Keeps the memory.
    void clear(std::size_t stride) {
        count_ = 0;
        if (is_full()) std::memset(memory_.get(), 0, stride * sizeof(T));
    }

    FeatureRow copy(std::size_t stride) const {
        FeatureRow other;
        if (is_full()) {
            other.fill_up(stride);
            std::memcpy(other.values(), values(), stride * sizeof(T));
        } else if (count_) {
            other.reserve(count_);
            other.take(*this);
        }
        return other;
    }

    std::size_t bytes(std::size_t stride) const {
        return is_full() ? stride * sizeof(T) : capacity_ * entry_bytes;
    }

private:
    static constexpr std::uint32_t full = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::size_t line = 64;
    static constexpr std::size_t entry_bytes = sizeof(T) + sizeof(std::int32_t);

    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };

    void reserve(std::size_t capacity) {
        memory_.reset(std::malloc(capacity * entry_bytes));
        if (!memory_) throw std::bad_alloc();
        capacity_ = static_cast<std::uint32_t>(capacity);
    }

    // The entries of another list, for which there is room.
    void take(const FeatureRow& other) {
        count_ = other.count_;
        std::memcpy(values(), other.values(), count_ * sizeof(T));
        std::memcpy(const_cast<std::int32_t*>(classes()), other.classes(),
                    count_ * sizeof(std::int32_t));
    }

    // A list becomes longer by an eighth, and a full row where it would pass `most` entries.
    void grow(std::size_t most, std::size_t stride) {
        const std::size_t next = count_ + std::max<std::size_t>(4, count_ / 8);
        if (next > most) {
            fill_up(stride);
            return;
        }
        FeatureRow other;
        other.reserve(next);
        if (count_) other.take(*this);
        *this = std::move(other);
    }

    std::unique_ptr<void, Free> memory_;
    std::uint32_t count_ = 0, capacity_ = 0;  // entries
};

}  // namespace polymargin
