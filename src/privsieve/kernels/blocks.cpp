// Nearest hits and misses inside a block, or in a public reference, and the vote of each.
#include "blocks.h"
#include "loops.h"
#include "threads.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <vector>

namespace privsieve {
namespace {

// [blocks]
using i32 = std::int32_t;
constexpr double THREADS_FROM = 5e7;  // differences of two codes: below, threads cost more
constexpr size_t AHEAD = 2, FETCHED = 1024;  // blocks, and bytes of a row
constexpr i64 FULL = 32767;               // rows whose sum of differences fits 32 bits

// Rows are copied to lines of whole vectors, so that no loop has a rest; what is past the columns
// is 0 everywhere and adds nothing.
size_t padded(size_t columns) { return (columns + 31) / 32 * 32; }

void pad(const u16* row, size_t columns, u16* line) {
    std::copy_n(row, columns, line);
    std::fill(line + columns, line + padded(columns), u16(0));
}

std::vector<u16> padded_rows(const u16* rows, size_t many, size_t columns) {
    std::vector<u16> lines(many * padded(columns));
    for (size_t i = 0; i < many; i++)
        pad(rows + i * columns, columns, lines.data() + i * padded(columns));
    return lines;
}

// The sum of all rows of a voter, and what becomes of it: votes so far, or itself in its place.
struct Sums {
    const Loops& loops = best_loops();
    const i64 tau;
    i32* const each;
    const size_t columns, line;
    const std::vector<u16> kinds;
    std::vector<i32> some;
    std::vector<i64> sum, votes;
    i64 in_some = 0, flushed = 0;  // rows in `some`; whether `sum` has others

    Sums(const Ballot& ballot, size_t columns)
        : tau(ballot.tau), each(ballot.each), columns(columns), line(padded(columns)),
          kinds(padded_rows(ballot.kinds, ballot.kinds ? 2 : 0, columns)), some(line),
          sum(columns), votes(columns) {}

    const u16* masks() const { return kinds.empty() ? nullptr : kinds.data(); }

    u64 apart(const u16* a, const u16* b) const { return loops.apart(a, b, masks(), line); }

    void add(const u16* x, const u16* miss, const u16* hit) {
        const u16* const both[2] = {miss, hit};
        loops.lean(x, both, masks(), line, some.data());
        if (++in_some == FULL) flush();
    }

    void flush() {
        for (size_t j = 0; j < columns; j++) sum[j] += some[j];
        std::fill(some.begin(), some.end(), 0);
        in_some = 0;
        flushed = 1;
    }

    template <class Sum> void vote_by(std::vector<Sum>& by, size_t voter) {
        if (each)
            for (size_t j = 0; j < columns; j++) each[voter * columns + j] = i32(by[j]);
        else if (tau)
            for (size_t j = 0; j < columns; j++) votes[j] += std::clamp(i64(by[j]), -tau, tau);
        else
            for (size_t j = 0; j < columns; j++) votes[j] += (by[j] > 0) - (by[j] < 0);
        std::fill_n(by.begin(), columns, Sum(0));
    }

    void vote(size_t voter) {
        if (flushed) {
            flush();
            vote_by(sum, voter);
        } else if (in_some || each) {
            vote_by(some, voter);
        }
        in_some = flushed = 0;
    }
};

// The nearest row so far; a later one must be nearer.
struct Nearest {
    u64 distance = ~u64(0);
    const u16* row = nullptr;
    void see(u64 far, const u16* other) {
        if (far < distance) {
            distance = far;
            row = other;
        }
    }
};

struct Member {
    const u16* row;
    i32 label;
    size_t unit;
    Nearest hit, miss;
};

// Runs the voters first to last, in a thread of its own; all memory is taken before it starts.
struct BlockWorker {
    const Rows& rows;
    const Blocks& blocks;
    Sums sums;
    std::vector<Member> members;
    std::vector<u16> lines;

    BlockWorker(const Rows& rows, const Blocks& blocks, const Ballot& ballot, size_t largest)
        : rows(rows), blocks(blocks), sums(ballot, rows.codes.columns), members(largest),
          lines(largest * sums.line) {}

    size_t gather(size_t block) {
        size_t many = 0;
        for (i64 at = blocks.starts[block]; at < blocks.starts[block + 1]; at++) {
            const size_t unit = size_t(blocks.order[at]);
            for (i64 i = rows.starts[unit]; i < rows.starts[unit + 1]; i++) {
                u16* line = lines.data() + many * sums.line;
                pad(rows.codes[size_t(i)], sums.columns, line);
                members[many++] = {line, rows.label[i], unit, {}, {}};
            }
        }
        return many;
    }

    // Rows of a block lie anywhere in memory: they are asked for some blocks before they are used.
    void prefetch(size_t block) const {
        const size_t bytes = std::min(rows.codes.columns * sizeof(u16), FETCHED);
        for (i64 at = blocks.starts[block]; at < blocks.starts[block + 1]; at++) {
            const i64 first = rows.starts[blocks.order[at]];
            const char* row = reinterpret_cast<const char*>(rows.codes[size_t(first)]);
            for (size_t byte = 0; byte < bytes; byte += 64) __builtin_prefetch(row + byte);
            __builtin_prefetch(row + bytes - 1);
        }
    }

    void vote(size_t block, size_t many) {
        for (size_t i = 0; i < many; i++) {
            Member& one = members[i];
            // Each pair once; a row sees the others from the first to the last.
            for (size_t k = i + 1; k < many; k++) {
                Member& other = members[k];
                if (one.unit == other.unit) continue;
                const u64 far = sums.apart(one.row, other.row);
                const bool same = one.label == other.label;
                (same ? one.hit : one.miss).see(far, other.row);
                (same ? other.hit : other.miss).see(far, one.row);
            }
            if (one.hit.row && one.miss.row) sums.add(one.row, one.miss.row, one.hit.row);
        }
        sums.vote(block);
    }

    void run(size_t first, size_t last) {
        for (size_t block = first; block < last; block++) {
            const size_t many = gather(block);
            if (block + AHEAD < last) prefetch(block + AHEAD);
            vote(block, many);
        }
    }
};

struct ReferenceWorker {
    const Rows& rows;
    const i32* label;               // of the reference,
    const std::vector<u16>& lines;  // and its rows
    Sums sums;
    std::vector<u16> own;

    ReferenceWorker(const Rows& rows, const i32* label, const std::vector<u16>& lines,
                    const Ballot& ballot)
        : rows(rows), label(label), lines(lines), sums(ballot, rows.codes.columns),
          own(sums.line) {}

    void run(size_t first, size_t last) {
        for (size_t unit = first; unit < last; unit++) {
            for (i64 i = rows.starts[unit]; i < rows.starts[unit + 1]; i++) row(size_t(i));
            sums.vote(unit);
        }
    }

    void row(size_t i) {
        pad(rows.codes[i], sums.columns, own.data());
        Nearest hit, miss;
        for (size_t at = 0, k = 0; at < lines.size(); at += sums.line, k++) {
            const u64 far = sums.apart(own.data(), lines.data() + at);
            (rows.label[i] == label[k] ? hit : miss).see(far, lines.data() + at);
        }
        if (hit.row && miss.row) sums.add(own.data(), miss.row, hit.row);
    }
};

// Shares voters among workers; integers are added, so the shares do not matter.
template <class Worker>
void share_voters(std::vector<Worker>& workers, size_t voters, size_t columns, i64* votes) {
    const size_t many = workers.size();
    in_threads(many, [&](size_t w) {
        workers[w].run(voters * w / many, voters * (w + 1) / many);
    });
    std::fill(votes, votes + columns, i64(0));
    for (const Worker& worker : workers)
        for (size_t j = 0; j < columns; j++) votes[j] += worker.sums.votes[j];
}

}  // namespace

void block_votes(const Rows& rows, const Blocks& blocks, const Ballot& ballot, i64* votes) {
    i64 differences = 0, largest = 0;
    for (size_t b = 0; b < blocks.many; b++) {
        i64 many = 0;
        for (i64 at = blocks.starts[b]; at < blocks.starts[b + 1]; at++)
            many += rows.starts[blocks.order[at] + 1] - rows.starts[blocks.order[at]];
        differences += many * (many + 3) / 2 * i64(rows.codes.columns);
        largest = std::max(largest, many);
    }
    std::vector<BlockWorker> workers(
        threads_for(double(differences), THREADS_FROM), BlockWorker(rows, blocks, ballot, size_t(largest)));
    share_voters(workers, blocks.many, rows.codes.columns, votes);
}

void reference_votes(const Rows& rows, const Rows& reference, const Ballot& ballot, i64* votes) {
    const i64 differences =
        i64(rows.codes.rows) * i64(reference.codes.rows + 2) * i64(rows.codes.columns);
    const std::vector<u16> lines =
        padded_rows(reference.codes.data, reference.codes.rows, reference.codes.columns);
    std::vector<ReferenceWorker> workers(threads_for(double(differences), THREADS_FROM),
                                         ReferenceWorker(rows, reference.label, lines, ballot));
    share_voters(workers, rows.units, rows.codes.columns, votes);
}
// [/blocks]

namespace {

typedef u16 Eight __attribute__((vector_size(16)));

Eight load(const u16* from) {
    Eight v;
    std::memcpy(&v, from, sizeof v);
    return v;
}

// The low halves (h = 0) or the high ones (h = 4) of two vectors, a code of each in turn.
#if defined(__clang__)
#define INTERLEAVE(a, b, h) \
    __builtin_shufflevector(a, b, h, h + 8, h + 1, h + 9, h + 2, h + 10, h + 3, h + 11)
#else
#define INTERLEAVE(a, b, h) \
    __builtin_shuffle(a, b, Eight{h, h + 8, h + 1, h + 9, h + 2, h + 10, h + 3, h + 11})
#endif

// Eight columns of eight codes become eight rows: three rounds of interleaving.
void turn(const u16* from, size_t stride, u16* const row[8], size_t j) {
    Eight a[8], b[8];
    for (size_t k = 0; k < 8; k++) a[k] = load(from + k * stride);
    for (int round = 0; round < 3; round++) {
        for (size_t k = 0; k < 4; k++) {
            b[2 * k] = INTERLEAVE(a[k], a[k + 4], 0);
            b[2 * k + 1] = INTERLEAVE(a[k], a[k + 4], 4);
        }
        std::memcpy(a, b, sizeof a);
    }
    for (size_t k = 0; k < 8; k++) std::memcpy(row[k] + j, &a[k], sizeof a[k]);
}

}  // namespace

void deal(Matrix<u16> codes, const i64* place, u16* out) {
    constexpr size_t SOME = 32;  // a line of codes
    const size_t columns = codes.rows, many = codes.columns;
    for (size_t first = 0; first < many; first += SOME) {
        const size_t some = std::min(SOME, many - first), turned = some == SOME ? columns / 8 * 8 : 0;
        u16* row[SOME];
        for (size_t i = 0; i < some; i++) row[i] = out + size_t(place[first + i]) * columns;
        for (size_t j = 0; j < turned; j += 8)
            for (size_t i = 0; i < SOME; i += 8) turn(codes[j] + first + i, many, row + i, j);
        for (size_t j = turned; j < columns; j++)
            for (size_t i = 0; i < some; i++) row[i][j] = codes[j][first + i];
    }
}

}  // namespace privsieve
