#pragma once
// One checkpoint with every file that a run can write, to be damaged again and again.

#include <map>
#include <string>
#include <vector>

#include "tests/crash/crash_testing.h"

namespace minigpt::test {

class DamageBench {
 public:
  static constexpr std::int64_t kSteps = 10, kGoOnTo = 12;

  DamageBench();

  // The files of the folder "m", by their names in it.
  const std::vector<std::string>& files() const { return files_; }
  std::string content(const std::string& file) const { return whole_.at(file); }

  // Puts `damaged` in the place of a file and runs info, sample and train --resume. Each must refuse in one line that names the
  // file (or one that it contradicts, `also`), or do what it does with the good file; a resumed run must then say what is wrong
  // with it, unless it is the same to every reader.
  void try_content(const std::string& file, const std::string& damaged, const std::string& also = "");

  // The same without the file.
  void try_without(const std::string& file);

  struct Counts {
    int tried = 0, refused = 0, recovered = 0, harmless = 0;
  };
  Counts counts;

 private:
  void restore();
  void try_now(const std::string& file, const std::string& also, bool same);

  NamesDesk desk_;
  std::vector<std::string> files_;
  std::map<std::string, std::string> whole_;
  std::string info_, sample_, weights_;
};

}  // namespace minigpt::test
