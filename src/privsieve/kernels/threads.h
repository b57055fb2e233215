// Work that several threads share.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

namespace privsieve {

// All cores, up to 16, from so much work on: below, threads cost more than they take over.
inline size_t threads_for(double work, double from) {
    if (work < from) return 1;
    return std::clamp(size_t(std::thread::hardware_concurrency()), size_t(1), size_t(16));
}

// Calls part(w) for each w below `many`, each in a thread of its own while there are more to be had.
template <class Part> void in_threads(size_t many, Part part) {
    std::vector<std::thread> threads;
    threads.reserve(many);
    for (size_t w = 1; w < many; w++) {
        try {
            threads.emplace_back(part, w);
        } catch (const std::system_error&) {  // no more threads to be had
            part(w);
        }
    }
    part(0);
    for (auto& thread : threads) thread.join();
}

// Calls run(w, task) for each task.  It must not allocate: what is thrown in a thread ends the process.
template <class Run> void share(size_t threads, size_t tasks, Run run) {
    std::atomic<size_t> next{0};
    in_threads(threads, [&](size_t w) {
        for (size_t task; (task = next.fetch_add(1, std::memory_order_relaxed)) < tasks;)
            run(w, task);
    });
}

}  // namespace privsieve
