#include "nn/safetensors_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "tensor/error.h"

namespace minigpt {

std::int64_t SafetensorsEntry::element_count() const {
  // Can't overflow: the header was only accepted if the product of the dimensions other than 0 fits in 63 bits.
  std::int64_t count = 1;
  for (const std::int64_t dimension : shape) count *= dimension;
  return count;
}

namespace detail {
namespace {

constexpr std::string_view kOp = "safetensors";

// Every type of the format, with the bits of one element.
constexpr std::array<std::pair<std::string_view, int>, 22> kDtypes = {{
    {"F32", 32},  {"F64", 64},    {"I32", 32},        {"I64", 64},    {"BOOL", 8},    {"F16", 16},
    {"BF16", 16}, {"U8", 8},      {"I8", 8},          {"U16", 16},    {"I16", 16},    {"U32", 32},
    {"U64", 64},  {"C64", 64},    {"F8_E4M3", 8},     {"F8_E5M2", 8}, {"F8_E8M0", 8}, {"F8_E4M3FNUZ", 8},
    {"F4", 4},    {"F6_E2M3", 6}, {"F8_E5M2FNUZ", 8}, {"F6_E3M2", 6},
}};

// Receives the JSON piece by piece. It knows only the three levels of the format (file, tensor, list of
// numbers) and refuses anything else where it stands, so nesting can't grow, nothing unneeded is stored, and
// no key gets lost: a parsed JSON object would silently keep one of two equal keys.
class HeaderReader {
 public:
  HeaderReader(SafetensorsHeader& header, std::string_view file, std::size_t length)
      : header_(header), file_(file), length_(length) {}

  // The interface of nlohmann::json::sax_parse.
  bool null() { return refuse("null"); }
  bool boolean(bool) { return refuse("a boolean"); }
  bool number_integer(std::int64_t value) { return refuse(fmt::format("the negative number {}", value)); }
  bool number_unsigned(std::uint64_t value);
  bool number_float(double, const std::string& text) { return refuse(quote_name(text)); }
  bool string(std::string& value);
  bool binary(std::vector<std::uint8_t>&) { return refuse("binary data"); }
  bool start_object(std::size_t);
  bool key(std::string& name);
  bool end_object();
  bool start_array(std::size_t);
  bool end_array();
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    // The parser's own text may quote megabytes of a broken header, so only the place is taken from it.
    fail(kOp, "{}: header is not valid JSON, near its byte {} of {}", file_, position, length_);
  }

 private:
  // Where in the header the parser is. An enum is enough to remember it, because no level can contain itself.
  enum class Place { outside, file, metadata, tensor, shape, offsets };

  [[noreturn]] bool refuse(std::string_view found) const;
  std::string where() const;
  void finish_tensor();

  SafetensorsHeader& header_;  // the result, filled as tensors are completed
  std::string_view file_;
  std::size_t length_;
  Place place_ = Place::outside;
  std::unordered_set<std::string> names_;  // keys seen at the level of the file
  std::string metadata_key_;
  std::string field_;
  SafetensorsEntry entry_;  // the tensor being read
  std::vector<std::uint64_t> offsets_;
  bool has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

// The part of the header that a message is about.
std::string HeaderReader::where() const {
  switch (place_) {
    case Place::outside:
      return "header";
    case Place::metadata:
      return fmt::format("__metadata__ {}", quote_name(metadata_key_));
    case Place::file:
      return entry_.name == "__metadata__" ? "__metadata__"
                                           : fmt::format("tensor {}", quote_name(entry_.name));
    default:
      return fmt::format("{} of tensor {}", field_, quote_name(entry_.name));
  }
}

// One place for every kind of value in the wrong place: what the place wants follows from the place alone.
bool HeaderReader::refuse(std::string_view found) const {
  std::string_view wanted = "an object";
  if (place_ == Place::metadata || (place_ == Place::tensor && field_ == "dtype")) wanted = "a string";
  if (place_ == Place::tensor && field_ != "dtype") wanted = "a list of integers";
  if (place_ == Place::shape || place_ == Place::offsets) wanted = "a non-negative integer below 2^63";
  fail(kOp, "{}: {} must be {}, found {}", file_, where(), wanted, found);
}

bool HeaderReader::number_unsigned(std::uint64_t value) {
  // Below 2^63 everything fits the signed dimensions of a tensor, and a sum of two offsets can't wrap around.
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if ((place_ != Place::shape && place_ != Place::offsets) || value > kMax) refuse(fmt::format("{}", value));
  if (place_ == Place::shape) {
    check(entry_.shape.size() < kMaxTensorRank, kOp,
          "{}: shape of tensor {} has more than {} dimensions, the most a tensor can have here", file_,
          Quoted{entry_.name}, kMaxTensorRank);
    entry_.shape.push_back(static_cast<std::int64_t>(value));
  } else {
    check(offsets_.size() < 2, kOp, "{}: data_offsets of tensor {} must be two numbers, found more", file_,
          Quoted{entry_.name});
    offsets_.push_back(value);
  }
  return true;
}

bool HeaderReader::string(std::string& value) {
  if (place_ == Place::metadata) {
    header_.metadata[metadata_key_] = value;
  } else if (place_ == Place::tensor && field_ == "dtype") {
    check(bits_of_safetensors_dtype(value) != 0, kOp, "{}: dtype of tensor {} is unknown: {}", file_,
          Quoted{entry_.name}, Quoted{value});
    entry_.dtype = value;
  } else {
    refuse("the string " + quote_name(value));
  }
  return true;
}

bool HeaderReader::start_object(std::size_t) {
  if (place_ == Place::outside) {
    place_ = Place::file;
  } else if (place_ == Place::file) {
    place_ = entry_.name == "__metadata__" ? Place::metadata : Place::tensor;
  } else {
    refuse("an object");
  }
  return true;
}

// Every key is checked against those before it: the format forbids two tensors, and two meanings, of one name.
bool HeaderReader::key(std::string& name) {
  if (place_ == Place::metadata) {
    metadata_key_ = name;
    check(!header_.metadata.contains(name), kOp, "{}: __metadata__ names {} twice", file_, Quoted{name});
  } else if (place_ == Place::tensor) {
    field_ = name;
    bool* seen = name == "dtype"          ? &has_dtype_
                 : name == "shape"        ? &has_shape_
                 : name == "data_offsets" ? &has_offsets_
                                          : nullptr;
    check(seen != nullptr, kOp, "{}: tensor {} has an unknown field {}", file_, Quoted{entry_.name},
          Quoted{name});
    check(!*seen, kOp, "{}: tensor {} gives its {} twice", file_, Quoted{entry_.name}, name);
    *seen = true;
  } else {
    check(names_.insert(name).second, kOp, "{}: the name {} occurs twice in the header", file_, Quoted{name});
    entry_ = {};
    entry_.name = name;
    offsets_.clear();
    has_dtype_ = has_shape_ = has_offsets_ = false;
  }
  return true;
}

bool HeaderReader::end_object() {
  if (place_ == Place::tensor) finish_tensor();
  place_ = place_ == Place::file ? Place::outside : Place::file;
  return true;
}

// Lists occur as shape and data_offsets only; within those, place_ is no longer `tensor`, so lists can't nest.
bool HeaderReader::start_array(std::size_t) {
  if (place_ != Place::tensor || field_ == "dtype") refuse("a list");
  place_ = field_ == "shape" ? Place::shape : Place::offsets;
  return true;
}

bool HeaderReader::end_array() {
  check(place_ != Place::offsets || offsets_.size() == 2, kOp,
        "{}: data_offsets of tensor {} must be two numbers, found {}", file_, Quoted{entry_.name},
        offsets_.size());
  place_ = Place::tensor;
  return true;
}

// Fields may come in any order, so what they say about each other is compared when all of them are known.
void HeaderReader::finish_tensor() {
  const std::string who = fmt::format("{}: tensor {}", file_, quote_name(entry_.name));
  check(has_dtype_, kOp, "{} has no dtype", who);
  check(has_shape_, kOp, "{} has no shape", who);
  check(has_offsets_, kOp, "{} has no data_offsets", who);
  entry_.begin = offsets_[0];
  entry_.end = offsets_[1];
  check(entry_.begin <= entry_.end, kOp, "{}: data_offsets are reversed: begin {} > end {}", who,
        entry_.begin, entry_.end);
  const std::uint64_t needed = safetensors_byte_count(entry_.dtype, entry_.shape, who);
  check(needed == entry_.end - entry_.begin, kOp,
        "{}: shape ({}) of dtype {} needs {} bytes, but data_offsets [{}, {}] hold {}", who,
        fmt::join(entry_.shape, ", "), entry_.dtype, needed, entry_.begin, entry_.end,
        entry_.end - entry_.begin);
  header_.entries.push_back(std::move(entry_));
}

// The ranges have to tile the data: sorted by position, each begins where the one before ended. Two tensors
// on one range, or bytes that belong to none, would make a file that other programs read differently.
void check_tiling(const SafetensorsHeader& header, std::uint64_t header_end, std::uint64_t file_size,
                  std::string_view file) {
  std::uint64_t position = 0;
  const SafetensorsEntry* previous = nullptr;
  for (const SafetensorsEntry& entry : header.entries) {
    check(entry.begin >= position, kOp, "{}: data_offsets of tensor {} overlap tensor {}: begin {} < end {}",
          file, Quoted{entry.name}, Quoted{previous ? std::string_view(previous->name) : ""}, entry.begin,
          position);
    check(entry.begin == position, kOp,
          "{}: bytes {} to {} before tensor {} belong to no tensor (data_offsets)", file, position,
          entry.begin, Quoted{entry.name});
    position = entry.end;
    previous = &entry;
  }
  const std::uint64_t expected = header_end + position;
  check(file_size >= expected, kOp,
        "{}: file is incomplete: {} bytes present, {} expected (tensor {} ends there)", file, file_size,
        expected, Quoted{previous ? std::string_view(previous->name) : ""});
  check(file_size == expected, kOp,
        "{}: {} bytes after the last tensor belong to no tensor: {} present, {} expected", file,
        file_size - expected, file_size, expected);
}

}  // namespace

int bits_of_safetensors_dtype(std::string_view dtype) {
  for (const auto& [name, bits] : kDtypes)
    if (name == dtype) return bits;
  return 0;
}

std::uint64_t safetensors_byte_count(std::string_view dtype, std::span<const std::int64_t> shape,
                                     std::string_view who) {
  check(shape.size() <= kMaxTensorRank, kOp,
        "{}: shape has {} dimensions, the most a tensor can have here is {}", who, shape.size(),
        kMaxTensorRank);
  const int bits = bits_of_safetensors_dtype(dtype);
  check(bits != 0, kOp, "{}: dtype is unknown: {}", who, Quoted{dtype});
  // Zeros are left out of the checked product, so that (2^62, 4, 0) is refused in every order: strides, which
  // are products of the other dimensions, could not be formed.
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t dimension : shape) {
    check(dimension >= 0, kOp, "{}: shape ({}) has a negative dimension: {}", who, fmt::join(shape, ", "),
          dimension);
    empty = empty || dimension == 0;
    check(dimension == 0 || count <= std::numeric_limits<std::int64_t>::max() / dimension, kOp,
          "{}: shape ({}) is too large: the product does not fit in 63 bits", who, fmt::join(shape, ", "));
    if (dimension != 0) count *= dimension;
  }
  if (empty) return 0;
  check(count <= std::numeric_limits<std::int64_t>::max() / bits, kOp,
        "{}: shape ({}) of dtype {} is too large: its size does not fit in 63 bits", who,
        fmt::join(shape, ", "), dtype);
  check(count * bits % 8 == 0, kOp, "{}: {} elements of dtype {} do not fill whole bytes: {} bits", who,
        count, dtype, count * bits);
  return static_cast<std::uint64_t>(count * bits / 8);
}

std::string quote_name(std::string_view name) {
  constexpr std::size_t kLongest = 80;
  std::size_t length = name.size();
  if (length > kLongest) {
    length = kLongest;
    while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0) == 0x80)
      --length;  // not inside a character
  }
  std::string text = "'";
  for (const char c : name.substr(0, length)) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20 || code == 0x7F) {
      text += fmt::format("\\x{:02x}", code);
    } else {
      text += c;
    }
  }
  return text + (length < name.size() ? "...'" : "'");
}

SafetensorsHeader parse_safetensors_header(std::span<const std::byte> json, std::uint64_t file_size,
                                           std::string_view file) {
  const std::string_view text(reinterpret_cast<const char*>(json.data()), json.size());
  // The parser would take a byte-order mark as a start and a zero byte as an end.
  check(text.starts_with('{'), kOp, "{}: header must begin with '{{'", file);
  check(text.find('\0') == std::string_view::npos, kOp, "{}: header is not text: it holds a zero byte", file);

  SafetensorsHeader header;
  // Text after the closing brace is refused by the parser, except for white space, which writers use as padding.
  HeaderReader reader(header, file, json.size());
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);

  // Empty tensors (begin == end) sort before the tensor that starts at the same byte.
  std::stable_sort(header.entries.begin(), header.entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_tiling(header, 8 + json.size(), file_size, file);
  return header;
}

}  // namespace detail
}  // namespace minigpt
