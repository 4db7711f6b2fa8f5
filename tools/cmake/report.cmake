# The page of `minigpt inspect`: bundled by esbuild from tools/report and its packages, and put into the command. Without npm the
# command is complete but for `inspect --out`.
set(MINIGPT_HAS_REPORT OFF)
if(NOT MINIGPT_REPORT STREQUAL "OFF")
  set(report_dir ${PROJECT_SOURCE_DIR}/tools/report)
  set(report_work ${CMAKE_CURRENT_BINARY_DIR}/report)
  find_program(MINIGPT_NPM npm)
  find_program(MINIGPT_NODE node)
  mark_as_advanced(MINIGPT_NPM MINIGPT_NODE)
  set(report_reason "no npm was found")
  if(MINIGPT_NPM AND MINIGPT_NODE)
    # The packages of the lock file, fetched once; they never land in the source tree.
    file(MAKE_DIRECTORY ${report_work})
    file(SHA256 ${report_dir}/package-lock.json report_lock)
    set(report_stamp "")
    if(EXISTS ${report_work}/installed)
      file(READ ${report_work}/installed report_stamp)
    endif()
    if(report_stamp STREQUAL report_lock)
      set(MINIGPT_HAS_REPORT ON)
    else()
      file(COPY ${report_dir}/package.json ${report_dir}/package-lock.json DESTINATION ${report_work})
      execute_process(COMMAND ${MINIGPT_NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-timeout=30000
                      WORKING_DIRECTORY ${report_work} TIMEOUT 180 RESULT_VARIABLE report_result
                      OUTPUT_QUIET ERROR_QUIET)
      if(report_result EQUAL 0)
        file(WRITE ${report_work}/installed ${report_lock})
        set(MINIGPT_HAS_REPORT ON)
      endif()
      set(report_reason "`npm ci` could not fetch its packages")
    endif()
  endif()
  if(MINIGPT_HAS_REPORT)
    set(report_page ${report_work}/page.html)
    file(GLOB report_sources CONFIGURE_DEPENDS ${report_dir}/src/* ${report_dir}/licences/*)
    add_custom_command(
      OUTPUT ${report_page}
      COMMAND ${MINIGPT_NODE} ${report_dir}/build.mjs ${report_work}/node_modules ${report_page}
      DEPENDS ${report_sources} ${report_dir}/build.mjs ${report_work}/installed
      COMMENT "Bundling the page of minigpt inspect")
    set_source_files_properties(tools/report/page.S PROPERTIES OBJECT_DEPENDS ${report_page} COMPILE_DEFINITIONS
                                "MINIGPT_REPORT_PAGE=\"${report_page}\"")
    set_source_files_properties(tools/report/page.cpp PROPERTIES COMPILE_DEFINITIONS MINIGPT_HAS_REPORT)
    target_sources(minigpt_cli PRIVATE tools/report/page.S)
  elseif(MINIGPT_REPORT STREQUAL "ON")
    message(FATAL_ERROR "MINIGPT_REPORT=ON, but ${report_reason}")
  else()
    message(STATUS "minigpt inspect writes JSON only: ${report_reason} (MINIGPT_REPORT=AUTO)")
  endif()
endif()
