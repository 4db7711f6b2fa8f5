// The lesson that draws the whole model from its recorded graph.

#include <filesystem>

#include "tests/tools/lesson_testing.h"
#include "tests/tools/run_command.h"

namespace minigpt::test {
namespace {

TEST_CASE(
    "S28: lesson whole-flow draws the model and one block from the recorded graph, with shapes, in order") {
  check_lesson_shows("whole-flow",
                     {"(1, 12, 16)", "(1, 12, 48)", "(1, 2, 12, 8)", "(1, 2, 12, 12)", "(1, 12, 64)"});
  const std::string page = lesson_page("whole-flow");
  std::size_t at = 0;
  for (const char* part :
       {"transformer.wte", "transformer.wpe", "embedding + position", "first block", "second block",
        "lm_head", "attn.c_attn", "attn.q", "attn.scores", "attn.weights", "attn.heads", "attn.c_proj",
        "mlp.c_fc", "mlp.act", "mlp.c_proj", "cross_entropy", "transformer.h.1.attn causal_attention"}) {
    const std::size_t found = page.find(part, at);
    CHECK_MESSAGE(found != page.npos, part);
    if (found != page.npos) at = found;
  }
  CHECK(contains(page, "◀"));  // what goes past a branch is drawn
  CHECK(contains(lesson_page("whole-flow", true), "注意力权重：每行之和为 1"));
  CHECK_NOTHROW(lesson_page("whole-flow", false, 5));
}

TEST_CASE("S28: lesson whole-flow writes two figures") {
  const TemporaryFolder folder;
  std::string text;
  lessons::PageOptions options;
  options.capture = &text;
  options.figures = folder.path().string();
  lessons::Page page(options);
  lessons::find_lesson("whole-flow").run(page);
  CHECK(std::filesystem::exists(folder.path() / "whole-flow.svg"));
  CHECK(std::filesystem::exists(folder.path() / "whole-flow-block.svg"));
}

}  // namespace
}  // namespace minigpt::test
