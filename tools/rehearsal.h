#pragma once
// A rehearsal of a command: it reads its arguments and files and refuses what is wrong with them, and ends where the work
// would begin. `minigpt COMMAND ... --dry-run` asks for one.

namespace minigpt::tools {

// While one is alive, commands of this process are only rehearsed.
class Rehearsal {
 public:
  Rehearsal();
  ~Rehearsal();
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;
};

// What work_begins() throws: not an error, but the end of a command that found nothing wrong.
struct RehearsalOver {};

// Every command calls it once all arguments and files were read and found good, before it computes, prints or writes
// anything. In a rehearsal it throws RehearsalOver, otherwise it does nothing.
void work_begins();

}  // namespace minigpt::tools
