// An array that grows by realloc, which on Linux moves pages instead of copying large blocks. Pages
// that were never written take no memory, so that reserving is cheap.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace polymargin::text {

template <class T>
class GrowingBuffer {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    GrowingBuffer() = default;
    GrowingBuffer(GrowingBuffer&& other) noexcept { swap(other); }
    GrowingBuffer& operator=(GrowingBuffer&& other) noexcept {
        GrowingBuffer(std::move(other)).swap(*this);
        return *this;
    }
    ~GrowingBuffer() { std::free(items_); }

    T* data() { return items_; }
    const T* data() const { return items_; }
    std::size_t size() const { return size_; }
    const T& operator[](std::size_t position) const { return items_[position]; }
    T& operator[](std::size_t position) { return items_[position]; }

    // Room for this many more, without a change of size.
    void make_room(std::size_t more) {
        if (more <= room_ - size_) return;
        constexpr std::size_t most = static_cast<std::size_t>(-1) / 4 / sizeof(T);
        if (more > most - size_) throw std::bad_alloc();
        reallocate(std::max(size_ + more, size_ + size_ / 2 + 16));
    }

    // There must be room.
    void push(T item) { items_[size_++] = item; }

    void append(const T* items, std::size_t count) {
        if (count == 0) return;
        make_room(count);
        std::memcpy(items_ + size_, items, count * sizeof(T));
        size_ += count;
    }

    void resize(std::size_t size) {  // new items are not set
        if (size > size_) make_room(size - size_);
        size_ = size;
    }

    // Removes items from the front.
    void erase_front(std::size_t count) {
        if (count == 0) return;
        std::memmove(items_, items_ + count, (size_ - count) * sizeof(T));
        size_ -= count;
    }

    void clear() { size_ = 0; }

    // Gives room that is not used back.
    void fit() {
        if (size_ < room_) reallocate(std::max<std::size_t>(size_, 1));
    }

    // The memory, to be freed by std::free. The buffer is empty afterwards.
    T* release() {
        T* items = std::exchange(items_, nullptr);
        size_ = room_ = 0;
        return items;
    }

    void swap(GrowingBuffer& other) noexcept {
        std::swap(items_, other.items_);
        std::swap(size_, other.size_);
        std::swap(room_, other.room_);
    }

private:
    void reallocate(std::size_t room) {
        void* items = std::realloc(items_, room * sizeof(T));
        if (items == nullptr) throw std::bad_alloc();
        items_ = static_cast<T*>(items);
        room_ = room;
    }

    T* items_ = nullptr;
    std::size_t size_ = 0, room_ = 0;
};

}  // namespace polymargin::text
