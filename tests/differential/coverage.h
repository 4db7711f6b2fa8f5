#pragma once
// Is every operation of the library in the generator's table?

#include <string>
#include <vector>

namespace minigpt::differential {

// A sentence for each header of autograd/ops/, and each function in one, that the table has no entry for, and for each
// entry that names a header or a function that is not there.
std::vector<std::string> operations_without_entry(const std::string& root);

}  // namespace minigpt::differential
