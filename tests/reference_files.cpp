#include "tests/reference_files.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

namespace minigpt::reference {
namespace {

DType dtype_named(const std::string& name) {
  if (name == "float64") return DType::f64;
  if (name == "float32") return DType::f32;
  if (name == "int64" || name == "int32") return DType::i32;
  check(name == "bool", "reference", "unknown dtype {}", name);
  return DType::boolean;
}

// The same numbers in double, row by row.
std::vector<double> numbers(const Tensor& x) { return x.to(DType::f64).contiguous().to_vector<double>(); }

double largest_finite(const std::vector<double>& values) {
  double largest = 0;
  for (double v : values)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  return largest;
}

}  // namespace

std::filesystem::path folder() {
  const char* given = std::getenv("MINIGPT_REFERENCE");
  return given ? std::filesystem::path(given)
               : std::filesystem::path(MINIGPT_SOURCE_DIR) / "tests" / "reference";
}

nlohmann::json load(const std::string& file) {
  const std::filesystem::path path = folder() / file;
  std::ifstream in(path);
  check(in.is_open(), "reference", "cannot read {}", path.string());
  return nlohmann::json::parse(in);
}

double number(const nlohmann::json& value) {
  if (!value.is_string()) return value.get<double>();
  const std::string text = value.get<std::string>();
  check(text == "inf" || text == "-inf", "reference", "not a number: {}", text);
  return (text[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
}

Tensor tensor(const nlohmann::json& entry, const char* key) {
  Shape shape;
  for (const auto& extent : entry.at("shape")) shape.push_back(extent.get<std::int64_t>());
  const DType dtype = dtype_named(entry.at("dtype").get<std::string>());
  std::vector<double> values;
  for (const auto& value : entry.at(key)) {
    values.push_back(number(value));
    check(dtype != DType::i32 || std::abs(values.back()) <= std::numeric_limits<std::int32_t>::max(),
          "reference", "{} does not fit into int32", values.back());
  }
  return Tensor::from<double>(values, shape).to(dtype);
}

std::string difference(const Tensor& actual, const Tensor& expected, Kind kind) {
  if (!actual.defined()) return "there is no result";
  if (!(actual.shape() == expected.shape()) || actual.dtype() != expected.dtype())
    return fmt::format("is {} {}, expected {} {}", name_of(actual.dtype()), actual.shape(),
                       name_of(expected.dtype()), expected.shape());
  const std::vector<double> a = numbers(actual), b = numbers(expected);
  const double f32_tolerance = 1e-6 + 2e-5 * largest_finite(b);
  double worst = 0;  // excess over the tolerance, as a factor
  std::size_t where = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    double tolerance = 0;
    if (expected.dtype() == DType::f32) tolerance = f32_tolerance;
    if (expected.dtype() == DType::f64)
      tolerance = 1e-12 + (kind == Kind::result ? 1e-9 : 1e-8) * std::abs(b[i]);
    // Written so that NaN and an infinity on one side count as infinitely far.
    double excess = std::numeric_limits<double>::infinity();
    if (std::isfinite(a[i]) && std::isfinite(b[i]) && tolerance > 0)
      excess = std::abs(a[i] - b[i]) / tolerance;
    if (excess <= worst) continue;
    worst = excess;
    where = i;
  }
  if (worst <= 1) return "";
  return fmt::format("element {} is {}, expected {}: {:.3g} times the tolerance", where, a[where], b[where],
                     worst);
}

}  // namespace minigpt::reference
