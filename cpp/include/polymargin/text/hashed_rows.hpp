// Texts as rows of hashed terms. A term adds 1 or -1 to the feature that its hash tells:
//
//     j = |h| mod d,   x_j += h < 0 ? -1 : 1  (or 1 for all terms),   h = murmur(term), signed
//
// Features are in ascending order, each once, also where its terms sum to zero.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "polymargin/text/growing_buffer.hpp"
#include "polymargin/text/murmur.hpp"
#include "polymargin/text/sort_keys.hpp"
#include "polymargin/text/terms.hpp"

namespace polymargin::text {

enum class Norm : std::uint8_t { none, l1, l2 };

struct HashingOptions {
    const std::uint32_t* table = nullptr;  // of characters
    Analyzer analyzer = Analyzer::words;
    std::size_t least = 1, most = 1;  // words or characters of a term
    std::uint32_t n_features = 1u << 20;
    bool alternate_sign = true;
    bool binary = false;  // 1 for each feature that a text has
    Norm norm = Norm::l2;
};

// CSR without its leading zero.
template <class Value>
struct HashedRows {
    GrowingBuffer<Value> values;
    GrowingBuffer<std::int32_t> indices;
    GrowingBuffer<std::int64_t> ends;     // of each row in the two above
    GrowingBuffer<std::int64_t> skipped;  // rows left empty: their texts are in doubt
    std::int64_t n_terms = 0;             // of all rows, before equal ones are summed

    std::int64_t n_entries() const { return static_cast<std::int64_t>(values.size()); }

    // Forgets everything, keeps the memory.
    void clear() {
        values.clear();
        indices.clear();
        ends.clear();
        skipped.clear();
        n_terms = 0;
    }
};

// Makes row after row.
template <class Value>
class RowHasher {
public:
    explicit RowHasher(const HashingOptions& options)
        : options_(options),
          terms_(options.table, options.analyzer, options.least, options.most),
          is_power_(std::has_single_bit(options.n_features)),
          key_bits_(std::bit_width(options.n_features - 1) + 1) {}

    // False where the text is in doubt; then there is no row.
    bool append(const Text& text, HashedRows<Value>& rows) {
        keys_.clear();
        const bool found = terms_.find(text, [this](const char* bytes, std::size_t size) {
            keys_.make_room(1);
            keys_.push(key_of(murmur(bytes, size)));
        });
        if (!found || keys_.size() > most_terms()) return false;
        rows.n_terms += static_cast<std::int64_t>(keys_.size());
        sort_keys(keys_, other_, key_bits_);
        const std::size_t start = rows.values.size();
        sum_keys(rows);
        normalize(rows.values.data() + start, rows.values.size() - start);
        return true;
    }

private:
    // Sums of more ones need not be exact in single precision, and those of both signs depend on
    // their order; in double precision they can't be sorted.
    static constexpr std::size_t most_terms() {
        return sizeof(Value) == sizeof(float) ? std::size_t{1} << 24 : (std::size_t{1} << 32) - 1;
    }

    // The feature, and the sign in the last bit.
    std::uint32_t key_of(std::uint32_t hash) const {
        const std::uint32_t negative = hash >> 31;
        const std::uint32_t size = negative ? 0u - hash : hash;
        const std::uint32_t feature =
            is_power_ ? size & (options_.n_features - 1) : size % options_.n_features;
        return feature << 1 | (options_.alternate_sign ? negative : 0u);
    }

    void sum_keys(HashedRows<Value>& rows) const {
        const std::size_t n = keys_.size();
        rows.values.make_room(n);
        rows.indices.make_room(n);
        for (std::size_t i = 0; i < n;) {
            const std::uint32_t feature = keys_[i] >> 1;
            std::int64_t sum = 0;
            for (; i < n && keys_[i] >> 1 == feature; ++i) sum += keys_[i] & 1 ? -1 : 1;
            rows.indices.push(static_cast<std::int32_t>(feature));
            rows.values.push(options_.binary ? Value{1} : static_cast<Value>(sum));
        }
    }

    // Squares in the type of the values, their sum and the quotients in double.
    void normalize(Value* values, std::size_t n) const {
        if (options_.norm == Norm::none) return;
        double size = 0;
        for (std::size_t i = 0; i < n; ++i) {
            const Value value = values[i];
            size += options_.norm == Norm::l1 ? std::abs(static_cast<double>(value))
                                              : static_cast<double>(value * value);
        }
        if (size == 0) return;
        if (options_.norm == Norm::l2) size = std::sqrt(size);
        for (std::size_t i = 0; i < n; ++i) values[i] = static_cast<Value>(values[i] / size);
    }

    HashingOptions options_;
    TermFinder terms_;
    bool is_power_;
    int key_bits_;
    Keys keys_, other_;
};

}  // namespace polymargin::text
