/* portable.h - lets a header serve the C compiler, a C++ compiler and NVRTC alike.
 *
 * ST_INLINE        a function defined in a header
 * ST_FORCE_INLINE  one that must be inlined, because a constant argument selects which of its code remains. With
 *                  ST_COMPILER_INLINES the compiler chooses: the code is slow, and some files compile in a fifteenth of the time. Not
 *                  on ARM, some of whose instructions ask for constants
 * ST_TABLE         a constant table defined in a header
 * ST_ALIGNED_64    behind it: at a multiple of 64 bytes, so that no load of 64 bytes at one spans two cache lines
 * ST_SWAR          1 where eight bytes can be loaded into one integer from any address (load.h)
 *
 * The fixed-width types come from here too: NVRTC has no standard headers. So do the intrinsics of Microsoft's compiler. */
#ifndef ST_BASE_PORTABLE_H
#define ST_BASE_PORTABLE_H

#ifdef __CUDACC_RTC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef long long int64_t;
#define UINT32_MAX 0xFFFFFFFFu
#define UINT64_MAX 0xFFFFFFFFFFFFFFFFull
#define UINT64_C(digits) digits##ull
#else
#include <stddef.h>
#include <stdint.h>
#if defined(_MSC_VER) && !defined(__CUDACC__)
#include <intrin.h>
#endif
#endif

#if defined(__CUDACC__)
#define ST_INLINE static __device__ inline
#define ST_FORCE_INLINE static __device__ __forceinline__
#define ST_TABLE static __device__ const
#elif defined(__GNUC__) && (!defined(ST_COMPILER_INLINES) || defined(__aarch64__))
#define ST_INLINE static inline
#define ST_FORCE_INLINE static inline __attribute__((always_inline))
#define ST_TABLE static const
#elif defined(_MSC_VER)
#define ST_INLINE static inline
#define ST_FORCE_INLINE static __forceinline
#define ST_TABLE static const
#else
#define ST_INLINE static inline
#define ST_FORCE_INLINE static inline
#define ST_TABLE static const
#endif

/* Of a function whose frame its callers are not to have. */
#if defined(__GNUC__)
#define ST_NOT_INLINE __attribute__((noinline))
#elif defined(_MSC_VER)
#define ST_NOT_INLINE __declspec(noinline)
#else
#define ST_NOT_INLINE
#endif

#if defined(__GNUC__) && !defined(__CUDACC__)
#define ST_ALIGNED_64 __attribute__((aligned(64)))
#elif defined(_MSC_VER) && !defined(__CUDACC__)
#define ST_ALIGNED_64 __declspec(align(64))
#else
#define ST_ALIGNED_64
#endif

/* No token, where the index of one is expected. */
#define ST_NONE UINT32_MAX

/* A GPU thread may load a number only from a multiple of its size, so the kernels keep the loops over bytes. */
#if defined(__CUDACC__)
#define ST_SWAR 0
#else
#define ST_SWAR 1
#endif

#endif
