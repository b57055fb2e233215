// The state of a greedy choice: which rows look alike so far, and the rule (see patterns.py).
//
// Adding an item to a set that keeps the rule changes only the groups of rows that hold it (and,
// where absences may be known, of those that do not).  The new group of such a row is the part of
// its old group on its side of the item; so only the shares of patterns on that side are summed.
#include "patterns.h"

#include <algorithm>

namespace privsieve::pattern {

Patterns::Patterns(const Items& in, const Rule& by)
    : items(in), rule(by), seen_words((by.classes + 63) / 64) {
    while (size_t(1) << shift < rule.codes) shift++;
    code.assign(items.label, items.label + items.rows);
    room(1, 0);
    many = items.rows ? 1 : 0;
    size[0] = u32(items.rows);
    for (u32 label : code) whole[label]++;
}

void Patterns::room(size_t patterns, size_t more_bits) {
    if (bits + more_bits > 64 * words) {
        const size_t wider = 2 * words;
        std::vector<u64> moved(size.size() * wider);
        for (size_t p = 0; p < many; p++) std::copy_n(mask(p), words, &moved[p * wider]);
        masks.swap(moved);
        words = wider;
    }
    if (patterns <= size.size()) return;
    const size_t rounded = std::max(patterns, 2 * size.size());
    size.resize(rounded);
    part.resize(rounded);
    next.resize(rounded);
    whole.resize(rounded << shift);
    inside.resize(rounded << shift);
    masks.resize(rounded * words);
}

void Patterns::count(size_t item) {
    const i32 *at = items.indices + items.indptr[item], *end = at + items.support(item);
    if (size_t(end - at) > many) {  // cheaper to look at all patterns than to note which are hit
        for (; at < end; at++) inside[code[size_t(*at)]]++;
        for (size_t p = 0; p < many; p++) {
            for (size_t c = 0; c < rule.codes; c++) part[p] += inside[p << shift | c];
            if (part[p]) touched.push_back(u32(p));
        }
    } else {
        for (; at < end; at++) {
            const u32 one = code[size_t(*at)];
            inside[one]++;
            if (!part[one >> shift]++) touched.push_back(one >> shift);
        }
    }
}

void Patterns::forget() {
    for (size_t p : touched) {
        part[p] = 0;
        std::fill_n(&inside[p << shift], size_t(1) << shift, 0);
    }
    touched.clear();
}

void Patterns::accept(size_t item) {
    const bool both = rule.absent[item];
    room(many + touched.size(), both ? 2 : 1);
    for (size_t p : touched) {
        size_t q = p;
        if (part[p] < size[p]) {
            q = many++;
            std::copy_n(mask(p), words, &masks[q * words]);
            size[q] = part[p];
            size[p] -= part[p];
            for (size_t c = 0; c < rule.codes; c++) {
                whole[q << shift | c] = inside[p << shift | c];
                whole[p << shift | c] -= inside[p << shift | c];
            }
        }
        set(q, bits);
        next[p] = u32(q);
    }
    if (both) {
        for (size_t p = 0; p < many; p++)
            if (!(mask(p)[bits / 64] >> bits % 64 & 1)) set(p, bits + 1);
    }
    bits += both ? 2 : 1;
    for (i64 t = items.indptr[item]; t < items.indptr[item + 1]; t++) {
        u32& one = code[size_t(items.indices[t])];
        one = next[one >> shift] << shift | (one & ((1u << shift) - 1));
    }
    forget();
}

// Whether the size of the item alone rules it out.
bool Patterns::hopeless(size_t item) const {
    if (rule.suppress) return false;
    const i64 with = items.support(item), without = i64(items.rows) - with;
    return (with && with < rule.k) ||
           ((rule.equal || rule.absent[item]) && without && without < rule.k);
}

bool Patterns::keeps(size_t item) {
    if (rule.suppress) return suppressed_keeps(rule.absent[item]);
    if (rule.equal) return alone_keeps();
    return covered(true) && (!rule.absent[item] || covered(false));
}

void Patterns::split(size_t p, bool held, size_t label) {
    const u32 rows = label != ALL ? rows_of_class(p, label, held)
                     : held       ? part[p]
                                  : size[p] - part[p];
    if (rows) shares.push_back({u32(p), rows});
}

size_t Patterns::ones(const Share& one) const {
    size_t found = 0;
    for (size_t w = 0; w < words; w++) found += size_t(__builtin_popcountll(mask(one.pattern)[w]));
    return found;
}

size_t Patterns::distinct(const u64* classes) const {
    size_t found = 0;
    for (size_t w = 0; w < seen_words; w++) found += size_t(__builtin_popcountll(classes[w]));
    return found;
}

// Rows of a pattern on one side that stay where it is a group by itself.
i64 Patterns::alone(size_t p, bool held) const {
    const u32 rows = held ? part[p] : size[p] - part[p];
    if (!rule.labelled && (rows < rule.k || rule.diversity <= 1)) return rows < rule.k ? 0 : rows;
    i64 left = 0, classes = 0;
    for (size_t c = 0; c < rule.classes; c++) {
        const u32 mine = rows_of_class(p, c, held);
        if (!mine || (rule.labelled && mine < rule.k)) continue;
        left += mine;
        classes++;
    }
    return classes < rule.diversity ? 0 : left;
}

// k-anonymity: each pattern stands for itself, on both sides.
bool Patterns::alone_keeps() {
    i64 lost = 0;
    bool seen = touched.empty();  // whether a row that stays holds the item
    for (size_t a = 0; a < (rule.suppress ? many : touched.size()); a++) {
        const size_t p = rule.suppress ? a : touched[a];
        for (bool held : {true, false}) {
            const u32 rows = held ? part[p] : size[p] - part[p];
            if (!rows) continue;
            const i64 left = alone(p, held);
            if ((lost += rows - left) > rule.suppress) return false;
            seen |= left && held;
        }
    }
    return seen;
}

// Whether each share on this side has enough rows and classes in the shares that contain it; the
// rows of its class, where that may be known.
bool Patterns::covered(bool held) {
    if (!rule.labelled) return covered(held, {rule.k, rule.diversity, ALL});
    for (size_t c = 0; c < rule.classes; c++)
        if (!covered(held, {rule.k, 1, c})) return false;
    return rule.diversity <= 1 || covered(held, {1, rule.diversity, ALL});
}

bool Patterns::covered(bool held, const Need& need) {
    shares.clear();
    i64 all = 0;
    for (size_t a = 0; a < (held ? touched.size() : many); a++)
        split(held ? touched[a] : a, held, need.label);
    for (const Share& one : shares) all += one.rows;
    if (shares.empty()) return true;
    if (all < need.k || lone(need.k)) return false;
    // Large ones first: small ones find their rows there soon, and the smallest fail first.
    std::sort(shares.begin(), shares.end(), [](const Share& a, const Share& b) {
        return a.rows != b.rows ? a.rows > b.rows : a.pattern < b.pattern;
    });
    side.resize(shares.size() * words);
    for (size_t a = 0; a < shares.size(); a++)
        std::copy_n(mask(shares[a].pattern), words, &side[a * words]);
    seen.clear();
    if (need.diversity > 1) {
        seen.resize(shares.size() * seen_words);
        for (size_t a = 0; a < shares.size(); a++) {
            for (size_t c = 0; c < rule.codes; c++) {
                const size_t plain = c % rule.classes;
                if (rows_of(shares[a].pattern, c, held))
                    seen[a * seen_words + plain / 64] |= u64(1) << plain % 64;
            }
        }
    }
    for (size_t a = shares.size(); a-- > 0;) {
        if (need.diversity <= 1 && shares[a].rows >= need.k) return true;  // so do all before it
        if (!enough(a, need)) return false;
    }
    return true;
}

// A guess before all is sorted: whether a small share with many items finds too few rows.
bool Patterns::lone(i64 k) const {
    const Share* worst = &shares[0];
    for (const Share& one : shares)
        if (one.rows < worst->rows || (one.rows == worst->rows && ones(one) > ones(*worst)))
            worst = &one;
    i64 found = 0;
    const u64* mine = mask(worst->pattern);
    for (const Share& one : shares) {
        const u64* other = mask(one.pattern);
        size_t w = 0;
        while (w < words && !(mine[w] & ~other[w])) w++;
        if (w == words && (found += one.rows) >= k) return false;
    }
    return true;
}

bool Patterns::enough(size_t a, const Need& need) {
    const u64* mine = &side[a * words];
    i64 found = 0;
    join.assign(seen_words, 0);
    for (size_t b = 0; b < shares.size(); b++) {
        const u64* other = &side[b * words];
        size_t w = 0;
        while (w < words && !(mine[w] & ~other[w])) w++;
        if (w < words) continue;
        found += shares[b].rows;
        if (need.diversity > 1) {
            for (size_t v = 0; v < seen_words; v++) join[v] |= seen[b * seen_words + v];
            if (distinct(join.data()) < size_t(need.diversity)) continue;
        }
        if (found >= need.k) return true;
    }
    return false;
}

// With rows left out the old groups are no longer known to be large enough: all is counted anew.
// An item that only left-out rows hold would use them up for nothing.
bool Patterns::suppressed_keeps(bool both) {
    if (rule.equal) return alone_keeps();
    room(many, 2);
    std::vector<u64> sides;
    std::vector<i64> counts;
    std::vector<u8> holds;
    for (size_t p = 0; p < many; p++) {
        for (bool held : {true, false}) {
            if (!(held ? part[p] : size[p] - part[p])) continue;
            sides.insert(sides.end(), mask(p), mask(p) + words);
            const size_t bit = held ? bits : bits + 1;
            if (held || both) sides[sides.size() - words + bit / 64] |= u64(1) << bit % 64;
            holds.push_back(held);
            counts.resize(counts.size() + rule.classes);
            i64* mine = &counts[counts.size() - rule.classes];
            for (size_t c = 0; c < rule.codes; c++) mine[c % rule.classes] += rows_of(p, c, held);
        }
    }
    const size_t found = holds.size();
    std::vector<u8> stays(counts.size());
    const Bits table{sides.data(), found, words, counts.data(), rule.classes};
    if (peel(table, rule, stays.data()) > rule.suppress) return false;
    bool seen = touched.empty();
    for (size_t a = 0; a < stays.size(); a++)
        seen |= holds[a / rule.classes] && stays[a] && counts[a];
    return seen;
}

// Pairs with one row inside and one outside, less those of one class.
i64 Patterns::told_apart() const {
    i64 pairs = 0;
    for (size_t p : touched) {
        i64 in = 0, out = 0, same = 0;
        for (size_t c = 0; c < rule.classes; c++) {
            const i64 with = rows_of(p, c, true), without = rows_of(p, c, false);
            in += with;
            out += without;
            same += with * without;
        }
        pairs += in * out - same;
    }
    return pairs;
}

i64 Patterns::errors(size_t p, bool held) const {
    i64 all = 0, most = 0;
    for (size_t c = 0; c < rule.classes; c++) {
        const i64 rows = rows_of(p, c, held);
        all += rows;
        most = std::max(most, rows);
    }
    return (held ? part[p] : size[p] - part[p]) < rule.k ? all : all - most;
}

i64 Patterns::more_errors() const {
    i64 more = 0;
    for (size_t p : touched) {
        i64 all = 0, most = 0;
        for (size_t c = 0; c < rule.classes; c++) {
            const i64 rows = whole[p << shift | c];
            all += rows;
            most = std::max(most, rows);
        }
        more += errors(p, true) + errors(p, false) - (size[p] < rule.k ? all : all - most);
    }
    return more;
}

}  // namespace privsieve::pattern
