#include "tests/support/npz.h"

#include <zlib.h>

#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/checked_math.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace edgekiln::tests {
namespace {

absl::Status Malformed(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("npz: ", what));
}

// Little-endian number of `size` bytes at `at`; empty beyond the end.
std::optional<uint64_t> Number(absl::string_view bytes, size_t at, int size) {
  if (at > bytes.size() || bytes.size() - at < static_cast<size_t>(size)) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (int i = size - 1; i >= 0; --i) {
    value = value << 8 | static_cast<uint8_t>(bytes[at + i]);
  }
  return value;
}

struct ZipEntry {
  std::string name;
  uint64_t method = 0;  // 0 stored, 8 deflated.
  uint64_t packed_bytes = 0;
  uint64_t bytes = 0;
  uint64_t header_offset = 0;
};

absl::StatusOr<std::string> Inflate(absl::string_view packed, uint64_t bytes) {
  // Deflate gains at most a factor of 1032.
  if (bytes / 1100 > packed.size()) return Malformed("impossible size");
  std::string out(bytes, '\0');
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return Malformed("zlib");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = inflate(&stream, Z_FINISH);
  const bool whole = result == Z_STREAM_END && stream.total_out == bytes;
  inflateEnd(&stream);
  if (!whole) return Malformed("deflated data is damaged");
  return out;
}

absl::StatusOr<std::string> Unpack(absl::string_view zip,
                                   const ZipEntry& entry) {
  const auto name_bytes = Number(zip, entry.header_offset + 26, 2);
  const auto extra_bytes = Number(zip, entry.header_offset + 28, 2);
  if (!name_bytes || !extra_bytes) return Malformed("local header");
  const uint64_t start = entry.header_offset + 30 + *name_bytes + *extra_bytes;
  if (start > zip.size() || zip.size() - start < entry.packed_bytes) {
    return Malformed("entry beyond the end");
  }
  const absl::string_view packed = zip.substr(start, entry.packed_bytes);
  if (entry.method == 0) return std::string(packed);
  if (entry.method == 8) return Inflate(packed, entry.bytes);
  return Malformed("compression method");
}

// Position of the end-of-central-directory record.
std::optional<size_t> FindEnd(absl::string_view zip) {
  const size_t at = zip.rfind(absl::string_view("PK\x05\x06", 4));
  if (at == absl::string_view::npos) return std::nullopt;
  return at;
}

absl::StatusOr<std::vector<ZipEntry>> Entries(absl::string_view zip) {
  const std::optional<size_t> end = FindEnd(zip);
  if (!end) return Malformed("not a zip file");
  const auto count = Number(zip, *end + 10, 2);
  const auto directory = Number(zip, *end + 16, 4);
  if (!count || !directory) return Malformed("directory end");
  std::vector<ZipEntry> entries;
  size_t at = *directory;
  for (uint64_t i = 0; i < *count; ++i) {
    if (Number(zip, at, 4) != 0x02014B50u) return Malformed("directory");
    const auto name_bytes = Number(zip, at + 28, 2);
    const auto extra_bytes = Number(zip, at + 30, 2);
    const auto comment_bytes = Number(zip, at + 32, 2);
    const auto offset = Number(zip, at + 42, 4);
    if (!offset || zip.size() - at - 46 < *name_bytes) {
      return Malformed("directory entry");
    }
    entries.push_back({.name = std::string(zip.substr(at + 46, *name_bytes)),
                       .method = *Number(zip, at + 10, 2),
                       .packed_bytes = *Number(zip, at + 20, 4),
                       .bytes = *Number(zip, at + 24, 4),
                       .header_offset = *offset});
    at += 46 + *name_bytes + *extra_bytes + *comment_bytes;
  }
  return entries;
}

// The text behind "'key': " in the header dictionary, up to `end`.
absl::StatusOr<std::string> HeaderValue(absl::string_view header,
                                        absl::string_view key,
                                        absl::string_view end) {
  const std::string mark = absl::StrCat("'", key, "': ");
  const size_t at = header.find(mark);
  if (at == absl::string_view::npos) return Malformed(key);
  const absl::string_view rest = header.substr(at + mark.size());
  return std::string(rest.substr(0, rest.find(end)));
}

int64_t ElementBytes(absl::string_view dtype) {
  if (dtype == "|i1" || dtype == "|u1" || dtype == "|b1") return 1;
  if (dtype == "<i2" || dtype == "<u2" || dtype == "<f2") return 2;
  if (dtype == "<i4" || dtype == "<u4" || dtype == "<f4") return 4;
  if (dtype == "<i8" || dtype == "<u8" || dtype == "<f8") return 8;
  return 0;
}

}  // namespace

int64_t NpyArray::size() const { return CheckedProduct(shape).value_or(0); }

int64_t NpyArray::element_bytes() const { return ElementBytes(dtype); }

absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes) {
  if (!absl::StartsWith(bytes, "\x93NUMPY")) return Malformed("no npy magic");
  const int size_bytes = bytes.size() > 6 && bytes[6] == 1 ? 2 : 4;
  const auto header_bytes = Number(bytes, 8, size_bytes);
  const size_t start = 8 + static_cast<size_t>(size_bytes);
  if (!header_bytes || bytes.size() - start < *header_bytes) {
    return Malformed("npy header");
  }
  const absl::string_view header = bytes.substr(start, *header_bytes);
  if (absl::StrContains(header, "'fortran_order': True")) {
    return Malformed("Fortran order");
  }
  NpyArray array;
  EK_ASSIGN_OR_RETURN(std::string dtype, HeaderValue(header, "descr", ","));
  array.dtype =
      std::string(absl::StripPrefix(absl::StripSuffix(dtype, "'"), "'"));
  EK_ASSIGN_OR_RETURN(std::string shape, HeaderValue(header, "shape", ")"));
  for (absl::string_view extent : absl::StrSplit(absl::StripPrefix(shape, "("),
                                                 ',', absl::SkipWhitespace())) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(extent, &value)) return Malformed("shape");
    array.shape.push_back(value);
  }
  array.data = std::string(bytes.substr(start + *header_bytes));
  const auto elements = CheckedProduct(array.shape);
  if (array.element_bytes() == 0) {
    return absl::UnimplementedError(absl::StrCat("npz: dtype ", array.dtype));
  }
  if (!elements || CheckedMul(*elements, array.element_bytes()) !=
                       static_cast<int64_t>(array.data.size())) {
    return Malformed("data size does not match the shape");
  }
  return array;
}

absl::StatusOr<std::map<std::string, NpyArray>> ReadNpz(
    const std::string& path) {
  EK_ASSIGN_OR_RETURN(
      std::string zip,
      NewPosixFileSystem()->Read(path, std::numeric_limits<int64_t>::max()));
  EK_ASSIGN_OR_RETURN(std::vector<ZipEntry> entries, Entries(zip), path);
  std::map<std::string, NpyArray> arrays;
  for (const ZipEntry& entry : entries) {
    const std::string where = absl::StrCat(path, ": ", entry.name);
    EK_ASSIGN_OR_RETURN(std::string npy, Unpack(zip, entry), where);
    absl::StatusOr<NpyArray> array = ParseNpy(npy);
    if (absl::IsUnimplemented(array.status())) continue;
    EK_RETURN_IF_ERROR(array.status(), where);
    arrays[std::string(absl::StripSuffix(entry.name, ".npy"))] =
        *std::move(array);
  }
  return arrays;
}

}  // namespace edgekiln::tests
