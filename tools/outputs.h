#pragma once
// What a command may write to. Whoever names a file as output that is also an input, or part of a model, has mistaken one for
// the other: nothing is replaced then.

#include <initializer_list>
#include <string>
#include <vector>

#include "models/model_folder.h"

namespace minigpt::tools {

// Throws Error unless `out` (given as --out) can be made or replaced: its folder is there and can be written; it is no folder,
// device or pipe, none of the inputs (paths, "" for none) and no file of a model.
void check_output_file(std::string_view op, const std::string& out,
                       std::initializer_list<std::string> inputs);

// What of a new run's folder concerns others than the run.
struct RoomRequest {
  std::string out;                  // as given, for messages
  bool overwrite = false;           // an older model there may be replaced
  std::vector<std::string> inputs;  // files that the run reads, "" for none
};

// Throws Error if a new run in `folder` would replace something that nobody said it may: a model (unless `overwrite`), an input,
// or a file that no run wrote. Returns a remark, "" if there is none.
std::string check_room(const ModelFolder& folder, const RoomRequest& request);

}  // namespace minigpt::tools
