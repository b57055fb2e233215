#define LOOPS near_avx2
#define LOOPS_NAME "avx2"
#include "nearest_body.h"
