#pragma once
// The instruction set this file is being compiled for.
//
// The build compiles every kernel source once per set and passes MINIGPT_ISA=avx2 (the namespace),
// MINIGPT_ISA_NAME="avx2" and MINIGPT_ISA_avx2=1. Outside the kernels (a header compiled alone, an editor)
// the scalar definition stands in.

#if !defined(MINIGPT_ISA)
#define MINIGPT_ISA scalar
#define MINIGPT_ISA_NAME "scalar"
#define MINIGPT_ISA_scalar 1
#endif
