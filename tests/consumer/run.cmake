# Installs the built library into a folder of its own, builds the consumer project against it, and runs that.
#   cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCONFIG=... -DCOMPILER=... -DSANITIZE=... -P run.cmake
function(must)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}\nfailed (${result}):\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(flags "")
if(SANITIZE)
  set(flags -DCMAKE_CXX_FLAGS=-fsanitize=${SANITIZE})
endif()
must(${CMAKE_COMMAND} --install ${BUILD} --config ${CONFIG} --prefix ${WORK}/prefix)
# Every header that the library's users may include has come along.
foreach(header tensor/tensor.h autograd/ops.h autograd/ops/mul.h nn/module.h models/gpt.h)
  if(NOT EXISTS ${WORK}/prefix/include/minigpt/${header})
    message(FATAL_ERROR "${header} was not installed")
  endif()
endforeach()
must(${CMAKE_COMMAND} -G ${GENERATOR} -S ${SOURCE} -B ${WORK}/build -DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_BUILD_TYPE=${CONFIG}
     -DCMAKE_CXX_COMPILER=${COMPILER} ${flags})
must(${CMAKE_COMMAND} --build ${WORK}/build)
must(${WORK}/build/xor)
message("${output}")
# "0.01" or "-0.00" for 0, "1.02" or "0.99" for 1.
foreach(row "0 xor 0 = -?0\\.0" "0 xor 1 = (0\\.9|1\\.0)" "1 xor 0 = (0\\.9|1\\.0)" "1 xor 1 = -?0\\.0")
  if(NOT output MATCHES "${row}")
    message(FATAL_ERROR "the result does not match: ${row}")
  endif()
endforeach()
