// Nearest hits and misses: coarse copies exclude most rows, exact distances decide the others.
#include "nearest.h"
#include "loops.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace privsieve {
namespace {

using i32 = std::int32_t;
constexpr double THREADS_FROM = 5e7;  // differences of two numbers: below, threads cost more
constexpr size_t PROBES = 4;          // groups of rows that choose the filter
constexpr double MANY = 0.05;         // share of rows past the filter from which it does not pay
constexpr size_t BYTES_MOST = size_t(1) << 22;  // columns whose byte differences fit 31 bits
constexpr double ROOM = 1 + 1e-6, LAST = 0x1p-53;
constexpr double MISSED = 1e-3;       // lookups in samples that may need a longer list
constexpr float FAR = std::numeric_limits<float>::infinity();

struct Span {
    size_t first, last;
};

// A list holds at least so many rows, and about three times as many: nearly always one of them is
// in a sample.  A power of 2.
size_t remembered(const Search& search) {
    if (!search.drawn) return 1;
    size_t in = 0;
    for (size_t i = 0; i < search.rows.rows; i++)
        in += size_t(__builtin_popcountll(search.drawn[i]));
    const double all = double(search.rows.rows) * double(search.samples) + 1;
    size_t most = 1;
    while (most < LANES && std::pow(1 - double(in) / all, double(most)) > MISSED) most *= 2;
    return most;
}

struct Worker {
    const Search* search;
    const ByClass* sorted;
    const Copies* copies;
    i64* const* out;
    size_t remember, told_of = 0;
    double grow, tiny;  // of a sum of doubles
    std::vector<float> far;
    std::vector<i32> near;      // the places on the list: all with far <= base + wide
    std::vector<double> told;   // how far they are; below 0 while nobody asked
    size_t many = 0;
    float base = 0;

    Worker(const Copies& copies, size_t remember, i64* const* out)
        : search(&copies.search), sorted(&copies.sorted), copies(&copies), out(out),
          remember(remember), grow(1 + 8 * double(search->rows.columns + 4) * LAST),
          tiny(double(search->rows.columns + 4) * 0x1p-1070), far(copies.stride() * ASKED), near(search->rows.rows + 1),
          told(search->rows.rows) {}

    void run(size_t group) {
        const size_t rows = search->rows.rows;
        copies->lines(group, far.data());
        for (size_t q = 0; q < ASKED && group * ASKED + q < rows; q++) {
            const size_t s = group * ASKED + q, first = sorted->first[s], last = sorted->last[s];
            float* const line = far.data() + q * copies->stride();
            line[s] = FAR;
            const Span hits[2] = {{first, last}, {0, 0}}, misses[2] = {{0, first}, {last, rows}};
            if (last - first > 1) settle(s, line, hits, out[0]);
            settle(s, line, misses, out[1]);
        }
    }

    u64 drawn(size_t place) const { return search->drawn ? search->drawn[sorted->row[place]] : 1; }

    // The nearest in each sample of row s: the nearest of those that are in any sample without an
    // answer is the answer of all its samples.
    void settle(size_t s, const float* line, const Span spans[2], i64* found) {
        if (spans[0].first == spans[0].last && spans[1].first == spans[1].last) return;
        u64 left = drawn(s);
        if (!left) return;
        base = guess(line, spans) + 3 * copies->wide[s];  // enough where rows are alike
        list(line, spans);
        while (left) {
            const size_t first = lowest(line, left);
            if (first == many) {
                if (base == FAR) break;  // all are listed
                base = FAR;
                list(line, spans);
                continue;
            }
            const float needed = reaches(s, tell(s, first));
            if (needed > base) {
                base = needed;
                list(line, spans);
                continue;
            }
            const size_t k = nearest_of(s, line, left, needed);
            for (u64 now = left & drawn(k); now; now &= now - 1)
                found[sorted->row[s] * search->samples + size_t(__builtin_ctzll(now))] =
                    i64(sorted->row[k]);
            left &= ~drawn(k);
        }
    }

    // A distance that so many as are to be remembered do not exceed: the largest of as many lows.
    float guess(const float* line, const Span spans[2]) const {
        float lanes[LANES];
        std::fill(lanes, lanes + LANES, FAR);
        for (const Span* span = spans; span < spans + 2; span++)
            search->loops->lows(line + span->first, span->last - span->first, lanes);
        for (size_t left = LANES / 2; left >= remember; left /= 2)
            for (size_t l = 0; l < left; l++) lanes[l] = std::min(lanes[l], lanes[l + left]);
        return *std::max_element(lanes, lanes + remember);
    }

    void list(const float* line, const Span spans[2]) {
        many = 0;
        for (const Span* span = spans; span < spans + 2; span++)
            many += search->loops->within(line + span->first, copies->wide.data() + span->first,
                                          span->last - span->first, base, i32(span->first),
                                          near.data() + many);
        std::fill(told.begin(), told.begin() + i64(many), -1.0);
    }

    // On the list and in a sample that is left, the one whose copy is nearest.
    size_t lowest(const float* line, u64 left) const {
        size_t best = many;
        for (size_t t = 0; t < many; t++)
            if ((best == many || line[near[t]] < line[near[best]]) && drawn(size_t(near[t])) & left &&
                line[near[t]] < FAR)
                best = t;
        return best;
    }

    double tell(size_t s, size_t t) {
        if (told[t] < 0) told[t] = copies->apart(s, size_t(near[t])), told_of++;
        return told[t];
    }

    // Copies that are farther, by more than their own errors, are of rows that are farther.
    float reaches(size_t s, double known) const {
        const double near = at_most(known);
        const double bound = (copies->squares() ? std::sqrt(near) : near) * copies->scale;
        return float((bound * copies->grow + double(copies->wide[s]) + copies->tiny) * ROOM);
    }

    // What any sum of the same terms is at most, where one order gives `far`.
    double at_most(double far) const { return far * grow + tiny; }

    // The place that is nearest by the order that decides, among those that are in reach.
    size_t nearest_of(size_t s, const float* line, u64 left, float needed) {
        const auto asked = [&](size_t t) {
            const size_t k = size_t(near[t]);
            return line[k] <= needed + copies->wide[k] && line[k] < FAR && drawn(k) & left;
        };
        double least = std::numeric_limits<double>::infinity();
        for (size_t t = 0; t < many; t++)
            if (asked(t)) least = std::min(least, tell(s, t));
        const double bound = at_most(least);
        size_t best = many, rivals = 0;
        for (size_t t = 0; t < many; t++)
            if (asked(t) && told[t] <= bound) best = t, rivals++;
        if (rivals == 1) return size_t(near[best]);
        double nearest = std::numeric_limits<double>::infinity();
        size_t chosen = search->rows.rows;
        for (size_t t = 0; t < many; t++) {
            if (!asked(t) || told[t] > bound) continue;
            const size_t k = size_t(near[t]);
            const double far = copies->exactly(s, k);
            if (far < nearest || (far == nearest && sorted->row[k] < sorted->row[chosen]))
                nearest = far, chosen = k;
        }
        return chosen;
    }
};

// Whether the bytes of a table tell its rows apart: on some rows, at even steps.
bool bytes_serve(const Copies& copies, i64* const* found) {
    const size_t rows = copies.search.rows.rows, groups = (rows + ASKED - 1) / ASKED;
    const size_t probes = std::min(PROBES, groups / 64 + 1);
    Worker worker(copies, 1, found);
    for (size_t p = 0; p < probes; p++) worker.run(groups * p / probes);
    const size_t least = 32 * probes * ASKED;  // a handful a row costs little
    return double(worker.told_of) <=
           std::max(MANY * double(probes * ASKED) * double(rows), double(least));
}

void search_with(const Copies& copies, i64* const found[2]) {
    const size_t rows = copies.search.rows.rows;
    const size_t threads = threads_for(copies.work, THREADS_FROM);
    std::vector<Worker> workers(threads, Worker(copies, remembered(copies.search), found));
    share(threads, (rows + ASKED - 1) / ASKED, [&](size_t w, size_t g) { workers[w].run(g); });
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

bool nearest(const Search& search, i64* const found[2]) {
    const size_t rows = search.rows.rows;
    for (int kind = 0; kind < 2; kind++)
        std::fill(found[kind], found[kind] + rows * search.samples, i64(-1));
    if (!rows) return true;
    const ByClass sorted(search.label, rows);
    if (search.metric == Metric::hamming) {
        const auto copies = as_bits(search, sorted);
        if (copies) search_with(*copies, found);
        return bool(copies);
    }
    const Ends ends(search);
    if (!ends.taken) return false;
    if (search.metric == Metric::manhattan && search.rows.columns < BYTES_MOST &&
        search.filter != Filter::floats) {
        const auto bytes = as_bytes(search, sorted, ends);
        if (search.filter == Filter::bytes || bytes_serve(*bytes, found)) {
            search_with(*bytes, found);
            return true;
        }
    }
    search_with(*as_floats(search, sorted, ends), found);
    return true;
}

}  // namespace privsieve
