/* See stdlib.h beside this. The compiler's own headers ask for it. */
#ifndef STAND_IN_SETJMP_H
#define STAND_IN_SETJMP_H
typedef long long jmp_buf[32];
#endif
