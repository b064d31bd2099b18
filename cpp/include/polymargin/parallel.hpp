// A loop over independent parts, on several threads. Parts are handed out as threads become free.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace polymargin {

template <class Body>
void parallel_for(int threads, std::size_t parts, Body&& body) {
    const auto workers = std::min<std::size_t>(std::max(threads, 1), parts);
    if (workers <= 1) {
        for (std::size_t part = 0; part < parts; ++part) body(part);
        return;
    }
    std::atomic<std::size_t> next{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&] {
        try {
            for (std::size_t part; (part = next.fetch_add(1)) < parts;) body(part);
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> pool;
        for (std::size_t t = 1; t < workers; ++t) pool.emplace_back(work);
        work();
    }
    if (failure) std::rethrow_exception(failure);
}

}  // namespace polymargin
