# Every public header compiles alone: a library of files with one line each, which nothing links.
#
# The files lie in the build folder; each is written only if it is new, so that nothing is compiled twice.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/tensor/*.h ${PROJECT_SOURCE_DIR}/autograd/*.h ${PROJECT_SOURCE_DIR}/nn/*.h
     ${PROJECT_SOURCE_DIR}/models/*.h)
# Those are for the files that are compiled once per instruction set.
list(FILTER headers EXCLUDE REGEX "^tensor/(simd|kernels)/")
set(header_sources)
foreach(header ${headers})
  set(file ${CMAKE_CURRENT_BINARY_DIR}/headers/${header}.cpp)
  file(CONFIGURE OUTPUT ${file} CONTENT "#include \"${header}\"\n")
  list(APPEND header_sources ${file})
endforeach()
add_library(minigpt_headers OBJECT ${header_sources})
target_link_libraries(minigpt_headers PRIVATE minigpt minigpt_flags)
# Only the front end matters; and without optimisation the C library's checks do not work, and warn.
target_compile_options(minigpt_headers PRIVATE -O0 -g0)
set_source_files_properties(${header_sources} PROPERTIES COMPILE_OPTIONS -U_FORTIFY_SOURCE)
