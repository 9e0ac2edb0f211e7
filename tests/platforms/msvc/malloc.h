/* See stdlib.h beside this. The compiler's own headers ask for it. */
