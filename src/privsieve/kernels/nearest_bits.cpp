// Copies of rows of 0 and 1 that tell the columns that differ: packed bits, or lists of ones.
#include "nearest.h"
#include "loops.h"

namespace privsieve {
namespace {

constexpr size_t EIGHT = 8;    // a row has whole vectors of words
constexpr double LISTED = 0.5;  // products of words that take the time of one step along a list

struct AsBits : Copies {
    const Loops& loops = best_loops();
    const size_t words;
    std::vector<u64> bits;
    std::vector<i64> ones;
    bool taken = true;

    AsBits(const Search& search, const ByClass& sorted)
        : Copies(search, sorted), words((search.rows.columns + 511) / 512 * EIGHT),
          bits(panels * PANEL * words), ones(panels * PANEL) {
        for (size_t s = 0; s < search.rows.rows; s++) {
            taken &= search.loops->ones(this->Copies::at(s), search.rows.columns, &bits[s * words]);
            ones[s] = loops.count_and(at(s), at(s), words);
        }
    }

    const u64* at(size_t place) const { return bits.data() + place * words; }

    void lines(size_t group, float* far) const override {
        const size_t first = group * ASKED;
        for (size_t k = 0; k < stride(); k++) {
            i64 both[ASKED] = {};
            loops.count_and_many(at(k), at(first), words, ASKED, words, both);
            for (size_t q = 0; q < ASKED; q++)
                far[q * stride() + k] = float(ones[first + q] + ones[k] - 2 * both[q]);
        }
    }

    // A count is a count in any order.
    double apart(size_t s, size_t k) const override {
        return double(loops.count_xor(at(s), at(k), words));
    }
    double exactly(size_t s, size_t k) const override { return apart(s, k); }
};

// For each column the places that have a one: what rows share is counted along the lists.
struct AsLists : AsBits {
    std::vector<std::vector<std::int32_t>> holders;
    double steps = 0;  // to make all lines

    explicit AsLists(AsBits&& packed) : AsBits(std::move(packed)), holders(search.rows.columns) {
        for (size_t s = 0; s < search.rows.rows; s++)
            each(s, [&](size_t j) { holders[j].push_back(std::int32_t(s)); });
    }

    template <class Do> void each(size_t s, Do act) const {
        for (size_t w = 0; w < words; w++)
            for (u64 left = at(s)[w]; left; left &= left - 1)
                act(w * 64 + size_t(__builtin_ctzll(left)));
    }

    void lines(size_t group, float* far) const override {
        for (size_t s = group * ASKED; s < (group + 1) * ASKED; s++, far += stride()) {
            for (size_t k = 0; k < stride(); k++) far[k] = float(ones[s] + ones[k]);
            each(s, [&](size_t j) {
                for (const std::int32_t k : holders[j]) far[k] -= 2;
            });
        }
    }
};

}  // namespace

std::unique_ptr<Copies> as_bits(const Search& search, const ByClass& sorted) {
    AsBits packed(search, sorted);
    if (!packed.taken) return nullptr;
    const bool lists = search.filter == Filter::floats;
    if (lists) return std::make_unique<AsLists>(std::move(packed));
    return std::make_unique<AsBits>(std::move(packed));
}

}  // namespace privsieve
