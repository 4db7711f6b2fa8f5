# fmt from its headers alone, for aarch64.cmake: the library that is installed belongs to another processor.
if(NOT TARGET fmt::fmt)
  find_path(fmt_include fmt/format-inl.h REQUIRED)
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
