#include "tests/support/npz_writer.h"

#include <zlib.h>

#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/file.h"

namespace edgekiln::tests {
namespace {

// `value` as `bytes` little-endian bytes.
std::string Number(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) {
    out += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  return out;
}

// What local header and directory entry have in common.
std::string EntryFields(const std::string& name, const std::string& bytes) {
  const uint64_t crc = crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
                             static_cast<uInt>(bytes.size()));
  // Version 2.0, no flags, stored, no time, 1 January 1980.
  return absl::StrCat(Number(20, 2), Number(0, 2), Number(0, 2), Number(0, 2),
                      Number(0x21, 2), Number(crc, 4), Number(bytes.size(), 4),
                      Number(bytes.size(), 4), Number(name.size(), 2),
                      Number(0, 2));
}

}  // namespace

std::string NpyBytes(const NpyArray& array) {
  std::string header = absl::StrCat("{'descr': '", array.dtype,
                                    "', 'fortran_order': False, 'shape': (",
                                    absl::StrJoin(array.shape, ", "),
                                    array.shape.size() == 1 ? ",), }" : "), }");
  // The data starts at a multiple of 64 bytes.
  while ((10 + header.size() + 1) % 64 != 0) header += ' ';
  header += '\n';
  return absl::StrCat(std::string("\x93NUMPY\x01\x00", 8),
                      Number(header.size(), 2), header, array.data);
}

std::string NpzBytes(const std::map<std::string, NpyArray>& arrays) {
  std::string zip;
  std::string directory;
  for (const auto& [key, array] : arrays) {
    const std::string name = absl::StrCat(key, ".npy");
    const std::string bytes = NpyBytes(array);
    const std::string fields = EntryFields(name, bytes);
    absl::StrAppend(&directory, "PK\x01\x02", Number(20, 2), fields,
                    Number(0, 2), Number(0, 2), Number(0, 2), Number(0, 4),
                    Number(zip.size(), 4), name);
    absl::StrAppend(&zip, "PK\x03\x04", fields, name, bytes);
  }
  const std::string end =
      absl::StrCat("PK\x05\x06", Number(0, 4), Number(arrays.size(), 2),
                   Number(arrays.size(), 2), Number(directory.size(), 4),
                   Number(zip.size(), 4), Number(0, 2));
  return absl::StrCat(zip, directory, end);
}

absl::Status WriteNpz(const std::string& path,
                      const std::map<std::string, NpyArray>& arrays) {
  return WriteAtomically(*NewPosixFileSystem(), path, NpzBytes(arrays));
}

absl::StatusOr<NpyArray> Stack(absl::Span<const NpyArray> samples) {
  if (samples.empty()) return absl::InvalidArgumentError("nothing to stack");
  NpyArray out = samples[0];
  out.data.clear();
  for (const NpyArray& sample : samples) {
    if (sample.dtype != out.dtype || sample.shape != samples[0].shape ||
        sample.shape.empty() || sample.shape[0] != 1) {
      return absl::InvalidArgumentError("samples differ in type or shape");
    }
    out.data += sample.data;
  }
  out.shape[0] = static_cast<int64_t>(samples.size());
  return out;
}

}  // namespace edgekiln::tests
