#include "tools/rehearsal.h"

namespace minigpt::tools {
namespace {

int alive = 0;

}  // namespace

Rehearsal::Rehearsal() { ++alive; }
Rehearsal::~Rehearsal() { --alive; }

void work_begins() {
  if (alive > 0) throw RehearsalOver();
}

}  // namespace minigpt::tools
