#define LOOPS cut_avx512
#define LOOPS_NAME "avx512"
#include "cuts_body.h"
