// How many |a - b| of float32 one core adds up in a CPU second: all numbers stay in registers or
// in the first cache, and so many sums are kept that none waits for the one before.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>

#if defined(__AVX512F__)
constexpr int WIDTH = 64, SUMS = 12;
#elif defined(__AVX2__)
constexpr int WIDTH = 32, SUMS = 6;
#else
constexpr int WIDTH = 16, SUMS = 6;
#endif
typedef float Floats __attribute__((vector_size(WIDTH)));
typedef std::int32_t Ints __attribute__((vector_size(WIDTH)));
constexpr int NUMBERS = 1024, PER = WIDTH / 4;

int main() {
    static float numbers[NUMBERS];
    for (int i = 0; i < NUMBERS; i++) numbers[i] = float(i % 97);
    Floats sum[SUMS] = {}, one[SUMS];
    for (int k = 0; k < SUMS; k++) one[k] = float(k) - Floats{};
    long long done = 0;
    const std::clock_t start = std::clock();
    do {
        for (int again = 0; again < 1000; again++) {
            for (int i = 0; i < NUMBERS; i += PER) {
                Floats next;
                std::memcpy(&next, numbers + i, sizeof next);
                for (int k = 0; k < SUMS; k++) sum[k] += Floats(Ints(next - one[k]) & 0x7FFFFFFF);
            }
            for (int k = 0; k < SUMS; k++) asm volatile("" : "+m"(sum[k]), "+m"(one[k]));
        }
        done += 1000LL * NUMBERS * SUMS;
    } while (std::clock() - start < CLOCKS_PER_SEC / 2);
    std::printf("%g\n", double(done) * CLOCKS_PER_SEC / double(std::clock() - start));
}
