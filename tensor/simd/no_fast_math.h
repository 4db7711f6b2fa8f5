#pragma once
// Refuses to compile with fast-math flags, also those that came in through CXXFLAGS.
//
// They let the compiler assume that NaN and infinity do not exist. Then the masks of attention (-inf), the test that
// stops a run at the first NaN, and log-softmax of large scores would all be quietly wrong; and sums would be reordered
// at the compiler's pleasure, so that results would differ from build to build.

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "minigpt needs IEEE arithmetic: remove -ffast-math, -Ofast, -funsafe-math-optimizations and the like"
#endif
