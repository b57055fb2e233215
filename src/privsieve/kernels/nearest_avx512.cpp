#define LOOPS near_avx512
#define LOOPS_NAME "avx512"
#include "nearest_body.h"
