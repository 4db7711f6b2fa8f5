#include <fmt/core.h>

#include <algorithm>

#include "models/packed_weights.h"
#include "tensor/views.h"
#include "tools/figures/heat_map.h"
#include "tools/figures/line_plot.h"
#include "tools/figures/svg.h"
#include "tools/report/page.h"

namespace minigpt::tools {
namespace {

// "0.123", "-" for null, text as it is; safe between tags.
std::string cell(const Json& value) {
  if (value.is_null()) return "-";
  if (value.is_string()) return figures::xml_escape(value.get<std::string>());
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  return figures::xml_escape(value.dump());
}

std::string table(const std::vector<std::string>& heads, const std::vector<std::vector<Json>>& rows) {
  std::string out = "<table><thead><tr>";
  for (const std::string& head : heads) out += "<th>" + figures::xml_escape(head) + "</th>";
  out += "</tr></thead><tbody>\n";
  for (const std::vector<Json>& row : rows) {
    out += "<tr>";
    for (const Json& value : row) out += "<td>" + cell(value) + "</td>";
    out += "</tr>\n";
  }
  return out + "</tbody></table>\n";
}

// The drawing alone: an XML declaration has no place in HTML.
std::string inline_svg(std::string svg) {
  const std::size_t start = svg.find("<svg");
  return start == svg.npos ? std::string() : svg.substr(start);
}

std::string training(const Json& data) {
  const Json& steps = data["training"]["steps"];
  std::string out = "<h2>Training</h2>\n";
  figures::LinePlot plot{"Loss, nats per character", "step", "loss", {}, {}, {}};
  figures::Series loss{"each step", {}, {}, false, false}, validation{"validation", {}, {}, true, false};
  for (std::size_t i = 0; i < steps["step"].size(); ++i) {
    if (!steps["loss"][i].is_number()) continue;
    loss.x.push_back(steps["step"][i].get<double>());
    loss.y.push_back(steps["loss"][i].get<double>());
  }
  std::vector<std::vector<Json>> rows;
  for (const Json& e : data["training"]["evaluations"]) {
    rows.push_back({e.value("step", Json()), e.value("train_loss", Json()), e.value("val_loss", Json())});
    if (!rows.back()[2].is_number() || !rows.back()[0].is_number()) continue;
    validation.x.push_back(rows.back()[0].get<double>());
    validation.y.push_back(rows.back()[2].get<double>());
  }
  for (const figures::Series* s : {&loss, &validation})
    if (!s->x.empty()) plot.series.push_back(*s);
  if (!plot.series.empty()) out += inline_svg(figures::line_plot_svg(plot));
  return out + table({"step", "training loss", "validation loss"}, rows);
}

std::string gradients(const Json& data) {
  std::string out = "<h2>Gradients of one batch</h2>\n<ul>";
  for (const Json& v : data["gradients"]["verdicts"])
    out += "<li>" + cell(v["where"]) + ": " + cell(v["text"]) + "</li>\n";
  std::vector<std::vector<Json>> rows;
  for (const Json& p : data["gradients"]["parameters"]) {
    const Json& g = p["grad"];
    std::vector<Json> row = {p["name"], p["shape"].dump()};
    for (const char* key : {"norm", "mean", "std", "min", "max", "zeros"})
      row.push_back(g.is_null() ? Json() : g[key]);
    row.push_back(p["weight"]["norm"]);
    row.push_back(p["ratio"]);
    rows.push_back(std::move(row));
  }
  return out + "</ul>\n" +
         table({"parameter", "shape", "norm", "mean", "std", "min", "max", "share of zeros", "weight norm",
                "ratio"},
               rows);
}

std::string graph(const Json& data) {
  std::vector<std::vector<Json>> rows;
  for (const Json& n : data["graph"]["nodes"])
    rows.push_back({n["id"], n["op"], n["module"], n["inputs"].dump(), n["shape"].dump(), n["saved_bytes"],
                    n["backward_ms"], n["grad_norm"]});
  return "<h2>Graph of one step</h2>\n" + table({"node", "operation", "module", "inputs", "shape",
                                                 "bytes saved", "backward ms", "gradient norm"},
                                                rows);
}

// The heads that look most definitely, as pictures: few and of a short text, since each cell is an element of the page.
std::string pictures(const Json& data) {
  constexpr std::size_t kHeads = 4;
  constexpr std::int64_t kLength = 24;
  std::vector<Json> heads(data["heads"].begin(), data["heads"].end());
  std::erase_if(heads, [](const Json& h) { return !h["entropy"].is_number(); });
  std::stable_sort(heads.begin(), heads.end(), [](const Json& a, const Json& b) {
    return a["entropy"].get<double>() < b["entropy"].get<double>();
  });
  heads.resize(std::min(heads.size(), kHeads));
  const auto T = data["attention"]["length"].get<std::int64_t>(), shown = std::min(T, kLength);
  std::string out;
  for (const Json& h : heads) {
    const auto layer = h["layer"].get<std::size_t>(), head = h["head"].get<std::size_t>();
    const std::vector<double> weights =
        unpack_causal(data["attention"]["layers"][layer][head].get<std::string>());
    figures::HeatMap map;
    map.title = fmt::format("head {}.{}: {}", layer, head, h["type"].get<std::string>());
    map.weights = slice(slice(Tensor::from<double>(weights, {T, T}), 0, 0, shown), 1, 0, shown);
    for (std::int64_t i = 0; i < shown; ++i)
      map.row_labels.push_back(data["text"]["characters"][static_cast<std::size_t>(i)].get<std::string>());
    map.column_labels = map.row_labels;
    out += inline_svg(figures::heat_map_svg(map));
  }
  return out;
}

std::string attention(const Json& data) {
  std::vector<std::vector<Json>> rows;
  for (const Json& h : data["heads"])
    rows.push_back({h["layer"], h["head"], h["type"], h["entropy"], h["distance"], h["loss_rise"]});
  return "<h2>Attention</h2>\n<p>What the heads look at, and the weights of the most definite ones on the "
         "first "
         "characters; all weights of all heads need scripts.</p>\n" +
         pictures(data) +
         table({"layer", "head", "type", "entropy", "mean distance", "loss rise without it"}, rows);
}

std::string predictions(const Json& data) {
  const Json &p = data["predictions"], &characters = data["text"]["characters"];
  std::vector<std::vector<Json>> rows;
  for (std::size_t i = 0; i < p["loss"].size(); ++i) {
    std::string top;
    for (const Json& c : p["top"][i])
      top += fmt::format("{}{} {:.3f}", top.empty() ? "" : ", ",
                         data["model"]["vocabulary"][c[0].get<std::size_t>()].get<std::string>(),
                         c[1].get<double>());
    rows.push_back({i + 1, characters[i + 1], p["loss"][i], top, p["saliency"][i]});
  }
  return "<h2>Predictions</h2>\n<p>Mean loss " + cell(p["mean_loss"]) + " nats per character.</p>\n" +
         table({"place", "character", "loss", "likeliest", "saliency of the character before"}, rows);
}

std::string cost(const Json& data) {
  const Json& c = data["cost"];
  std::vector<std::vector<Json>> rows;
  for (const Json& op : c["ops"])
    rows.push_back({op["op"], op["calls"], op["forward_ms"], op["backward_ms"]});
  return "<h2>Cost of a step</h2>\n<p>" + cell(c["ms"]) + " ms, " + cell(c["gflops"]) + " GFLOP/s, " +
         cell(c["share_of_peak"]) + " of the multiply-add peak; " + cell(c["tensor_bytes"]) +
         " bytes in tensors at most.</p>\n" +
         table({"operation", "calls", "forward ms", "backward ms"}, rows);
}

}  // namespace

std::string plain_report(const Json& data) {
  return "<main class=\"plain\">\n<p>Scripts are off: the same data as tables. Model " +
         cell(data["model"]["folder"]) + ", " + cell(data["model"]["parameters"]) + " parameters.</p>\n" +
         training(data) + gradients(data) + attention(data) + predictions(data) + cost(data) + graph(data) +
         "</main>\n";
}

}  // namespace minigpt::tools
