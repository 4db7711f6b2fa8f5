# Flags of a build for libFuzzer (tests/fuzz, tools/checks/fuzz.sh).
if(NOT MINIGPT_FUZZ)
  return()
endif()
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "MINIGPT_FUZZ needs Clang and its libFuzzer: -DCMAKE_CXX_COMPILER=clang++")
endif()
if(MINIGPT_HARDEN OR MINIGPT_SANITIZE)
  message(FATAL_ERROR "MINIGPT_FUZZ brings its own sanitizers: -DMINIGPT_HARDEN=OFF -DMINIGPT_SANITIZE=")
endif()
# All but the kernels, which see nothing that was not checked: without them a build is three times as fast. The sanitizer builds
# and the guard pages of tests/tensor/kernels look after those.
set(not_a_kernel $<NOT:$<BOOL:$<TARGET_PROPERTY:MINIGPT_KERNEL>>>)
target_compile_options(minigpt_flags INTERFACE
  "$<${not_a_kernel}:-fsanitize=fuzzer-no-link,address,undefined,float-cast-overflow;-fno-sanitize-recover=all;-fno-omit-frame-pointer;-O2;-g1>")
target_compile_definitions(minigpt_flags INTERFACE $<${not_a_kernel}:_GLIBCXX_ASSERTIONS>)
target_link_options(minigpt_flags INTERFACE -fsanitize=address,undefined)
