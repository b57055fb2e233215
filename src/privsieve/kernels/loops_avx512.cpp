#define LOOPS loops_avx512
#define LOOPS_NAME "avx512"
#include "loops_body.h"
