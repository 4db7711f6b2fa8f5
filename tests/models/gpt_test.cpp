#include "models/gpt.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "autograd/ops/slice.h"
#include "autograd/ops/sum.h"
#include "tensor/views.h"
#include "tests/models/tiny_models.h"

namespace minigpt {
namespace {

using test::tiny_config;
using test::tokens_for;

double deviation(const Variable& p) {
  const std::vector<double> x = p.value().to(DType::f64).to_vector<double>();
  double total = 0;
  for (const double v : x) total += v * v;
  return std::sqrt(total / static_cast<double>(x.size()));
}

TEST_CASE("gpt: the logits of a position do not depend on anything later, to the bit (M-04)") {
  GptConfig config = tiny_config();
  config.block_size = 8;
  Generator rng(1);
  const Gpt gpt(config, rng);
  for (const std::int64_t T : {std::int64_t{1}, std::int64_t{2}, config.block_size - 1, config.block_size}) {
    const Tensor tokens = tokens_for(config, 2, T);
    const Tensor before = gpt.forward(tokens).value();
    CHECK(before.shape() == Shape{2, T, config.vocab_size});
    for (std::int64_t t = 0; t < T; ++t) {
      Tensor changed = tokens.clone();
      for (std::int64_t later = t + 1; later < T; ++later)
        for (std::int64_t b = 0; b < 2; ++b) {
          std::int32_t& token = changed.mutable_data<std::int32_t>()[b * T + later];
          token = (token + 1) % static_cast<std::int32_t>(config.vocab_size);
        }
      const Tensor after = gpt.forward(changed).value();
      const auto upto = [&](const Tensor& x) {
        return slice(x, 1, 0, t + 1).contiguous().to_vector<float>();
      };
      CHECK(upto(before) == upto(after));
      if (t + 1 < T) CHECK(before.to_vector<float>() != after.to_vector<float>());
    }
  }
}

TEST_CASE("gpt: the gradient of a position with respect to later inputs is exactly 0 (M-04)") {
  const GptConfig config = tiny_config();
  Generator rng(1);
  const Gpt gpt(config, rng);
  Variable embedded;
  const std::function<void(const char*, const Variable&)> look = [&](const char* path, const Variable& out) {
    if (std::string(path) == "transformer.drop") embedded = out;
  };
  Mode mode;
  mode.observe = &look;
  const Variable logits = gpt.forward(tokens_for(config, 1, config.block_size), mode);
  for (std::int64_t t = 0; t < config.block_size; ++t) {
    GradOptions options;
    options.retain_graph = true;
    const Tensor g = grad({sum(slice(logits, 1, t, t + 1))}, {embedded}, options)[0].value();  // (1, T, C)
    for (std::int64_t s = 0; s < config.block_size; ++s) {
      const std::vector<float> row = select(g, 1, s).contiguous().to_vector<float>();
      const bool all_zero = row == std::vector<float>(row.size(), 0);
      CHECK(all_zero == (s > t));
    }
  }
}

TEST_CASE("gpt: a configuration that does not fit together is refused with what would fit (M-05)") {
  const auto refusal = [](std::int64_t n_embd, std::int64_t n_head) {
    GptConfig config = tiny_config();
    config.n_embd = n_embd;
    config.n_head = n_head;
    Generator rng(1), untouched(1);
    std::string message;
    try {
      const Gpt gpt(config, rng);
    } catch (const Error& error) {
      message = error.what();
    }
    CHECK(rng.state() == untouched.state());  // before anything is drawn or allocated
    return message;
  };
  CHECK(refusal(100, 12) ==
        "[config] n_embd must be divisible by n_head: 100 % 12 != 0; n_head could be 10 or 20");
  CHECK(refusal(8, 0).find("n_head could be 1") != std::string::npos);
  CHECK(refusal(8, 16).find("n_head could be 8") != std::string::npos);
  CHECK(refusal(8, -1) != "");
  CHECK(refusal(0, 1) != "");
  CHECK(refusal(65536, 1).find("more than the limit") != std::string::npos);  // 2 layers: 1e11 weights
  GptConfig config = tiny_config();
  config.norm = "batch";
  CHECK_THROWS_WITH_AS(config.validate(), doctest::Contains("batch"), Error);
  config = tiny_config();
  config.activation = "tanh";
  CHECK_THROWS_WITH_AS(config.validate(), doctest::Contains("tanh"), Error);
}

TEST_CASE("gpt: inputs that do not fit are refused") {
  const GptConfig config = tiny_config();
  Generator rng(1);
  const Gpt gpt(config, rng);
  CHECK_THROWS_WITH_AS(gpt.forward(tokens_for(config, 1, config.block_size + 1)),
                       doctest::Contains("5 positions, but the context holds 1 to 4"), Error);
  CHECK_THROWS_AS(gpt.forward(zeros({1, 0}, DType::i32)), Error);
  CHECK_THROWS_WITH_AS(gpt.forward(zeros({3}, DType::i32)), doctest::Contains("must be (B, T), got (3)"),
                       Error);
  CHECK_THROWS_WITH_AS(gpt.loss(zeros({2, 3}, DType::i32), zeros({2, 2}, DType::i32)),
                       doctest::Contains("(2, 3) and targets (2, 2)"), Error);
  Tensor outside = zeros({1, 2}, DType::i32);
  outside.mutable_data<std::int32_t>()[1] = static_cast<std::int32_t>(config.vocab_size);
  CHECK_THROWS_WITH_AS(gpt.forward(outside), doctest::Contains("5"), Error);
  CHECK_THROWS_WITH_AS(gpt.loss(zeros({1, 2}, DType::i32), outside), doctest::Contains("5"), Error);
}

TEST_CASE("gpt: at first it knows nothing, however deep it is: the loss is near ln V (T-14)") {
  for (const std::int64_t layers : {1, 4, 12}) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      GptConfig config = tiny_config();
      config.n_layer = layers;
      config.n_embd = 64;
      config.vocab_size = 65;
      config.block_size = 32;
      Generator rng(seed);
      const Gpt gpt(config, rng);
      const double loss = gpt.loss(tokens_for(config, 2, 32, 1), tokens_for(config, 2, 32, 5)).item();
      CHECK(loss == doctest::Approx(std::log(65.0)).epsilon(0.02));
    }
  }
}

TEST_CASE("gpt: initial values: spread 0.02, residual projections smaller with depth, biases 0, norms 1") {
  for (const std::int64_t layers : {1, 4, 12}) {
    GptConfig config = tiny_config();
    config.n_layer = layers;
    config.n_embd = 64;
    config.vocab_size = 100;
    config.block_size = 64;
    Generator rng(7);
    Gpt gpt(config, rng);
    const double residual = 0.02 / std::sqrt(2.0 * static_cast<double>(layers));
    for (const NamedParameter& p : gpt.parameters()) {
      INFO(p.name);
      if (p.name.ends_with(".bias"))
        CHECK(p.variable.value().to_vector<float>() ==
              std::vector<float>(static_cast<std::size_t>(p.variable.numel()), 0));
      else if (p.variable.rank() == 1)
        CHECK(p.variable.value().to_vector<float>() ==
              std::vector<float>(static_cast<std::size_t>(p.variable.numel()), 1));
      else
        CHECK(std::abs(deviation(p.variable) / (p.name.ends_with("c_proj.weight") ? residual : 0.02) - 1) <
              0.05);
    }
  }
}

TEST_CASE("gpt: with zero_init both branches of every block begin at zero, and nothing else does") {
  GptConfig config = tiny_config();
  config.zero_init = true;
  Generator rng(7);
  Gpt gpt(config, rng);
  for (const NamedParameter& p : gpt.parameters()) {
    INFO(p.name);
    if (p.variable.rank() == 2) CHECK((deviation(p.variable) == 0) == p.name.ends_with("c_proj.weight"));
  }
}

TEST_CASE("gpt: a block that is computed again shows its values once") {
  GptConfig config = tiny_config();
  Generator rng(7);
  const Gpt gpt(config, rng);
  const Tensor tokens = test::tokens_for(config, 1, 4);
  const auto seen = [&](bool recompute) {
    std::vector<std::string> paths;
    const std::function<void(const char*, const Variable&)> observe = [&](const char* path, const Variable&) {
      paths.emplace_back(path);
    };
    Mode mode;
    mode.observe = &observe;
    mode.recompute = recompute;
    gpt.loss(tokens, tokens, mode).backward();
    return paths;
  };
  CHECK(seen(true) == seen(false));
  CHECK(seen(true).size() > 4);
}

TEST_CASE("gpt: tied weights are one parameter, in one group, decayed and updated once (T-10)") {
  GptConfig config = tiny_config();
  Generator rng(1);
  Gpt tied(config, rng);
  CHECK(tied.lm_head.weight.is(tied.transformer.wte.weight));
  const std::vector<NamedParameter> parameters = tied.parameters();
  CHECK(parameters[0].name == "transformer.wte.weight");
  CHECK(parameters[0].aliases == std::vector<std::string>{"lm_head.weight"});

  // Gradients of zero, decay 0.1, one step of AdamW: matrices shrink by lr * decay, vectors stay.
  std::map<std::string, std::vector<float>> before;
  for (NamedParameter p : parameters) {
    p.variable.mutable_value().fill_(1);
    p.variable.set_grad(Variable(zeros_like(p.variable.value())));
  }
  Adam optimizer(decay_groups(parameters, 0.01, 0.1));
  optimizer.step();
  for (const NamedParameter& p : parameters) {
    const float expected = p.variable.rank() >= 2 ? 0.999f : 1.0f;
    for (const float v : p.variable.value().to_vector<float>())
      REQUIRE(v == doctest::Approx(expected).epsilon(1e-7));
  }

  config.tie_weights = false;
  Gpt untied(config, rng);
  CHECK_FALSE(untied.lm_head.weight.is(untied.transformer.wte.weight));
  CHECK(untied.parameters().size() == parameters.size() + 1);
  CHECK(parameter_count(untied.parameters()) ==
        parameter_count(parameters) + config.vocab_size * config.n_embd);
}

TEST_CASE("gpt: targets of -1 are left out of the mean") {
  const GptConfig config = tiny_config();
  Generator rng(1);
  Gpt gpt(config, rng);
  convert_parameters(gpt, DType::f64);
  const Tensor tokens = tokens_for(config, 1, 3);
  const auto loss = [&](std::initializer_list<std::int32_t> targets) {
    return gpt.loss(tokens, Tensor::from<std::int32_t>(targets, {1, 3})).item();
  };
  const double first = loss({1, -1, -1}), second = loss({-1, 2, -1});
  CHECK(first != second);
  CHECK(loss({1, 2, -1}) == doctest::Approx((first + second) / 2).epsilon(1e-12));
  CHECK(std::isnan(loss({-1, -1, -1})));
}

TEST_CASE("gpt: the cache gives the logits of the last position, in any pieces") {
  for (const char* positions : {"learned", "rotary"}) {
    GptConfig config = tiny_config();
    config.positions = positions;
    config.qk_norm = config.rotary();
    const Gpt gpt = test::lively_model(config, 1);
    const Tensor tokens = tokens_for(config, 2, config.block_size);
    const Tensor all = gpt.forward(tokens).value();
    for (const std::int64_t piece : {1, 2}) {
      KvCache cache = gpt.make_cache(2);
      CHECK(cache.capacity() == config.block_size);
      for (std::int64_t t = 0; t < config.block_size; t += piece) {
        const std::vector<double> step =
            gpt.next_logits(slice(tokens, 1, t, t + piece).contiguous(), cache).to_vector<double>();
        const std::vector<double> whole = select(all, 1, t + piece - 1).contiguous().to_vector<double>();
        for (std::size_t i = 0; i < step.size(); ++i) REQUIRE(std::abs(step[i] - whole[i]) <= 1e-12);
      }
      CHECK_THROWS_AS(gpt.next_logits(slice(tokens, 1, 0, 1).contiguous(), cache), Error);
    }
  }
}

// Every kind of part once: all gradients of all parameters, element by element.
TEST_CASE("gpt: every gradient of every parameter agrees with finite differences") {
  std::vector<GptConfig> configs(5, tiny_config());
  configs[1].bias = false;
  configs[1].tie_weights = false;
  configs[1].activation = "gelu_tanh";
  configs[2].norm = "rms";
  configs[2].activation = "silu";
  configs[3].norm = "rms";
  configs[3].norm_gain = false;
  configs[3].activation = "relu_squared";
  configs[4].positions = "rotary";
  configs[4].qk_norm = true;
  for (const GptConfig& config : configs) {
    INFO(config.norm << " " << config.activation);
    Gpt gpt = test::lively_model(config, 3);
    std::vector<Variable> parameters;
    std::int64_t elements = 0;
    for (const NamedParameter& p : gpt.parameters()) {
      parameters.push_back(p.variable);
      elements += p.variable.numel();
    }
    const Tensor tokens = tokens_for(config, 2, config.block_size),
                 targets = tokens_for(config, 2, config.block_size, 9);
    const GradcheckResult result =
        gradcheck([&](const std::vector<Variable>&) { return gpt.loss(tokens, targets); }, parameters);
    CHECK_MESSAGE(result.ok, result.str());
    CHECK(result.checked == elements);
  }
}

// what an observer sees can be asked for its gradient, and a change of it moves the loss accordingly.
TEST_CASE("gpt: gradients at the points of inspection agree with finite differences of those values") {
  const GptConfig config = tiny_config();
  const Gpt gpt = test::lively_model(config, 4);
  const Tensor tokens = tokens_for(config, 1, config.block_size),
               targets = tokens_for(config, 1, config.block_size, 9);
  struct Point {
    std::string name;
    Variable value;
  };
  std::vector<Point> points;
  const std::function<void(const char*, const Variable&)> keep = [&](const char* path, const Variable& out) {
    Variable point = out;
    point.retain_grad();
    points.push_back({path, point});
  };
  Mode mode;
  mode.observe = &keep;
  gpt.loss(tokens, targets, mode).backward();
  REQUIRE(points.size() == 1 + 3 * 2 + 1 + 1);  // embedding, per block attn, mlp and sum, ln_f, logits

  for (const Point& point : points) {
    INFO(point.name);
    REQUIRE(point.value.has_grad());
    CHECK(point.value.grad().shape() == point.value.shape());
    const std::vector<double> analytic = point.value.grad().value().to_vector<double>();
    double largest = 0;
    for (const double g : analytic) largest = std::max(largest, std::abs(g));
    CHECK(largest > 0);
    for (std::size_t i = 0; i < analytic.size(); i += 3) {
      const auto moved = [&](double by) {
        const NoGrad no_grad;
        const std::function<void(const char*, const Variable&)> shift = [&](const char* path,
                                                                            const Variable& out) {
          Variable v = out;
          if (path == point.name) v.mutable_value().mutable_data<double>()[i] += by;
        };
        Mode shifted;
        shifted.observe = &shift;
        return gpt.loss(tokens, targets, shifted).item();
      };
      const double numeric = (moved(1e-6) - moved(-1e-6)) / 2e-6;
      REQUIRE(std::abs(analytic[i] - numeric) <= 1e-8 + 1e-6 * largest);
    }
  }
  // Where nothing was kept, asking is an error, not an empty result.
  CHECK_THROWS_AS(gpt.loss(tokens, targets).grad(), Error);
}

}  // namespace
}  // namespace minigpt
