#include "polymargin/parallel.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <vector>

namespace polymargin {

void parallel_for(int threads, std::size_t parts, const std::function<void(std::size_t)>& body) {
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

void run_crew(std::size_t threads, const std::function<void(std::size_t)>& body) {
    enum Signal { wait, go, cancel };
    std::atomic<Signal> signal{wait};
    std::vector<std::jthread> pool;
    try {
        for (std::size_t t = 1; t < threads; ++t) {
            pool.emplace_back([&, t] {
                signal.wait(wait);
                if (signal == go) body(t);
            });
        }
    } catch (...) {
        signal = cancel;
        signal.notify_all();
        throw;
    }
    signal = go;
    signal.notify_all();
    body(0);
}

}  // namespace polymargin
