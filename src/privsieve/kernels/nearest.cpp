// Nearest hits and misses.  A filter bounds the distance of each pair of rows from coarse copies;
// only the few that can still be nearest are told in float64, and only ties in the fixed order.
#include "nearest.h"
#include "loops.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace privsieve {
namespace {

using i32 = std::int32_t;
constexpr double THREADS_FROM = 5e7;  // differences of two numbers: below, threads cost more
constexpr size_t MOST_THREADS = 16, NONE = size_t(-1);
constexpr size_t PROBES = 4;          // groups of rows that choose the filter
constexpr double MANY = 0.05;         // share of rows past the filter from which it does not pay
constexpr size_t BYTES_MOST = size_t(1) << 22;  // columns whose byte differences fit 31 bits
// Room for the few roundings of a bound in float32, and in float64.
constexpr double ROOM = 1 + 1e-6, HALF = 0x1p-24, LAST = 0x1p-53;

// Coarse copies of all rows, in panels; by the triangle inequality a distance of two copies is
// off by at most the errors of both.
struct Coarse {
    const bool bytes, squares;
    double scale = 1, grow = 1, tiny = 0;
    size_t columns, panels;
    std::vector<float> wide;
    std::vector<u64> eights;
    std::vector<float> floats;

    Coarse(const Search& search, const ByClass& sorted, bool bytes)
        : bytes(bytes), squares(search.metric == Metric::euclidean), columns(search.rows.columns),
          panels((search.rows.rows + PANEL - 1) / PANEL), wide(panels * PANEL) {
        const Matrix<double>& x = search.rows;
        std::vector<double> low(x[0], x[0] + columns), high(low);
        for (size_t i = 1; i < x.rows; i++)
            search.loops->reach(x[i], columns, low.data(), high.data());
        double range = 0;
        for (size_t j = 0; j < columns; j++) range = std::max(range, high[j] - low[j]);
        if (range > 1e-250) scale = (bytes ? 255 : 1) / range;
        if (bytes) eights.resize(panels * PANEL * groups());
        else {
            floats.resize(panels * PANEL * columns);
            // terms, a stretch and the stretches are added with one rounding each
            const double roundings =
                double(std::min(columns, STRETCH) + columns / STRETCH + 6) * HALF;
            grow = 1 / (1 - roundings);
            tiny = 1e-20 * std::sqrt(double(columns));  // squares that are below float32
        }
        std::vector<u8> levels(groups() * 8);
        std::vector<float> numbers(columns);
        for (size_t s = 0; s < x.rows; s++) {
            const double* const row = x[sorted.row[s]];
            double off;
            if (bytes) {
                off = search.loops->to_bytes(row, low.data(), scale, columns, levels.data());
                for (size_t c = 0; c < groups(); c++)
                    std::memcpy(&eights[word(s, c)], &levels[c * 8], 8);
            } else {
                off = search.loops->to_floats(row, low.data(), scale, columns, squares,
                                              numbers.data());
                for (size_t j = 0; j < columns; j++) floats[place(s, j)] = numbers[j];
            }
            wide[s] = float((squares ? std::sqrt(off) : off) * grow * ROOM *
                            (1 + 4 * double(columns) * LAST));
        }
    }

    size_t groups() const { return (columns + 7) / 8; }
    size_t place(size_t s, size_t j) const { return (s / PANEL * columns + j) * PANEL + s % PANEL; }
    size_t word(size_t s, size_t c) const {
        return (s / PANEL * groups() + c) * PANEL + s % 2 * (PANEL / 2) + s % PANEL / 2;
    }

    // The rows at some places, side by side; places past the end are those of the last panel.
    void ask(size_t first, u64* words, float* numbers) const {
        for (size_t q = 0; q < ASKED; q++) {
            if (bytes)
                for (size_t c = 0; c < groups(); c++)
                    words[c * ASKED + q] = eights[word(first + q, c)];
            else
                for (size_t j = 0; j < columns; j++)
                    numbers[j * ASKED + q] = floats[place(first + q, j)];
        }
    }
};

struct Span {
    size_t first, last;
};

struct Worker {
    const Search* search;
    const ByClass* sorted;
    const Coarse* coarse;
    i64* const* out;  // null for probes
    std::vector<u64> words;
    std::vector<float> numbers, far;
    std::vector<i32> passed;
    std::vector<double> told;
    size_t all_passed = 0;

    Worker(const Search& search, const ByClass& sorted, const Coarse& coarse, i64* const* out)
        : search(&search), sorted(&sorted), coarse(&coarse), out(out),
          words(coarse.bytes ? coarse.groups() * ASKED : 0),
          numbers(coarse.bytes ? 0 : coarse.columns * ASKED), far(coarse.panels * PANEL * ASKED),
          passed(search.rows.rows + 1), told(search.rows.rows) {}

    void run(size_t group) {
        const size_t stride = coarse->panels * PANEL, rows = search->rows.rows;
        coarse->ask(group * ASKED, words.data(), numbers.data());
        if (coarse->bytes)
            search->loops->bytes(coarse->eights.data(), coarse->panels, coarse->groups(),
                                 words.data(), far.data(), stride);
        else
            search->loops->floats(coarse->floats.data(), coarse->panels, coarse->columns,
                                  numbers.data(), coarse->squares, far.data(), stride);
        for (size_t q = 0; q < ASKED && group * ASKED + q < rows; q++) {
            const size_t s = group * ASKED + q;
            float* const line = far.data() + q * stride;
            line[s] = std::numeric_limits<float>::infinity();
            const size_t first = sorted->first[s], last = sorted->last[s];
            const Span hits[2] = {{first, last}, {0, 0}}, misses[2] = {{0, first}, {last, rows}};
            const i64 hit = last - first < 2 ? -1 : pick(s, line, hits);
            const i64 miss = pick(s, line, misses);
            if (out) out[0][sorted->row[s]] = hit, out[1][sorted->row[s]] = miss;
        }
    }

    double apart(size_t s, size_t k) const {
        return search->loops->apart(search->rows[sorted->row[s]], search->rows[sorted->row[k]],
                                    coarse->columns, coarse->squares);
    }

    // [order] The distance that decides: column by column from the left.
    double exactly(size_t s, size_t k) const {
        const double *a = search->rows[sorted->row[s]], *b = search->rows[sorted->row[k]];
        double far = 0;
        for (size_t j = 0; j < coarse->columns; j++) {
            const double gap = a[j] - b[j];
            far += coarse->squares ? gap * gap : std::fabs(gap);
        }
        return far;
    }

    i64 pick(size_t s, const float* line, const Span spans[2]) {
        const NearLoops& loops = *search->loops;
        size_t first = NONE;
        for (const Span* span = spans; span < spans + 2; span++) {
            if (span->first == span->last) continue;
            const size_t k =
                span->first + loops.lowest(line + span->first, span->last - span->first);
            if (first == NONE || line[k] < line[first]) first = k;
        }
        if (first == NONE) return -1;
        const double known = apart(s, first), near = at_most(known);
        const double bound = (coarse->squares ? std::sqrt(near) : near) * coarse->scale;
        const float* wide = coarse->wide.data();
        const float base =
            float((bound * coarse->grow + double(wide[s]) + coarse->tiny) * ROOM);
        size_t many = 0;
        for (const Span* span = spans; span < spans + 2; span++)
            many += loops.within(line + span->first, wide + span->first, span->last - span->first,
                                 base, coarse->squares, i32(span->first), passed.data() + many);
        all_passed += many;
        return out ? decide(s, many, first, known) : -1;
    }

    // What any sum of the same terms is at most, where one order gives `far`.
    double at_most(double far) const {
        const double columns = double(coarse->columns + 4);
        return far * (1 + 8 * columns * LAST) + columns * 0x1p-1070;
    }

    i64 decide(size_t s, size_t many, size_t first, double known) {
        if (many == 1) return i64(sorted->row[size_t(passed[0])]);
        double least = std::numeric_limits<double>::infinity();
        for (size_t t = 0; t < many; t++)
            least = std::min(least, told[t] = size_t(passed[t]) == first
                                                  ? known
                                                  : apart(s, size_t(passed[t])));
        const double bound = at_most(least);
        size_t left = 0;
        for (size_t t = 0; t < many; t++)
            if (told[t] <= bound) passed[left++] = passed[t];
        if (left == 1) return i64(sorted->row[size_t(passed[0])]);
        double best = std::numeric_limits<double>::infinity();
        size_t chosen = NONE;
        for (size_t t = 0; t < left; t++) {
            const size_t k = size_t(passed[t]), row = sorted->row[k];
            const double far = exactly(s, k);
            if (far < best || (far == best && row < chosen)) best = far, chosen = row;
        }
        return i64(chosen);
    }
};

// Whether the bytes of a table tell its rows apart: on some rows, at even steps.
bool bytes_serve(const Search& search, const ByClass& sorted, const Coarse& coarse) {
    const size_t rows = search.rows.rows, groups = (rows + ASKED - 1) / ASKED;
    const size_t probes = std::min(PROBES, groups);
    Worker worker(search, sorted, coarse, nullptr);
    for (size_t p = 0; p < probes; p++) worker.run(groups * p / probes);
    const size_t least = 16 * probes * ASKED;  // a handful a row costs little
    return double(worker.all_passed) <=
           std::max(MANY * double(probes * ASKED) * double(rows), double(least));
}

void search_with(const Search& search, const ByClass& sorted, const Coarse& coarse,
                 i64* const found[2]) {
    const size_t rows = search.rows.rows;
    const size_t threads = near_threads(double(rows) * double(rows) * double(coarse.columns));
    std::vector<Worker> workers(threads, Worker(search, sorted, coarse, found));
    run_workers(workers, (rows + ASKED - 1) / ASKED);
}

}  // namespace

ByClass::ByClass(const i32* label, size_t rows) : row(rows), first(rows), last(rows) {
    std::iota(row.begin(), row.end(), size_t(0));
    std::stable_sort(row.begin(), row.end(), [&](size_t a, size_t b) { return label[a] < label[b]; });
    for (size_t begin = 0, end = 0; begin < rows; begin = end) {
        while (end < rows && label[row[end]] == label[row[begin]]) end++;
        std::fill(first.begin() + i64(begin), first.begin() + i64(end), begin);
        std::fill(last.begin() + i64(begin), last.begin() + i64(end), end);
    }
}

size_t near_threads(double differences) {
    if (differences < THREADS_FROM) return 1;
    return std::clamp(size_t(std::thread::hardware_concurrency()), size_t(1), MOST_THREADS);
}

int runnable_near(const NearLoops* found[3]) {
    const Loops* sets[3];
    const int many = runnable(sets);
    for (int i = 0; i < many; i++) {
        found[i] = &near_base;
#ifdef PRIVSIEVE_X86
        if (sets[i] == &loops_avx512) found[i] = &near_avx512;
        if (sets[i] == &loops_avx2) found[i] = &near_avx2;
#endif
    }
    return many;
}

void nearest(const Search& search, i64* const found[2]) {
    if (!search.rows.rows) return;
    const ByClass sorted(search.label, search.rows.rows);
    if (search.metric == Metric::hamming) return nearest_bits(search, sorted, found);
    const bool may = search.metric == Metric::manhattan && search.rows.columns < BYTES_MOST &&
                     search.filter != Filter::floats;
    if (may) {
        const Coarse bytes(search, sorted, true);
        if (search.filter == Filter::bytes || bytes_serve(search, sorted, bytes))
            return search_with(search, sorted, bytes, found);
    }
    search_with(search, sorted, Coarse(search, sorted, false), found);
}

}  // namespace privsieve
