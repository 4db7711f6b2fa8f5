// A file of weights from anywhere.

#include "nn/safetensors.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "tests/fuzz/properties.h"

namespace minigpt::test {
namespace {

// Takes the elements out as every type there is; all but one or two refuse, by name.
void copy_all(const SafetensorsFile& file, const SafetensorsEntry& entry) {
  const auto count = static_cast<std::size_t>(entry.element_count());
  const auto try_type = [&](auto zero) {
    using T = decltype(zero);
    // std::vector<bool> has no memory that a span could point to.
    const auto out = std::make_unique<T[]>(count);
    return accepted([&] { file.copy(entry, std::span<T>(out.get(), count)); });
  };
  // No type of an element is smaller than half a byte, so the memory is at most 16 times that of the file.
  const bool as_float = try_type(float()), as_double = try_type(double());
  const bool as_int = try_type(std::int32_t()), as_bool = try_type(bool());
  require(as_float + as_int + as_bool <= 1, "a tensor is read as one kind of number");
  require(!as_float || as_double, "what fits in float32 fits in float64");
}

void require_equal(const SafetensorsFile& a, const SafetensorsFile& b) {
  require(a.metadata() == b.metadata(), "the free text survives writing and reading");
  require(a.entries().size() == b.entries().size(), "all tensors survive");
  for (const SafetensorsEntry& entry : a.entries()) {
    const SafetensorsEntry* other = b.find(entry.name);
    require(other && other->dtype == entry.dtype && other->shape == entry.shape, "a tensor keeps its shape");
    const auto x = a.bytes(entry), y = b.bytes(*other);
    require(std::equal(x.begin(), x.end(), y.begin(), y.end()), "a tensor keeps its bytes");
  }
}

}  // namespace

void fuzz_safetensors(Bytes input) {
  detail::recognise_file_type(input.first(std::min<std::size_t>(512, input.size())));
  std::optional<SafetensorsFile> file;
  if (!accepted([&] { file = SafetensorsFile::parse(input, "model.safetensors"); })) return;
  SafetensorsWriter writer;
  for (const SafetensorsEntry& entry : file->entries()) {
    copy_all(*file, entry);
    const auto bytes = file->bytes(entry);
    writer.add(entry.name, entry.dtype, entry.shape, {bytes.begin(), bytes.end()});
  }
  for (const auto& [key, value] : file->metadata()) writer.set_metadata(key, value);
  const std::vector<std::byte> written = writer.bytes();
  require_equal(*file, SafetensorsFile::parse(written, "written"));
}

}  // namespace minigpt::test
