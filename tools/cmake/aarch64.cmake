# Toolchain for AArch64 on another Linux machine: Debian's cross compiler, and qemu-user to run what it builds.
#
#   cmake -B build/aarch64 -DCMAKE_TOOLCHAIN_FILE=tools/cmake/aarch64.cmake
#
# The cross compiler also searches /usr/include, so packages that are headers alone (doctest, nlohmann_json, CLI11)
# serve every processor. Of fmt, which has a library, the headers are used too: see cross_fmt.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-L;/usr/aarch64-linux-gnu")
set(fmt_DIR ${CMAKE_CURRENT_LIST_DIR}/cross_fmt)
