# A hardened build, for own targets: minigpt_flags is not given to users of the installed library.
if(NOT MINIGPT_HARDEN)
  return()
endif()
include(CheckCXXCompilerFlag)
include(CheckPIESupported)

# Programs lie at addresses that are drawn anew for every process.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
check_pie_supported(LANGUAGES CXX)

# Indices into standard containers are checked.
target_compile_definitions(minigpt_flags INTERFACE _GLIBCXX_ASSERTIONS)

# Functions of the C library check buffers of known size. That needs optimisation; the sanitizers have checks of their own.
if(NOT MINIGPT_SANITIZE)
  set(optimised_cxx "$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release,RelWithDebInfo,MinSizeRel>>")
  target_compile_options(minigpt_flags INTERFACE "$<${optimised_cxx}:-U_FORTIFY_SOURCE;-D_FORTIFY_SOURCE=2>")
endif()

# Return addresses that were overwritten, jumps to where none should lead, stacks that grow past their guard page.
foreach(flag -fstack-protector-strong -fcf-protection -fstack-clash-protection)
  string(MAKE_C_IDENTIFIER "MINIGPT_HAS${flag}" has)
  check_cxx_compiler_flag("-Werror ${flag}" ${has})
  if(${has})
    target_compile_options(minigpt_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${flag}>)
  endif()
endforeach()

# Tables of addresses are read-only once the program runs; the stack is not executable.
if(NOT APPLE)
  target_link_options(minigpt_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
