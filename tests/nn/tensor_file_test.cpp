#include "nn/tensor_file.h"

#include <doctest/doctest.h>

#include <fstream>

#include "nn/safetensors.h"
#include "tensor/views.h"
#include "tests/nn/temporary_folder.h"

namespace minigpt {
namespace {

const Tensor& find(const std::vector<NamedTensor>& tensors, const std::string& name) {
  for (const NamedTensor& t : tensors)
    if (t.name == name) return t.tensor;
  FAIL("no tensor named " << name);
  return tensors[0].tensor;
}

TEST_CASE("tensor files: every type and shape comes back, whatever its layout") {
  const test::TemporaryFolder folder;
  const Tensor matrix = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  save_tensors(folder / "t.safetensors",
               {{"f32", matrix},
                {"transposed", transpose(matrix)},
                {"window", slice(matrix, 1, 1, 3)},
                {"f64", Tensor::from<double>({0.1, -1e300}, {2})},
                {"i32", Tensor::from<std::int32_t>({-7, 2147483647}, {2, 1})},
                {"bool", Tensor::from<bool>({true, false, true}, {3})},
                {"scalar", Tensor::scalar(2.5f)},
                {"empty", zeros({0, 4})}},
               {{"note", "kept"}});
  const std::vector<NamedTensor> tensors = load_tensors(folder / "t.safetensors");
  CHECK(tensors.size() == 8);
  CHECK(find(tensors, "f32").to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5, 6});
  CHECK(find(tensors, "transposed").shape() == Shape{3, 2});
  CHECK(find(tensors, "transposed").to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK(find(tensors, "window").to_vector<float>() == std::vector<float>{2, 3, 5, 6});
  CHECK(find(tensors, "f64").to_vector<double>() == std::vector<double>{0.1, -1e300});
  CHECK(find(tensors, "i32").to_vector<std::int32_t>() == std::vector<std::int32_t>{-7, 2147483647});
  CHECK(find(tensors, "i32").shape() == Shape{2, 1});
  CHECK(find(tensors, "bool").to_vector<bool>() == std::vector<bool>{true, false, true});
  CHECK(find(tensors, "scalar").shape() == Shape{});
  CHECK(find(tensors, "scalar").item() == 2.5);
  CHECK(find(tensors, "empty").shape() == Shape{0, 4});
  CHECK(SafetensorsFile::open(folder / "t.safetensors").metadata().at("note") == "kept");
}

TEST_CASE("tensor files: int64 is read if it fits into int32") {
  const test::TemporaryFolder folder;
  const auto write = [&](std::int64_t value) {
    SafetensorsWriter writer;
    std::vector<std::byte> bytes;
    for (int i = 0; i < 8; ++i)
      bytes.push_back(static_cast<std::byte>((static_cast<std::uint64_t>(value) >> (8 * i)) & 0xff));
    writer.add("n", "I64", {1}, bytes);
    writer.write(folder / "n.safetensors");
  };
  write(-5);
  CHECK(load_tensors(folder / "n.safetensors").at(0).tensor.to_vector<std::int32_t>() ==
        std::vector<std::int32_t>{-5});
  write(std::int64_t{1} << 31);
  CHECK_THROWS_WITH_AS(load_tensors(folder / "n.safetensors"), doctest::Contains("2147483648"), Error);
}

TEST_CASE("tensor files: a type that no Tensor has is named, not reinterpreted (C-13)") {
  const test::TemporaryFolder folder;
  for (const char* type : {"F16", "BF16", "I16", "U8"}) {
    SafetensorsWriter writer;
    const std::size_t width = std::string(type) == "U8" ? 1 : 2;
    writer.add("w", type, {2}, std::vector<std::byte>(2 * width));
    writer.write(folder / "w.safetensors");
    CHECK_THROWS_WITH_AS(load_tensors(folder / "w.safetensors"), doctest::Contains(type), Error);
    CHECK_THROWS_WITH_AS(load_tensors(folder / "w.safetensors"), doctest::Contains("w.safetensors"), Error);
  }
}

TEST_CASE("tensor files: missing and foreign files are refused with their path") {
  const test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(load_tensors(folder / "absent.safetensors"), doctest::Contains("absent.safetensors"),
                       Error);
  std::ofstream(folder / "page.safetensors") << "<!DOCTYPE html><html></html>";
  CHECK_THROWS_WITH_AS(load_tensors(folder / "page.safetensors"), doctest::Contains("HTML"), Error);
  CHECK_THROWS_AS(save_tensors(folder / "no" / "folder.safetensors", {}), RunError);
}

TEST_CASE("tensor files: parameters are handed out live, and ties go into the metadata") {
  Variable shared(full({2}, 1), true);
  const std::vector<NamedParameter> parameters = {{"wte.weight", shared, {"lm_head.weight"}},
                                                  {"bias", Variable(zeros({1}), true), {}}};
  const std::vector<NamedTensor> tensors = parameter_tensors(parameters);
  REQUIRE(tensors.size() == 2);
  shared.mutable_value().fill_(4);
  CHECK(tensors[0].tensor.to_vector<float>() == std::vector<float>{4, 4});
  CHECK(tie_metadata(parameters) ==
        std::map<std::string, std::string>{{"format", "minigpt"}, {"tied:lm_head.weight", "wte.weight"}});
}

}  // namespace
}  // namespace minigpt
