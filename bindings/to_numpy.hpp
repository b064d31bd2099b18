// A NumPy array that takes the memory of a buffer over.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdlib>

#include "polymargin/text/growing_buffer.hpp"

namespace polymargin::python {

template <class T>
nanobind::object to_numpy(text::GrowingBuffer<T>&& buffer) {
    buffer.make_room(1);
    buffer.fit();
    const std::size_t size = buffer.size();
    T* items = buffer.release();
    nanobind::capsule owner(items, [](void* memory) noexcept { std::free(memory); });
    return nanobind::ndarray<nanobind::numpy, T>(items, {size}, owner).cast();
}

}  // namespace polymargin::python
