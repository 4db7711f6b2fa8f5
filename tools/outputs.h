#pragma once
// What a command may write to. Whoever names a file as output that is also an input, or part of a model, has mistaken one for
// the other: nothing is replaced then.

#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>

#include "models/model_folder.h"

namespace minigpt::tools {

// Throws Error unless `out` (given as --out) can be made or replaced: its folder is there and can be written; it is no folder,
// device or pipe, none of the inputs (paths, "" for none) and no file of a model.
void check_output_file(std::string_view op, const std::string& out,
                       std::initializer_list<std::string> inputs);

// Throws Error unless the folder is there and can be written, or can be made. What only trying shows (a full disk, a read-only
// one) is found by check_writable_directory() once the work begins.
void check_output_folder(const std::filesystem::path& folder);

// Throws Error if a new run in `folder` would replace something that nobody said it may: a model (unless `overwrite`), one of the
// inputs (paths, "" for none), or a file that no run wrote. Returns a remark, "" if there is none.
std::string check_room(const ModelFolder& folder, bool overwrite, const std::vector<std::string>& inputs);

}  // namespace minigpt::tools
