// Nearest hits and misses of rows of 0 and 1, packed: the columns that differ are counted.
#include "nearest.h"
#include "loops.h"

namespace privsieve {
namespace {

struct Nearest {
    i64 far = -1;
    size_t row = 0;
    void see(i64 other, size_t at) {
        if (far < 0 || other < far || (other == far && at < row)) far = other, row = at;
    }
    i64 answer() const { return far < 0 ? -1 : i64(row); }
};

struct BitWorker {
    const ByClass* sorted;
    const std::vector<u64>* bits;  // by place
    size_t words;
    i64* const* out;
    const Loops* loops;

    const u64* at(size_t place) const { return bits->data() + place * words; }

    void run(size_t s) {
        Nearest found[2];
        const size_t first = sorted->first[s], last = sorted->last[s];
        for (size_t k = 0; k < sorted->row.size(); k++) {
            if (k == s) continue;
            const bool other = k < first || k >= last;
            found[other].see(loops->count_xor(at(s), at(k), words), sorted->row[k]);
        }
        for (int kind = 0; kind < 2; kind++) out[kind][sorted->row[s]] = found[kind].answer();
    }
};

}  // namespace

void nearest_bits(const Search& search, const ByClass& sorted, i64* const found[2]) {
    const size_t rows = search.rows.rows, columns = search.rows.columns;
    const size_t words = (columns + 63) / 64;
    std::vector<u64> bits(rows * words);
    for (size_t s = 0; s < rows; s++) {
        const double* row = search.rows[sorted.row[s]];
        for (size_t j = 0; j < columns; j++)
            bits[s * words + j / 64] |= u64(row[j] != 0) << (j % 64);
    }
    const size_t threads = near_threads(double(rows) * double(rows) * double(words));
    std::vector<BitWorker> workers(threads,
                                   BitWorker{&sorted, &bits, words, found, &best_loops()});
    run_workers(workers, rows);
}

}  // namespace privsieve
