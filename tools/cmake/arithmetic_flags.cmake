# Refuses flags that let the compiler change arithmetic, where they come in through CXXFLAGS or the cache. The compiler refuses
# most of them by itself (tensor/simd/no_fast_math.h), but Clang sets no macro for some, and nobody does for -ffp-contract.
cmake_policy(SET CMP0057 NEW)  # IN_LIST, where this file is run by itself
set(forbidden -ffast-math -Ofast -funsafe-math-optimizations -fassociative-math -freciprocal-math -ffinite-math-only
    -fno-honor-nans -fno-honor-infinities -fno-signed-zeros -fapprox-func -ffp-model=fast -ffp-contract=fast)
foreach(variable CMAKE_CXX_FLAGS CMAKE_CXX_FLAGS_DEBUG CMAKE_CXX_FLAGS_RELEASE CMAKE_CXX_FLAGS_RELWITHDEBINFO
        CMAKE_CXX_FLAGS_MINSIZEREL CMAKE_EXE_LINKER_FLAGS CMAKE_SHARED_LINKER_FLAGS)
  string(REGEX MATCHALL "[^ ]+" flags "${${variable}}")
  foreach(flag ${flags})
    if(flag IN_LIST forbidden)
      message(FATAL_ERROR "minigpt needs IEEE arithmetic: remove ${flag} from ${variable}")
    endif()
  endforeach()
endforeach()
