// Rows of many texts, on several threads.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "polymargin/parallel.hpp"
#include "polymargin/text/hashed_rows.hpp"
#include "polymargin/text/terms.hpp"

namespace polymargin::text {

// A part of the texts at a time, and its rows until they join those before.
template <class Value>
struct HashedPart {
    RowHasher<Value> hasher;
    HashedRows<Value> rows;
    std::size_t first = 0, last = 0;  // of the texts

    void hash(std::span<const Text> texts) {
        rows.clear();
        for (std::size_t i = first; i < last; ++i) {
            if (!hasher.append(texts[i], rows)) {
                rows.skipped.make_room(1);
                rows.skipped.push(static_cast<std::int64_t>(i));
            }
            rows.ends.make_room(1);
            rows.ends.push(rows.n_entries());
        }
    }
};

// Puts the rows of some parts behind others.
template <class Value>
void join(std::span<const HashedPart<Value>> parts, int threads, HashedRows<Value>& all) {
    struct Place {
        std::size_t row, entry;
    };
    std::vector<Place> places;
    Place end{all.ends.size(), all.values.size()};
    for (const HashedPart<Value>& part : parts) {
        places.push_back(end);
        end = {end.row + part.rows.ends.size(), end.entry + part.rows.values.size()};
        all.n_terms += part.rows.n_terms;
        all.skipped.append(part.rows.skipped.data(), part.rows.skipped.size());
    }
    all.values.resize(end.entry);
    all.indices.resize(end.entry);
    all.ends.resize(end.row);
    parallel_for(threads, parts.size(), [&](std::size_t i) {
        const HashedRows<Value>& rows = parts[i].rows;
        const auto [row, entry] = places[i];
        std::copy_n(rows.values.data(), rows.values.size(), all.values.data() + entry);
        std::copy_n(rows.indices.data(), rows.indices.size(), all.indices.data() + entry);
        const auto shift = static_cast<std::int64_t>(entry);
        std::transform(rows.ends.data(), rows.ends.data() + rows.ends.size(), all.ends.data() + row,
                       [shift](std::int64_t end) { return end + shift; });
    });
}

// All texts; the rows are the same whatever the number of threads. Several threads hash a few parts
// for each of them, whose rows then join the others: the memory of parts is small and used again.
template <class Value>
HashedRows<Value> hash_texts(std::span<const Text> texts, const HashingOptions& options,
                             int threads) {
    if (threads == 1) {
        HashedPart<Value> all{RowHasher<Value>(options), {}, 0, texts.size()};
        all.hash(texts);
        return std::move(all.rows);
    }
    constexpr std::size_t characters = 1 << 16;  // of a part, or one text
    std::vector<HashedPart<Value>> parts;
    for (int i = 0; i < 4 * threads; ++i) parts.push_back({RowHasher<Value>(options), {}, 0, 0});
    HashedRows<Value> all;
    for (std::size_t next = 0; next < texts.size();) {
        std::size_t n_parts = 0;
        for (; n_parts < parts.size() && next < texts.size(); ++n_parts) {
            parts[n_parts].first = next;
            for (std::size_t n = 0; n < characters && next < texts.size(); ++next) {
                n += texts[next].size + 1;
            }
            parts[n_parts].last = next;
        }
        parallel_for(threads, n_parts, [&](std::size_t i) { parts[i].hash(texts); });
        join(std::span<const HashedPart<Value>>(parts).first(n_parts), threads, all);
    }
    return all;
}

}  // namespace polymargin::text
