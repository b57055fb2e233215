#define LOOPS cut_avx2
#define LOOPS_NAME "avx2"
#include "cuts_body.h"
