#define LOOPS loops_base
#define LOOPS_NAME "base"
#include "loops_body.h"
