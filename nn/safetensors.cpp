#include "nn/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "nn/files.h"
#include "nn/little_endian.h"
#include "nn/safetensors_seal.h"
#include "tensor/error.h"

namespace minigpt {
namespace {

constexpr std::string_view kOp = "safetensors";

// Elements at any address, aligned or not.
float float_at(const std::byte* p) {
  return std::bit_cast<float>(detail::load_little_endian<std::uint32_t>(p));
}
double double_at(const std::byte* p) {
  return std::bit_cast<double>(detail::load_little_endian<std::uint64_t>(p));
}
std::int32_t int32_at(const std::byte* p) {
  return std::bit_cast<std::int32_t>(detail::load_little_endian<std::uint32_t>(p));
}
std::int64_t int64_at(const std::byte* p) {
  return std::bit_cast<std::int64_t>(detail::load_little_endian<std::uint64_t>(p));
}

}  // namespace

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  SafetensorsFile result;
  result.name_ = path.string();
  // The start is judged before the rest is read: a 10 GB archive is refused at once, without 10 GB of memory.
  result.file_ = detail::read_bytes(path, kOp, [&](std::span<const std::byte> head, std::uint64_t size) {
    detail::check_safetensors_start(head, size, result.name_);
  });
  result.index();
  return result;
}

SafetensorsFile SafetensorsFile::parse(std::span<const std::byte> bytes, std::string_view name) {
  SafetensorsFile result;
  result.name_ = name;
  result.file_.assign(bytes.begin(), bytes.end());
  result.index();
  return result;
}

// Validates file_ and fills everything else. The spans handed out later rely on what is checked here.
void SafetensorsFile::index() {
  const std::span<const std::byte> all(file_);
  const auto length =
      detail::check_safetensors_start(all.first(std::min<std::size_t>(512, all.size())), all.size(), name_);
  data_start_ = 8 + static_cast<std::size_t>(length);
  header_ =
      detail::parse_safetensors_header(all.subspan(8, static_cast<std::size_t>(length)), all.size(), name_);
  if (const auto stored = header_.metadata.find(detail::kChecksumKey); stored != header_.metadata.end()) {
    const std::span<std::byte> bytes(file_);
    const std::string found = detail::sealed_checksum(bytes.first(data_start_), {bytes.subspan(data_start_)});
    check(found == stored->second, kOp,
          "{}: the file is damaged, or another program changed it: its checksum is {}, not {}", name_, found,
          stored->second);
  }
  by_name_.resize(header_.entries.size());
  std::iota(by_name_.begin(), by_name_.end(), std::size_t{0});
  std::sort(by_name_.begin(), by_name_.end(),
            [&](std::size_t a, std::size_t b) { return header_.entries[a].name < header_.entries[b].name; });
}

const SafetensorsFile::Entry* SafetensorsFile::find(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [&](std::size_t i, std::string_view n) { return header_.entries[i].name < n; });
  if (found == by_name_.end() || header_.entries[*found].name != name) return nullptr;
  return &header_.entries[*found];
}

std::span<const std::byte> SafetensorsFile::bytes(const Entry& entry) const {
  const std::size_t available = file_.size() - data_start_;
  check(entry.begin <= entry.end && entry.end <= available, kOp,
        "{}: tensor {} is of another file: its bytes end at {}, this file has {}", name_,
        detail::Quoted{entry.name}, entry.end, available);
  return std::span<const std::byte>(file_).subspan(data_start_ + static_cast<std::size_t>(entry.begin),
                                                   static_cast<std::size_t>(entry.end - entry.begin));
}

// One loop per pair of types, with the test of the dtype outside of it.
template <class T>
void SafetensorsFile::copy(const Entry& entry, std::span<T> out) const {
  const std::span<const std::byte> from = bytes(entry);
  const auto who = [&] { return fmt::format("{}: tensor {}", name_, detail::quote_name(entry.name)); };
  const auto element_count = static_cast<std::uint64_t>(entry.element_count());
  if (out.size() != element_count)
    fail(kOp, "{} has {} elements, the place to copy them to has {}", who(), element_count, out.size());

  // An Entry is plain data that a caller could have changed.
  if (detail::safetensors_byte_count(entry.dtype, entry.shape, name_) != from.size())
    fail(kOp, "{}: shape ({}) of dtype {} does not fit its {} bytes", who(), fmt::join(entry.shape, ", "),
         entry.dtype, from.size());

  if constexpr (std::is_floating_point_v<T>) {
    if (entry.dtype == "F32") {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = float_at(&from[4 * i]);
      return;
    }
    if (entry.dtype == "F64") {
      for (std::size_t i = 0; i < out.size(); ++i) {
        const double value = double_at(&from[8 * i]);
        // Infinities are kept, but a finite number must not become one.
        if (std::isfinite(value) && std::abs(value) > std::numeric_limits<T>::max())
          fail(kOp, "{}: element {} does not fit in float32: {}", who(), i, value);
        out[i] = static_cast<T>(value);
      }
      return;
    }
    fail(kOp, "{} has dtype {}; floating-point numbers are read from F32 or F64", who(), entry.dtype);
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    if (entry.dtype == "I32") {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = int32_at(&from[4 * i]);
      return;
    }
    if (entry.dtype == "I64") {
      for (std::size_t i = 0; i < out.size(); ++i) {
        // PyTorch writes every integer with 64 bits; token ids fit in 32, anything else is a mistake.
        const std::int64_t value = int64_at(&from[8 * i]);
        if (value != static_cast<std::int32_t>(value))
          fail(kOp, "{}: element {} does not fit in int32: {}", who(), i, value);
        out[i] = static_cast<std::int32_t>(value);
      }
      return;
    }
    fail(kOp, "{} has dtype {}; integers are read from I32 or I64", who(), entry.dtype);
  } else {
    if (entry.dtype != "BOOL") fail(kOp, "{} has dtype {}; booleans are read from BOOL", who(), entry.dtype);
    // A bool with another bit pattern than 0 or 1 would be undefined behaviour in every later use.
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int value = std::to_integer<int>(from[i]);
      if (value > 1) fail(kOp, "{}: element {} of a BOOL must be 0 or 1, is {}", who(), i, value);
      out[i] = value == 1;
    }
  }
}

template void SafetensorsFile::copy(const Entry&, std::span<float>) const;
template void SafetensorsFile::copy(const Entry&, std::span<double>) const;
template void SafetensorsFile::copy(const Entry&, std::span<std::int32_t>) const;
template void SafetensorsFile::copy(const Entry&, std::span<bool>) const;

namespace detail {

std::uint64_t check_safetensors_start(std::span<const std::byte> head, std::uint64_t file_size,
                                      std::string_view file) {
  check(file_size > 0, kOp, "{}: not a safetensors file: it is empty", file);
  check(file_size >= 8, kOp,
        "{}: file is incomplete: {} bytes present, too short for a header (10 or more expected)", file,
        file_size);
  const auto length = load_little_endian<std::uint64_t>(head.data());

  // A length that is possible, followed by '{', is taken for the start of a safetensors file (perhaps a
  // cut-off one); only otherwise is it worth asking what else it might be. The other way round, a header of
  // 640 = 0x0280 bytes would pass for a pickle.
  const bool possible = length >= 2 && length <= kMaxHeaderBytes;
  const bool brace = head.size() <= 8 || head[8] == std::byte{'{'};
  if (!possible || !brace) {
    const std::string type = recognise_file_type(head);
    check(type.empty(), kOp, "{}: not a safetensors file: it looks like {}", file, type);
    check(length >= 2, kOp,
          "{}: not a safetensors file: header length is {}, the shortest header is 2 (file size {})", file,
          length, file_size);
    check(possible, kOp,
          "{}: not a safetensors file: header length is {}, more than the limit {} (file size {})", file,
          length, kMaxHeaderBytes, file_size);
    fail(kOp, "{}: not a safetensors file: header must begin with '{{', begins with byte 0x{:02x}", file,
         std::to_integer<unsigned>(head[8]));
  }
  // As a subtraction, since 8 + length could wrap around for a larger limit.
  check(length <= file_size - 8, kOp,
        "{}: file is incomplete: {} bytes present, {} expected for the header alone", file, file_size,
        length + 8);
  return length;
}

}  // namespace detail
}  // namespace minigpt
