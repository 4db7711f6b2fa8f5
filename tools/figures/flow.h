#pragma once
// A flow from top to bottom: steps one under the other, what follows directly joined by a line, what is used again later
// carried along on rails at the side. For the terminal and as SVG.

#include <string>
#include <string_view>
#include <vector>

namespace minigpt::figures {

struct FlowStep {
  std::string label;   // "attn.weights"
  std::string detail;  // "(1, 2, 8, 8)", in a column of its own
  std::string note;    // what it does; may be empty
  int colour = -1;     // of its box in the SVG, a number for line_colour(); -1: grey
};

// The result of steps[from] is used by steps[to], from < to.
struct FlowEdge {
  int from = 0;
  int to = 0;
};

struct Flow {
  std::string title;
  std::vector<FlowStep> steps;
  std::vector<FlowEdge> edges;  // doubled ones are drawn once
};

// Lines of text:
//   embedding    (1, 8, 16)  one vector per character
//   |
//   block        (1, 8, 16)  --.
//   ...
// with box-drawing characters; a rail leaves a step at its right side and ends, with an arrow, at the last step that uses it.
// Throws Error if an edge does not go forward.
std::string flow_text(const Flow& flow);

// The same as a drawing: a box per step, coloured; rails are lines at the right.
std::string flow_svg(const Flow& flow);

namespace detail {

// The longer ways of a flow: from a step to all later ones that are not next, in a column that is free all the way.
struct Rail {
  int from = 0;
  std::vector<int> to;  // rising
  int column = 0;       // 0 is next to the steps
};
std::vector<Rail> rails_of(const Flow& flow);

}  // namespace detail
}  // namespace minigpt::figures
