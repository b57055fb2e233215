// The nearest row of the same class and the nearest of any other, for each row of a table.
#pragma once
#include "arrays.h"
#include "nearest_loops.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace privsieve {

enum class Metric { manhattan, euclidean, hamming };

// What rules rows out before distances are told in float64; the answers are the same.
enum class Filter { by_data, bytes, floats };

struct Search {
    Matrix<double> rows;
    const std::int32_t* label;
    Metric metric;
    Filter filter;
    const NearLoops* loops;
};

// Rows by class, those of a class in their order: place s is held by row `row[s]`, and its class
// takes the places `first[s]` to `last[s]`.
struct ByClass {
    std::vector<size_t> row, first, last;
    ByClass(const std::int32_t* label, size_t rows);
};

// The sets of loops that this machine can run, the best first; returns how many.
int runnable_near(const NearLoops* found[3]);

// found[0][i], found[1][i] are the hit and the miss of row i, or -1.
void nearest(const Search& search, i64* const found[2]);
// The same for rows of 0 and 1: how many columns differ.
void nearest_bits(const Search& search, const ByClass& sorted, i64* const found[2]);

// Groups of rows are shared among workers, each of which answers for its own rows.
size_t near_threads(double differences);

template <class Worker> void run_workers(std::vector<Worker>& workers, size_t groups) {
    const size_t many = workers.size();
    std::vector<std::thread> threads;
    threads.reserve(many);
    const auto part = [&](size_t w) {
        for (size_t g = w; g < groups; g += many) workers[w].run(g);
    };
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

}  // namespace privsieve
