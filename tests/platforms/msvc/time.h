/* See stdlib.h beside this. */
#ifndef STAND_IN_TIME_H
#define STAND_IN_TIME_H
typedef long long time_t;
#endif
