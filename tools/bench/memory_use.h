#pragma once
// How much memory the process has in use.

#include <cstdint>

namespace minigpt::tools {

// Bytes that the process has in memory now, and the most it ever had (0 where the system does not tell).
std::int64_t resident_bytes();
std::int64_t peak_resident_bytes();

}  // namespace minigpt::tools
