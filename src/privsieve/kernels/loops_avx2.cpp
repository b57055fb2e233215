#define LOOPS loops_avx2
#define LOOPS_NAME "avx2"
#include "loops_body.h"
