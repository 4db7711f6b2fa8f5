#include "tools/graph_format.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace minigpt::tools {
namespace {

// "-" where there is no number.
std::string cell(double x, double unit, const char* format) {
  return std::isnan(x) ? "-" : fmt::format(fmt::runtime(format), x * unit);
}

std::string size_text(std::int64_t bytes) {
  if (bytes == 0) return "0";
  if (bytes < 1024) return fmt::format("{} B", bytes);
  if (bytes < 1024 * 1024) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / (1024 * 1024));
}

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "\"";
}

// The path of the box around a node, and all boxes around that, outermost first: "a", "a.b", "a.b.c".
std::vector<std::string> boxes(std::string_view path) {
  std::vector<std::string> all;
  for (std::size_t at = path.find('.'); at != path.npos; at = path.find('.', at + 1))
    all.emplace_back(path.substr(0, at));
  if (!path.empty()) all.emplace_back(path);
  return all;
}

// full: with the module's path, because no box around it tells.
std::string dot_node(const GraphNode& n, std::size_t id, bool full) {
  std::string label = dot_quoted(n.leaf ? n.label() : n.op);
  if (full && *n.module && *n.op) {
    std::string module = dot_quoted(n.module);
    module.pop_back();
    label = module + "\\n" + label.substr(1);
  }
  label.pop_back();
  label += fmt::format("\\n{}", n.shape.str());
  if (n.kept_bytes > 0) label += fmt::format("\\nkeeps {}", size_text(n.kept_bytes));
  if (!std::isnan(n.forward_seconds)) label += fmt::format("\\n{:.0f} us forward", n.forward_seconds * 1e6);
  if (!std::isnan(n.backward_seconds)) label += fmt::format(", {:.0f} us backward", n.backward_seconds * 1e6);
  return fmt::format("n{} [label={}\"{}];\n", id, label,
                     n.leaf ? ", shape=ellipse, style=filled, fillcolor=\"#eef3fb\"" : "");
}

// Line widths 1..5 for norms from 1e-4 and less to 1 and more.
double width_of(double norm) {
  if (!std::isfinite(norm) || norm <= 0) return 1;
  return std::clamp(5 + std::log10(norm), 1.0, 5.0);
}

nlohmann::ordered_json number(double x, bool measured) {
  if (std::isfinite(x)) return x;
  if (!measured) return nullptr;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

nlohmann::ordered_json shape_json(const Shape& shape) {
  return std::vector<std::int64_t>(shape.begin(), shape.end());
}

}  // namespace

std::string graph_table(const Graph& graph) {
  std::size_t width = 4;
  for (const GraphNode& n : graph.nodes) width = std::max(width, n.label().size());
  width = std::min<std::size_t>(width, 70);
  std::string out = fmt::format("{:<{}}  {:>18} {:>10} {:>11} {:>12} {:>10}\n", "node", width, "shape",
                                "keeps", "forward/us", "backward/us", "gradient");
  const auto row = [&](const GraphNode& n) {
    out += fmt::format("{:<{}}  {:>18} {:>10} {:>11} {:>12} {:>10}\n", n.label(), width, n.shape.str(),
                       size_text(n.kept_bytes), cell(n.forward_seconds, 1e6, "{:.1f}"),
                       cell(n.backward_seconds, 1e6, "{:.1f}"), cell(n.grad_norm, 1, "{:.3g}"));
  };
  for (const GraphNode& n : graph.nodes)
    if (!n.leaf) row(n);
  for (const GraphNode& n : graph.nodes)
    if (n.leaf) row(n);
  return out + fmt::format("{} nodes, {} edges; {} kept for the backward pass\n", graph.nodes.size(),
                           graph.edges.size(), size_text(graph.kept_bytes()));
}

std::string graph_dot(const Graph& graph) {
  // A box around one node alone would say nothing that the node does not.
  std::map<std::string, int> inside;
  for (const GraphNode& n : graph.nodes)
    for (const std::string& box : boxes(n.module)) ++inside[box];
  std::map<std::string, std::vector<std::size_t>> content;
  std::set<std::string> all_boxes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<std::string> around = boxes(graph.nodes[i].module);
    std::erase_if(around, [&](const std::string& box) { return inside.at(box) < 2; });
    content[around.empty() ? "" : around.back()].push_back(i);
    all_boxes.insert(around.begin(), around.end());
  }
  std::string out =
      "digraph minigpt {\n  rankdir=TB;\n  node [shape=box, fontname=\"Helvetica\", fontsize=11];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9];\n";
  const auto put_nodes = [&](const std::string& box, std::string_view margin) {
    for (const std::size_t i : content[box])
      out += fmt::format("{}{}", margin,
                         dot_node(graph.nodes[i], i, box.empty() || box != graph.nodes[i].module));
  };
  put_nodes("", "  ");
  // A set of paths in order is a walk of the tree of modules, parents first ('.' sorts before letters and digits).
  std::vector<std::string> open;
  const auto close_to = [&](const std::string& path) {
    while (!open.empty() && !path.starts_with(open.back() + ".")) {
      open.pop_back();
      out += std::string(2 * open.size() + 2, ' ') + "}\n";
    }
  };
  for (const std::string& box : all_boxes) {
    close_to(box);
    const std::string margin(2 * open.size() + 2, ' ');
    out += fmt::format("{}subgraph {} {{\n{}  label={};\n", margin, dot_quoted("cluster " + box), margin,
                       dot_quoted(box));
    open.push_back(box);
    put_nodes(box, margin + "  ");
  }
  close_to("");
  for (const GraphEdge& e : graph.edges) {
    out += fmt::format("  n{} -> n{}", e.from, e.to);
    if (!std::isnan(e.grad_norm))
      out += fmt::format(" [label=\"{:.2g}\", penwidth={:.1f}]", e.grad_norm, width_of(e.grad_norm));
    out += ";\n";
  }
  return out + "}\n";
}

nlohmann::ordered_json graph_json(const Graph& graph) {
  nlohmann::ordered_json out;
  out["kept_bytes"] = graph.kept_bytes();
  out["nodes"] = nlohmann::ordered_json::array();
  out["edges"] = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& n = graph.nodes[i];
    const bool ran = !std::isnan(n.backward_seconds);
    out["nodes"].push_back({{"id", i},
                            {"kind", n.leaf ? "leaf" : "operation"},
                            {"module", n.module},
                            {"op", n.op},
                            {"name", n.name},
                            {"shape", shape_json(n.shape)},
                            {"dtype", name_of(n.dtype)},
                            {"sequence", n.sequence},
                            {"saved_bytes", n.saved_bytes},
                            {"kept_bytes", n.kept_bytes},
                            {"forward_seconds", number(n.forward_seconds, false)},
                            {"backward_seconds", number(n.backward_seconds, false)},
                            {"grad_norm", number(n.grad_norm, ran)}});
  }
  for (const GraphEdge& e : graph.edges) {
    const bool ran = !std::isnan(graph.nodes[static_cast<std::size_t>(e.to)].backward_seconds);
    out["edges"].push_back({{"from", e.from},
                            {"to", e.to},
                            {"input", e.input},
                            {"shape", shape_json(e.shape)},
                            {"grad_norm", number(e.grad_norm, ran)}});
  }
  return out;
}

}  // namespace minigpt::tools
