#pragma once
// Reading and writing safetensors, the open file format for tensors.
//
//   bytes 0-7       length n of the header, little-endian
//   bytes 8-(8+n)   JSON header: name -> dtype, shape, byte range (nn/safetensors_header.h)
//   the rest        the tensors' elements, little-endian, row-major, without gaps
//
// The reader trusts nothing: a file that is cut off, damaged or something else altogether is refused with a
// message that says what is wrong, before anything is taken from it. Source:
// github.com/huggingface/safetensors, README, section "Format".

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/safetensors_header.h"

namespace minigpt {

// A validated safetensors file, held in memory.
class SafetensorsFile {
 public:
  using Entry = SafetensorsEntry;

  // Reads a file. Throws Error, beginning with the path, if it can't be read, is not a safetensors file (the
  // message names what it seems to be: HTML, a zip archive, a Git LFS pointer, ...), is incomplete, or
  // contradicts itself, or differs from the checksum in it (nn/safetensors_seal.h). Sizes are compared before
  // memory is asked for.
  static SafetensorsFile open(const std::filesystem::path& path);

  // The same for bytes in memory, which are copied; `name` stands for the path in messages.
  static SafetensorsFile parse(std::span<const std::byte> bytes, std::string_view name);

  // The free text of the header, "__metadata__"; empty if there is none.
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  // All tensors, in the order of their bytes (not of the header, which may list them in any order).
  const std::vector<Entry>& entries() const { return header_.entries; }

  // The tensor of that name, or nullptr. The pointer lives as long as this object.
  const Entry* find(std::string_view name) const;

  // The stored bytes of a tensor of this file, as they are. They may start at any address: never cast the
  // pointer.
  std::span<const std::byte> bytes(const Entry& entry) const;

  // Copies a tensor's elements into `out`, converted to T:
  //   float, double <- F32, F64    (F64 is rounded to the nearest float)
  //   int32         <- I32, I64
  //   bool          <- BOOL
  // Throws Error for any other dtype, which is named and never reinterpreted; if out.size() is not the number
  // of elements; if a value does not fit in T; if a BOOL is neither 0 nor 1.
  template <class T>
  void copy(const Entry& entry, std::span<T> out) const;

 private:
  std::string name_;
  std::vector<std::byte> file_;
  std::size_t data_start_ = 0;
  detail::SafetensorsHeader header_;
  std::vector<std::size_t> by_name_;  // indices into the entries, in the order of their names

  void index();
};

// Collects tensors and writes them as one file.
//
// The header is padded with spaces to a multiple of 8 bytes, and tensors are stored by falling element size,
// in the order they were added within one size. So every tensor starts at a multiple of its element size, and
// the same calls give the same bytes.
class SafetensorsWriter {
 public:
  // Adds a tensor from its little-endian bytes. Throws Error if the name is taken, is
  // "__metadata__" or is not UTF-8, the dtype is unknown, or the shape does not fit the number of bytes.
  void add(std::string name, std::string dtype, std::vector<std::int64_t> shape, std::vector<std::byte> data);

  // Adds a tensor from its elements: float -> F32, double -> F64, int32 -> I32, bool -> BOOL. Throws as
  // above.
  template <class T>
  void add(std::string name, std::vector<std::int64_t> shape, std::span<const T> values);

  // Sets one entry of the free text; a later value replaces an earlier one. Throws Error if a text is not
  // UTF-8.
  void set_metadata(std::string key, std::string value);

  // The complete file. Throws Error if its header would be longer than a reader accepts (100 MB).
  std::vector<std::byte> bytes() const;

  // Writes the file, completely or not at all (write_file_atomically). Throws RunError if it can't be
  // written.
  void write(const std::filesystem::path& path) const;
  // The same with the file's checksum in its header (nn/safetensors_seal.h); returns the checksum.
  std::string write_sealed(const std::filesystem::path& path);

 private:
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<std::int64_t> shape;
    std::vector<std::byte> data;
  };
  // The file in pieces: the header, which is made in `start`, and the data of each tensor.
  std::vector<std::span<const std::byte>> pieces(std::vector<std::byte>& start) const;

  std::vector<Tensor> tensors_;
  std::map<std::string, std::string> metadata_;
};

namespace detail {

// Checks all that the first bytes of a file can tell (512 are enough) against its size; returns the length of
// the header. Throws Error as SafetensorsFile::open does.
std::uint64_t check_safetensors_start(std::span<const std::byte> head, std::uint64_t file_size,
                                      std::string_view file);

// What a file that is not safetensors seems to be, judged by its first bytes ("an HTML page"); empty if
// unknown.
std::string recognise_file_type(std::span<const std::byte> head);

}  // namespace detail
}  // namespace minigpt
