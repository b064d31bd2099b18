// The dual variables beta, n rows of k. With few classes they are one flat matrix. With many,
// most are zero for most machines, so a row lists its non-zero entries, and a row in which such a
// list would be longer than k values is stored in full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace polymargin {

template <class T>
struct DualEntry {
    std::int32_t c;
    T value;
};

template <class T>
class Duals {
public:
    using value_type = T;
    static constexpr std::size_t flat_classes = 32;

    Duals() = default;
    Duals(Duals&&) = default;
    Duals& operator=(Duals&&) = default;
    Duals(std::size_t n, std::size_t k) : n_(n), k_(k) {
        if (flat()) {
            values_.resize(n * k);
        } else {
            rows_.resize(n);
        }
    }

    Duals copy() const {
        Duals other(n_, k_);
        other.values_ = values_;
        std::vector<DualEntry<T>> entries;
        for (std::size_t i = 0; !flat() && i < n_; ++i) other.assign_row(i, *this, i, entries);
        return other;
    }

    // The rows of some examples.
    Duals part(std::span<const std::int64_t> examples) const {
        Duals other(examples.size(), k_);
        std::vector<DualEntry<T>> entries;
        for (std::size_t e = 0; e < examples.size(); ++e) {
            other.assign_row(e, *this, examples[e], entries);
        }
        return other;
    }

    // Sets row i to row j of another matrix; `entries` is scratch.
    void assign_row(std::size_t i, const Duals& other, std::size_t j,
                    std::vector<DualEntry<T>>& entries) {
        entries.clear();
        other.for_each(j, [&](std::int32_t c, T value) { entries.push_back({c, value}); });
        assign(i, entries);
    }

    std::size_t size() const { return n_; }
    std::size_t classes() const { return k_; }
    bool flat() const { return k_ <= flat_classes; }
    T* flat_row(std::size_t i) { return values_.data() + i * k_; }
    const T* flat_row(std::size_t i) const { return values_.data() + i * k_; }

    // Row i is a list of entries, some of which may be 0.
    bool listed(std::size_t i) const { return !flat() && !rows_[i].full; }
    std::span<DualEntry<T>> list(std::size_t i) {
        return {rows_[i].entries(), static_cast<std::size_t>(rows_[i].count)};
    }

    // Calls body(class, value) for the non-zero entries of row i, by ascending class.
    template <class Body>
    void for_each(std::size_t i, Body&& body) const {
        if (!flat() && !rows_[i].full) {
            const DualEntry<T>* entries = rows_[i].entries();
            for (std::uint32_t e = 0; e < rows_[i].count; ++e) {
                if (entries[e].value != 0) body(entries[e].c, entries[e].value);
            }
            return;
        }
        const T* values = flat() ? flat_row(i) : rows_[i].values();
        for (std::size_t c = 0; c < k_; ++c) {
            if (values[c] != 0) body(static_cast<std::int32_t>(c), values[c]);
        }
    }

    // The same for all entries of a list, zeros included, and for all classes where there is none.
    template <class Body>
    void for_each_listed(std::size_t i, Body&& body) const {
        if (listed(i)) {
            const DualEntry<T>* entries = rows_[i].entries();
            for (std::uint32_t e = 0; e < rows_[i].count; ++e) body(entries[e].c, entries[e].value);
            return;
        }
        const T* values = flat() ? flat_row(i) : rows_[i].values();
        for (std::size_t c = 0; c < k_; ++c) body(static_cast<std::int32_t>(c), values[c]);
    }

    // Row i in an array of zeros, and zeros again where that was put.
    void put(std::size_t i, T* to) const {
        if (listed(i)) {
            for_each(i, [&](std::int32_t c, T value) { to[c] = value; });
        } else {
            std::memcpy(to, flat() ? flat_row(i) : rows_[i].values(), k_ * sizeof(T));
        }
    }
    void take_out(std::size_t i, T* from) const {
        if (listed(i)) {
            for_each(i, [&](std::int32_t c, T) { from[c] = 0; });
        } else {
            std::memset(from, 0, k_ * sizeof(T));
        }
    }

    [[gnu::always_inline]] void prefetch(std::size_t i) const {
        if (flat()) {
            __builtin_prefetch(flat_row(i));
            __builtin_prefetch(flat_row(i) + k_ - 1);
        } else {
            __builtin_prefetch(&rows_[i]);
        }
    }
    [[gnu::always_inline]] void prefetch_contents(std::size_t i) const {
        if (flat() || rows_[i].count == 0) return;
        const std::byte* memory = rows_[i].memory.get();
        __builtin_prefetch(memory);
        __builtin_prefetch(memory + rows_[i].count * sizeof(DualEntry<T>) - 1);
    }

    // Sets row i to these entries, which ascend by class.
    void assign(std::size_t i, std::span<const DualEntry<T>> entries) {
        if (flat()) {
            std::memset(flat_row(i), 0, k_ * sizeof(T));
            for (const auto& entry : entries) flat_row(i)[entry.c] = entry.value;
        } else {
            rows_[i].assign(entries, k_);
        }
    }

    // Whether a row of so many entries is stored in full.
    bool in_full(std::size_t entries) const {
        return !flat() && entries * sizeof(DualEntry<T>) > k_ * sizeof(T);
    }

    // Sets row i, which is stored in full, to k values, but for that of one class.
    void assign_in_full(std::size_t i, const T* values, std::int32_t other, T value) {
        rows_[i].reserve(k_ * sizeof(T));
        rows_[i].full = true;
        rows_[i].count = static_cast<std::uint32_t>(k_);
        std::memcpy(rows_[i].values(), values, k_ * sizeof(T));
        rows_[i].values()[other] = value;
    }

    // Adds to an entry that is not zero; `vanishes` says that it becomes exactly 0.
    void add(std::size_t i, std::int32_t c, T change, bool vanishes) {
        T* value = entry(i, c);
        *value = vanishes ? T(0) : *value + change;
    }

    std::size_t nonzeros() const {
        std::size_t total = 0;
        for (std::size_t i = 0; i < n_; ++i) for_each(i, [&](std::int32_t, T) { ++total; });
        return total;
    }

private:
    struct Row {
        std::unique_ptr<std::byte[]> memory;
        std::uint32_t capacity = 0;  // bytes
        std::uint32_t count : 31 = 0;
        std::uint32_t full : 1 = 0;

        T* values() const { return reinterpret_cast<T*>(memory.get()); }
        DualEntry<T>* entries() const { return reinterpret_cast<DualEntry<T>*>(memory.get()); }

        // What was there is lost.
        void reserve(std::size_t bytes) {
            if (bytes <= capacity) return;
            memory.reset(new std::byte[bytes]);
            capacity = static_cast<std::uint32_t>(bytes);
        }

        void assign(std::span<const DualEntry<T>> from, std::size_t k) {
            const bool in_full = from.size_bytes() > k * sizeof(T);
            const std::size_t bytes = in_full ? k * sizeof(T) : from.size_bytes();
            // A list fluctuates by an entry or two: leave some room.
            if (bytes > capacity) reserve(in_full ? bytes : bytes + bytes / 4);
            count = static_cast<std::uint32_t>(from.size());
            full = in_full;
            if (in_full) {
                std::memset(memory.get(), 0, bytes);
                for (const auto& entry : from) values()[entry.c] = entry.value;
            } else if (bytes) {
                std::memcpy(memory.get(), from.data(), bytes);
            }
        }
    };

    T* entry(std::size_t i, std::int32_t c) {
        if (flat()) return flat_row(i) + c;
        if (rows_[i].full) return rows_[i].values() + c;
        DualEntry<T>* first = rows_[i].entries();
        while (first->c != c) ++first;
        return &first->value;
    }

    std::size_t n_ = 0, k_ = 0;
    std::vector<T> values_;
    std::vector<Row> rows_;
};

}  // namespace polymargin
