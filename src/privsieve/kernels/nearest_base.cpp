#define LOOPS near_base
#define LOOPS_NAME "base"
#include "nearest_body.h"
