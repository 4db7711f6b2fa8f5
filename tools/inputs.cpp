#include "tools/inputs.h"

#include "tensor/reduce.h"
#include "tools/messages.h"

namespace minigpt::tools {

void Remarks::print() {
  for (const std::string& line : lines_) say("{}\n", line);
  lines_.clear();
}

std::string first_not_finite(Gpt& model) {
  for (const NamedParameter& p : model.parameters())
    if (!all_finite(p.variable.value())) return p.name;
  return "";
}

LoadedModel read_model(const std::string& folder, Generator& rng, Weights wanted, Remarks& remarks) {
  LoadedModel loaded = load_model(folder, rng);
  if (wanted == Weights::finite)
    if (const std::string bad = first_not_finite(*loaded.model); !bad.empty())
      fail("model", "{}: {} holds values that are not finite, so it predicts nothing", folder, bad);
  for (const std::string& warning : loaded.warnings) remarks.warn(warning);
  return loaded;
}

LoadedModel read_model(const std::string& folder, Weights wanted, Remarks& remarks) {
  Generator overwritten(0);  // draws initial values that are replaced by the stored ones
  return read_model(folder, overwritten, wanted, remarks);
}

LoadedText read_text(const std::string& path, Remarks& remarks) {
  LoadedText text = load_text(path);
  for (const std::string& note : text.notes) remarks.note("{}", note);
  return text;
}

}  // namespace minigpt::tools
