#pragma once
// One process per library, so that their thread pools cannot disturb each other. The processes that are not being timed
// are stopped (SIGSTOP), spinning threads and all.

#include <sys/types.h>

#include <optional>
#include <string>

#include "tools/bench/contender.h"

namespace minigpt::tools {

// The child: loads the library, says so on standard output, then answers requests from standard input, a line each,
// until that ends. See worker.cpp for the lines.
[[noreturn]] void serve_benchmark(const std::string& name, const std::string& path, int threads);

// The parent's end of it.
class Worker {
 public:
  // Starts this program again to serve the library at `path` with so many threads.
  Worker(const std::string& name, const std::string& path, int threads);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  bool ready() const { return child_ > 0; }
  const std::string& name() const { return name_; }
  const std::string& file() const { return file_; }  // that was loaded, without links; "" for minigpt
  const std::string& version() const { return version_; }

  // See seconds_per_call; none if the library cannot, or has crashed.
  std::optional<double> seconds(const std::string& way, const Product& product, double slice, bool fastest);
  // See measure_peak.
  std::optional<double> peak(const std::string& dtype, double slice, bool fastest);

 private:
  bool read_line(std::string& line);
  std::optional<double> ask(const std::string& request);
  void end();

  std::string name_, file_, version_;
  pid_t child_ = -1;
  int in_ = -1, out_ = -1;  // to and from the child
  std::string buffer_;
};

}  // namespace minigpt::tools
