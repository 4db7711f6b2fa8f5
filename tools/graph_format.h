#pragma once
// A graph (autograd/graph.h) as a table, as DOT for Graphviz, and as JSON.

#include <nlohmann/json.hpp>
#include <string>

#include "autograd/graph.h"

namespace minigpt::tools {

// One line per operation or module, leaves last: shape, bytes kept for backward, times, gradient norm. What was not measured
// is "-".
std::string graph_table(const Graph& graph);

// A digraph that Graphviz accepts. Operations are boxes inside a box per module, leaves are ellipses; edges carry the norm of
// the gradient where it is known, and are wider the larger it is.
std::string graph_dot(const Graph& graph);

// {"kept_bytes", "nodes": [...], "edges": [...]}
//   node: id (its place in the list), kind ("leaf", "operation"), module, op, name, shape, dtype, sequence, saved_bytes,
//         kept_bytes, forward_seconds, backward_seconds, grad_norm
//   edge: from, to (ids), input (which one of `to`), shape, grad_norm
// In a folded graph an operation is a module, and op the list "a, b" of its operations. What was not measured is null; a norm
// that is not finite is the string "nan" or "inf".
nlohmann::ordered_json graph_json(const Graph& graph);

}  // namespace minigpt::tools
