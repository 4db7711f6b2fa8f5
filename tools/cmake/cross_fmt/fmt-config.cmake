# fmt for a cross build, from its headers alone: the library that is installed belongs to another processor.
#
# FMT_HEADER_ONLY in every file would double the time to compile it. Instead one file compiles the whole of fmt, keeping
# each function whether it is used or not, and its object stands in for the library.
if(NOT TARGET fmt::fmt)
  find_path(MINIGPT_FMT_INCLUDE fmt/format.h REQUIRED)
  set(object ${CMAKE_BINARY_DIR}/fmt.o)
  if(NOT EXISTS ${object})
    file(WRITE ${CMAKE_BINARY_DIR}/fmt.cpp "#define FMT_HEADER_ONLY\n#include <fmt/format.h>\n")
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${CMAKE_CXX_FLAGS} -std=c++20 -O1 -fPIC -fkeep-inline-functions
                            -c ${CMAKE_BINARY_DIR}/fmt.cpp -o ${object}
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
  add_library(fmt::fmt INTERFACE IMPORTED)
  target_link_libraries(fmt::fmt INTERFACE ${object})
endif()
