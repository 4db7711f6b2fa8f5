#include "models/head_analysis.h"

#include <algorithm>

#include "tensor/views.h"

namespace minigpt {
namespace {

TokenKind kind_of(char32_t c) {
  if (c == U'\n' || c == U'\r') return TokenKind::line_end;
  if (c == U' ' || c == U'\t' || c == 0x3000) return TokenKind::blank;
  const bool ascii = (c >= 0x21 && c <= 0x2F) || (c >= 0x3A && c <= 0x40) || (c >= 0x5B && c <= 0x60) ||
                     (c >= 0x7B && c <= 0x7E);
  const bool general = (c >= 0x2010 && c <= 0x2027) || (c >= 0x2030 && c <= 0x205E) || c == 0xAB || c == 0xBB;
  const bool cjk = (c >= 0x3001 && c <= 0x3003) || (c >= 0x3008 && c <= 0x3011) ||
                   (c >= 0xFF01 && c <= 0xFF0F) || (c >= 0xFF1A && c <= 0xFF20);
  return ascii || general || cjk ? TokenKind::punctuation : TokenKind::other;
}

struct Candidate {
  std::string name;
  double lift;
};

}  // namespace

std::vector<TokenKind> token_kinds(const CharTokenizer& tokenizer) {
  std::vector<TokenKind> kinds;
  for (const char32_t c : tokenizer.characters()) kinds.push_back(kind_of(c));
  if (tokenizer.has_document_token()) kinds.push_back(TokenKind::line_end);
  return kinds;
}

std::vector<HeadReport> analyse_heads(const Gpt& model, std::span<const TokenKind> kinds,
                                      std::span<const std::vector<std::int32_t>> texts,
                                      const HeadAnalysisOptions& options) {
  const GptConfig& c = model.config;
  std::vector<HeadReport> reports;
  for (std::int64_t l = 0; l < c.n_layer; ++l)
    for (std::int64_t h = 0; h < c.n_head; ++h) {
      reports.push_back({l, h, {}, "", 0, false});
      reports.back().scores.top_k = options.top_k;
      reports.back().scores.offset.resize(static_cast<std::size_t>(options.max_offset) + 1);
    }
  for (const std::vector<std::int32_t>& text : texts) {
    const auto T = static_cast<std::int64_t>(text.size());
    check(T >= 2 && T <= c.block_size, "heads", "a text of {} tokens; needs 2 to {}", T, c.block_size);
    std::vector<TokenKind> text_kinds;
    for (const std::int32_t id : text) {
      check(id >= 0 && static_cast<std::size_t>(id) < kinds.size(), "heads",
            "token {} is not in the vocabulary of {}", id, kinds.size());
      text_kinds.push_back(kinds[static_cast<std::size_t>(id)]);
    }
    visit_attention_weights(
        model, Tensor::from<std::int32_t>(text, {1, T}), [&](std::int64_t layer, const Tensor& weights) {
          for (std::int64_t h = 0; h < c.n_head; ++h) {
            const std::vector<double> one =
                select(select(weights, 0, 0), 0, h).to(DType::f64).to_vector<double>();
            reports[static_cast<std::size_t>(layer * c.n_head + h)].scores.add(one, text, text_kinds);
          }
        });
  }
  for (HeadReport& report : reports) report.type = head_type(report.scores);
  return reports;
}

std::string head_type(const HeadScores& s) {
  std::vector<Candidate> candidates = {
      {"sink on the first character", s.sink.lift()}, {"same character earlier", s.duplicate.lift()},
      {"what followed earlier", s.induction.lift()},  {"line ends", s.line_end.lift()},
      {"punctuation", s.punctuation.lift()},          {"blanks", s.blank.lift()}};
  for (std::size_t k = 0; k < s.offset.size(); ++k)
    candidates.push_back({k == 0   ? "itself"
                          : k == 1 ? "previous character"
                                   : fmt::format("{} characters back", k),
                          s.offset[k].lift()});
  const Candidate& best =
      *std::max_element(candidates.begin(), candidates.end(),
                        [](const Candidate& a, const Candidate& b) { return a.lift < b.lift; });
  if (best.lift >= 0.25) return best.name;
  if (s.local.lift() >= 0.35) return "the last few characters";
  if (s.entropy.rows > 0 && s.entropy.value() >= 0.85) return "broad";
  return s.top.lift() >= 0.5 ? "a few, by content" : "mixed";
}

Gpt without_head(const Gpt& model, std::int64_t layer, std::int64_t head) {
  check(layer >= 0 && layer < model.config.n_layer && head >= 0 && head < model.config.n_head, "heads",
        "there is no head {}.{} in {} layers of {} heads", layer, head, model.config.n_layer,
        model.config.n_head);
  Gpt copy = model;
  Linear& c_proj = copy.transformer.h[static_cast<std::size_t>(layer)].attn.c_proj;
  Tensor weight = c_proj.weight.value().clone();  // (C, C): y = weight x, so columns belong to what goes in
  const std::int64_t D = model.config.n_embd / model.config.n_head;
  slice(weight, 1, head * D, (head + 1) * D).fill_(0);
  c_proj.weight = Variable(weight);
  return copy;
}

double measure_ablation(const Gpt& model, std::vector<HeadReport>& reports,
                        const std::function<double(const Gpt&)>& loss) {
  const double whole = loss(model);
  for (HeadReport& report : reports) {
    report.loss_rise = loss(without_head(model, report.layer, report.head)) - whole;
    report.measured = true;
  }
  return whole;
}

void sort_by_loss_rise(std::vector<HeadReport>& reports) {
  std::stable_sort(reports.begin(), reports.end(),
                   [](const HeadReport& a, const HeadReport& b) { return a.loss_rise > b.loss_rise; });
}

double mean_distance(std::span<const HeadReport> reports, std::int64_t layer) {
  Score all;
  for (const HeadReport& report : reports) {
    if (report.layer != layer) continue;
    all.sum += report.scores.distance.sum;
    all.rows += report.scores.distance.rows;
  }
  return all.value();
}

}  // namespace minigpt
