#define LOOPS cut_base
#define LOOPS_NAME "base"
#include "cuts_body.h"
