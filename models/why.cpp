#include "models/why.h"

#include <algorithm>
#include <cmath>

#include "models/train_config.h"
#include "models/utf8.h"
#include "nn/dropout_stream.h"
#include "nn/optim/optimizer.h"

namespace minigpt {
namespace {

Variable find_parameter(const std::vector<NamedParameter>& parameters, std::string_view name) {
  std::vector<std::string> names;
  for (const NamedParameter& p : parameters) {
    if (p.name == name || std::find(p.aliases.begin(), p.aliases.end(), name) != p.aliases.end())
      return p.variable;
    names.push_back(p.name);
    names.insert(names.end(), p.aliases.begin(), p.aliases.end());
  }
  const std::string near = nearest_name(name, names);
  throw Error(fmt::format("the model has no parameter '{}'{}", name,
                          near.empty() ? "; minigpt info lists them" : "; did you mean " + near + "?"));
}

// "character 'X'", for a row of the token embedding.
std::string row_name(const CharTokenizer& tokenizer, const Variable& target, const Gpt& model,
                     std::int64_t row) {
  if (!target.is(model.transformer.wte.weight))
    return target.is(model.transformer.wpe.weight) ? fmt::format("position {}", row) : "";
  return "character " + tokenizer.label(static_cast<std::int32_t>(row));
}

}  // namespace

void check_request(Gpt& model, const WhyRequest& request) {
  const Variable target = find_parameter(model.parameters(), request.tensor);
  if (request.index) check_index(target, *request.index);
}

WhyAnswer why(Gpt& model, const CharTokenizer& tokenizer, const WhyRequest& request) {
  const std::vector<NamedParameter> parameters = model.parameters();
  const Variable target = find_parameter(parameters, request.tensor);
  const auto make_loss = [&] {
    // A fresh stream each time: the same masks.
    DropoutStream stream = DropoutStream::counter(request.dropout_seed.value_or(0));
    stream.begin(0, 0);
    Mode mode;
    mode.training = request.dropout_seed.has_value();
    mode.dropout = &stream;
    return model.loss(request.inputs, request.targets, mode);
  };
  WhyAnswer answer;
  ExplainOptions options;
  options.index = request.index;
  options.row_name = [&](std::int64_t row) { return row_name(tokenizer, target, model, row); };
  {
    const Variable loss = make_loss();
    answer.loss = loss.item();
    if (std::isfinite(answer.loss)) loss.backward();
    answer.grad_norm = grad_norm(parameters);
    if (request.grad_clip > 0 && std::isfinite(answer.grad_norm))
      answer.clip = clip_factor(answer.grad_norm, request.grad_clip);
    zero_grad(parameters);
  }
  options.clip = answer.clip;
  answer.explanation = explain_gradient(make_loss, target, options);
  if (answer.explanation.state != GradientState::zero || target.dtype() == DType::f64) return answer;

  convert_parameters(model, DType::f64);
  const GradientExplanation precise = explain_gradient(make_loss, target, options);
  convert_parameters(model, DType::f32);
  if (precise.state == GradientState::zero) return answer;
  GradientExplanation& e = answer.explanation;
  const double size = precise.value ? std::fabs(*precise.value) : precise.rms;
  e.causes.insert(e.causes.begin(),
                  {"underflow", e.causes.empty() ? "" : e.causes[0].where,
                   fmt::format("in float64 it is {:.3g}: too small for float32, where it became 0", size)});
  return answer;
}

}  // namespace minigpt
