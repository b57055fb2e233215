#include "covers.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace privsieve::exact {

static i64 ones(u64 z) {
    z -= z >> 1 & 0x5555555555555555u;
    z = (z & 0x3333333333333333u) + (z >> 2 & 0x3333333333333333u);
    return i64(((z + (z >> 4)) & 0x0F0F0F0F0F0F0F0Fu) * 0x0101010101010101u >> 56);
}

static void set(u64* words, size_t i) { words[i / 64] |= u64(1) << i % 64; }

Covers::Covers(const Items& items, const i64* weights, const Rule& rule_)
    : rule(rule_), pairs_only(weights == nullptr) {
    rule.suppress = std::min(rule.suppress, i64(items.rows) - 1);  // somebody stays
    rule.k = std::max<i64>(rule.k, 1);  // a group has the row whose it is
    collect(items, weights);
    shrink(items);
    lay_out();
}

// Equal columns break k together or not at all; so do a column and its complement if absences are
// known.  For pairs the second tells nothing more.
void Covers::collect(const Items& items, const i64* weights) {
    using Key = std::pair<bool, std::vector<i32>>;
    std::map<Key, size_t> seen;
    const auto rare = [&](i64 many) { return many > 0 && many < rule.k; };
    for (size_t j = 0; j < items.many; j++) {
        const i64 held = items.support(j), weight = weights ? weights[j] : 1;
        const bool absent = rule.equal || rule.absent[j];
        const bool broken = rare(held) || (absent && rare(i64(items.rows) - held));
        if (!weight || (broken && !rule.suppress)) continue;
        const i32* first = items.indices + items.indptr[j];
        Key key{absent, std::vector<i32>(first, first + held)};
        if (absent && held && *first == 0 && !rule.suppress) {
            std::vector<i32> rest;
            for (i32 i = 0, at = 0; i < i32(items.rows); i++) {
                if (at < held && first[at] == i) at++;
                else rest.push_back(i);
            }
            key.second.swap(rest);
        }
        const auto [place, fresh] = seen.emplace(std::move(key), columns.size());
        if (fresh) columns.push_back({0, absent, {first, first + held}, {}});
        Column& column = columns[place->second];
        if (fresh || !pairs_only) {
            column.weight += weight;
            column.items.push_back(i64(j));
        }
        if (!pairs_only) sum += weight;
    }
    std::stable_sort(columns.begin(), columns.end(), [&](const Column& a, const Column& b) {
        return !pairs_only && a.weight > b.weight;
    });
}

void Covers::shrink(const Items& items) {
    // Split the rows by class, where classes matter, and by each column: what stays together is equal.
    const bool classed = pairs_only || rule.diversity > 1 || rule.labelled;
    std::vector<u32> id(items.rows, 0), size(std::max<size_t>(rule.codes, 1), 0);
    for (size_t i = 0; i < items.rows; i++) size[id[i] = classed ? u32(items.label[i]) : 0]++;
    std::vector<u32> inside(size.size(), 0), target(size.size()), touched;
    for (const Column& column : columns) {
        for (const u32 i : column.rows) if (!inside[id[i]]++) touched.push_back(id[i]);
        for (const u32 p : touched) {
            target[p] = p;
            if (inside[p] < size[p]) {
                target[p] = u32(size.size());
                size.push_back(inside[p]);
                size[p] -= inside[p];
            }
            inside[p] = 0;
        }
        for (const u32 i : column.rows) id[i] = target[id[i]];
        touched.clear();
        inside.resize(size.size(), 0), target.resize(size.size());
    }
    std::vector<u32> order, place(size.size(), 0);
    for (size_t p = 0; p < size.size(); p++) if (size[p]) order.push_back(u32(p));
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) { return size[a] > size[b]; });
    rows = order.size();
    for (size_t r = 0; r < rows; r++) place[order[r]] = u32(r), count.push_back(size[order[r]]);
    label.assign(rows, 0);
    if (classed) for (size_t i = 0; i < items.rows; i++) label[place[id[i]]] = u32(items.label[i]);
    std::vector<u8> marked(rows);
    for (Column& column : columns) {
        std::fill(marked.begin(), marked.end(), 0);
        for (const u32 i : column.rows) marked[place[id[i]]] = 1;
        column.rows.clear();
        for (size_t r = 0; r < rows; r++) if (marked[r]) column.rows.push_back(u32(r));
    }
}

// Counts below k as planes of bits: a few words tell whether a set of rows has at least k.
void Covers::lay_out() {
    words = (rows + 63) / 64;
    bits.assign((columns.size() + 1) * words, 0);
    for (size_t x = 0; x < columns.size(); x++)
        for (const u32 r : columns[x].rows) set(bits.data() + x * words, r);
    large.assign(words, 0);
    depth.assign(words, 0);
    classes.assign(rule.classes * words, 0);
    for (size_t r = 0; r < rows; r++) {
        set(classes.data() + label[r] % rule.classes * words, r);
        if (count[r] >= rule.k) { set(large.data(), r); continue; }
        for (u8 b = 0; count[r] >> b; b++) {
            if (plane.size() < (b + 1) * words) plane.resize((b + 1) * words, 0);
            if (count[r] >> b & 1) set(plane.data() + b * words, r);
            depth[r / 64] = std::max(depth[r / 64], u8(b + 1));
        }
    }
    std::vector<i64> sizes(rule.classes, 0);
    for (size_t r = 0; r < rows; r++) if (label[r] < rule.classes) sizes[label[r]] += count[r];
    i64 before = 0;
    for (const i64 size : sizes) pairs += before * size, before += size;
}

template <bool INVERSE> bool Covers::diverse(const u64* cover, const u64* column) const {
    i64 found = 0;
    for (size_t c = 0; c < rule.classes && found < rule.diversity; c++)
        for (size_t a = 0; a < words; a++)
            if (cover[a] & (INVERSE ? ~column[a] : column[a]) & classes[c * words + a]) {
                found++;
                break;
            }
    return found >= rule.diversity;
}

// Table rows of those in a word: k where one of them stands for so many.
i64 Covers::at_word(u64 z, size_t a) const {
    if (z & large[a]) return rule.k;
    i64 many = 0;
    for (u8 b = 0; b < depth[a]; b++) many += ones(z & plane[b * words + a]) << b;
    return many;
}

// How many rows of a cover are in a column, or not in it.
template <bool INVERSE> Covers::Fill Covers::fill(const u64* cover, const u64* column) const {
    if (rule.labelled) return fill_classes<INVERSE>(cover, column);
    i64 many = 0;
    for (size_t a = 0; a < words; a++) {
        const u64 z = cover[a] & (INVERSE ? ~column[a] : column[a]);
        if (!z) continue;
        many += at_word(z, a);
        if (many < rule.k) continue;
        const bool enough = rule.diversity <= 1 || diverse<INVERSE>(cover, column);
        return enough ? Fill::enough : Fill::few;
    }
    return many ? Fill::few : Fill::none;
}

// The same where classes may be known: each class that is there has enough rows, or none is.
template <bool INVERSE> Covers::Fill Covers::fill_classes(const u64* cover, const u64* column) const {
    i64 found = 0;
    for (size_t c = 0; c < rule.classes; c++) {
        i64 many = 0;
        for (size_t a = 0; a < words && many < rule.k; a++) {
            const u64 z = cover[a] & (INVERSE ? ~column[a] : column[a]);
            many += at_word(z & classes[c * words + a], a);
        }
        if (many && many < rule.k) return Fill::few;
        found += many > 0;
    }
    return !found ? Fill::none : found < rule.diversity ? Fill::few : Fill::enough;
}

// Whether rows of this kind with this cover have a group that is large and diverse enough.
bool Covers::stays(const u64* cover, size_t kind) const {
    if (!rule.labelled) return fill<true>(cover, nothing()) == Fill::enough;
    i64 many = 0;
    for (size_t a = 0; a < words && many < rule.k; a++) {
        many += at_word(cover[a] & classes[kind * words + a], a);
    }
    return many >= rule.k && (rule.diversity <= 1 || diverse<true>(cover, nothing()));
}

bool Covers::root(State& s) const {
    s.cover.assign(words, 0);
    for (size_t r = 0; r < rows; r++) set(s.cover.data(), r);
    s.pattern.assign(rows, 0);
    s.size.assign(1, u32(rows));
    s.out.assign(kinds(), 0);
    tally(s);
    return rows && peel(s);
}

// A part of a cover that is too small is a group that is too small: its own rows are in it.  A
// column is wasted if all rows that hold it are left out.
bool Covers::keeps(const State& s, u32 x) const {
    const u64* column = bits.data() + x * words;
    const bool absent = columns[x].absent;
    bool held = columns[x].rows.empty();
    for (size_t p = 0; p < s.many(); p++) {
        const u64* cover = s.cover.data() + p * words;
        const Fill inside = fill<false>(cover, column);
        held |= inside != Fill::none;
        if (inside != Fill::few && !(absent && fill<true>(cover, column) == Fill::few)) continue;
        if (s.left_out >= rule.suppress) return false;
        State next;
        return add(s, x, next);
    }
    return held;
}

bool Covers::add(const State& s, u32 x, State& next) const {
    const u64* column = bits.data() + x * words;
    std::vector<u32> inside(s.many(), 0), first(s.many()), second(s.many());
    for (const u32 r : columns[x].rows) inside[s.pattern[r]]++;
    next.cover.clear(), next.size.clear(), next.out.clear();
    next.left_out = s.left_out;
    const auto part = [&](size_t p, u32 size, u64 flip, bool all) {
        const u64* cover = s.cover.data() + p * words;
        next.size.push_back(size);
        const auto mine = s.out.begin() + i64(p * kinds());
        next.out.insert(next.out.end(), mine, mine + i64(kinds()));
        for (size_t a = 0; a < words; a++)
            next.cover.push_back(all ? cover[a] : cover[a] & (column[a] ^ flip));
        return u32(next.size.size() - 1);
    };
    for (size_t p = 0; p < s.many(); p++) {
        if (inside[p] < s.size[p])
            first[p] = part(p, s.size[p] - inside[p], ~u64(0), !columns[x].absent);
        if (inside[p]) second[p] = part(p, inside[p], 0, false);
    }
    next.pattern.resize(rows);
    for (size_t r = 0; r < rows; r++) next.pattern[r] = first[s.pattern[r]];
    for (const u32 r : columns[x].rows) next.pattern[r] = second[s.pattern[r]];
    tally(next);
    next.columns = s.columns;
    next.columns.push_back(x);
    return !rule.suppress || (peel(next) && !wasted(next));
}

bool Covers::wasted(const State& s) const {
    if (!s.left_out) return false;
    for (const u32 x : s.columns) {
        const auto& held = columns[x].rows;
        const auto left = [&](u32 r) { return !s.out[out_at(s, r)]; };
        if (!held.empty() && std::none_of(held.begin(), held.end(), left)) return true;
    }
    return false;
}

void Covers::tally(State& s) const {
    if (!pairs_only) return;
    s.counts.assign(s.many() * rule.classes, 0);
    for (size_t r = 0; r < rows; r++)
        if (label[r] < rule.classes) s.counts[s.pattern[r] * rule.classes + label[r]] += count[r];
}

// Rows whose group is too small leave, again and again: what stays is the largest that keeps.
bool Covers::peel(State& s) const {
    std::vector<u64> stay(words);
    for (bool again = true; again;) {
        again = false;
        std::vector<u8> leaves(s.out.size(), 0);
        for (size_t o = 0; o < s.out.size(); o++)
            if (!s.out[o] && !stays(s.cover.data() + o / kinds() * words, o % kinds()))
                leaves[o] = s.out[o] = again = true;
        std::fill(stay.begin(), stay.end(), ~u64(0));
        for (size_t r = 0; again && r < rows; r++) {
            if (!leaves[out_at(s, u32(r))]) continue;
            s.left_out += count[r];
            stay[r / 64] &= ~(u64(1) << r % 64);
        }
        if (s.left_out > rule.suppress) return false;
        for (size_t i = 0; again && i < s.cover.size(); i++) s.cover[i] &= stay[i % words];
    }
    return true;
}

i64 Covers::gain(const State& s, u32 x) const {
    if (!pairs_only) return columns[x].weight;
    const size_t C = rule.classes;
    std::vector<i64> held(s.counts.size(), 0);
    for (const u32 r : columns[x].rows)
        if (label[r] < C) held[s.pattern[r] * C + label[r]] += count[r];
    i64 apart = 0;
    for (size_t p = 0; p < s.many(); p++) {
        const i64 *all = s.counts.data() + p * C, *in = held.data() + p * C;
        const i64 rest = std::accumulate(all, all + C, i64(0)) - std::accumulate(in, in + C, i64(0));
        for (size_t c = 0; c < C; c++) apart += in[c] * (rest - (all[c] - in[c]));
    }
    return apart;
}

}  // namespace privsieve::exact
