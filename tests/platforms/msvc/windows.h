/* See stdlib.h beside this. */
#ifndef STAND_IN_WINDOWS_H
#define STAND_IN_WINDOWS_H
unsigned long long GetTickCount64(void);
#endif
