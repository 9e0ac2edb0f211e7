/* Everything up to target_end.h is compiled for the instructions that ST_TARGET names. Microsoft's compiler is told so for a
 * whole file, by its name (setup.py). */
#define ST_PRAGMA_(...) _Pragma(#__VA_ARGS__)
#define ST_PRAGMA(...) ST_PRAGMA_(__VA_ARGS__)
#if defined(__clang__)
ST_PRAGMA(clang attribute push(__attribute__((target(ST_TARGET))), apply_to = function))
#elif defined(__GNUC__)
ST_PRAGMA(GCC push_options)
ST_PRAGMA(GCC target(ST_TARGET))
#endif
