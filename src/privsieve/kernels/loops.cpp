#include "loops.h"

namespace privsieve {

int runnable(const Loops* found[3]) {
    int many = 0;
#ifdef PRIVSIEVE_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512vpopcntdq") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        found[many++] = &loops_avx512;
    if (__builtin_cpu_supports("avx2")) found[many++] = &loops_avx2;
#endif
    found[many++] = &loops_base;
    return many;
}

const Loops& best_loops() {
    static const Loops* const best = [] {
        const Loops* found[3];
        runnable(found);
        return found[0];
    }();
    return *best;
}

}  // namespace privsieve
