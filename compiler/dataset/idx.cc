#include "compiler/dataset/idx.h"

#include <algorithm>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/inflate.h"
#include "compiler/dataset/npy_header.h"

namespace edgekiln::compiler {
namespace {

constexpr absl::string_view kGzipMagic("\x1f\x8b", 2);

std::optional<NpyType> TypeOf(int code) {
  switch (code) {
    case 0x08:
      return NpyType::kUint8;
    case 0x09:
      return NpyType::kInt8;
    case 0x0b:
      return NpyType::kInt16;
    case 0x0c:
      return NpyType::kInt32;
    case 0x0d:
      return NpyType::kFloat32;
    case 0x0e:
      return NpyType::kFloat64;
    default:
      return std::nullopt;
  }
}

uint32_t BigEndian32(const char* at) {
  uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<uint8_t>(at[i]);
  return value;
}

absl::Status Damaged(absl::string_view what, absl::string_view name) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_CORRUPT",
                    .what = absl::StrCat("damaged IDX file: ", what),
                    .where = std::string(name),
                    .fix = "fetch the file again"});
}

absl::StatusOr<NpyArray> ParsePlain(absl::string_view bytes,
                                    absl::string_view name) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) {
    return Damaged("no magic number", name);
  }
  const int code = static_cast<uint8_t>(bytes[2]);
  const size_t rank = static_cast<uint8_t>(bytes[3]);
  const std::optional<NpyType> type = TypeOf(code);
  if (!type || rank > kMaxNpyDimensions) {
    return MakeError(absl::StatusCode::kUnimplemented,
                     {.reason = "DATA_UNSUPPORTED",
                      .what = absl::StrCat("IDX of element type ", code,
                                           " and ", rank, " dimensions"),
                      .where = std::string(name),
                      .limit = absl::StrCat("types 8, 9, 11 to 14; ",
                                            kMaxNpyDimensions, " dimensions"),
                      .fix = "use an .npz data set"});
  }
  if (rank == 0 || bytes.size() < 4 + 4 * rank) {
    return Damaged("header is cut off", name);
  }
  NpyArray array{*type, {}, std::string()};
  for (size_t d = 0; d < rank; ++d) {
    array.shape.push_back(BigEndian32(bytes.data() + 4 + 4 * d));
  }
  const absl::string_view values = bytes.substr(4 + 4 * rank);
  const auto elements = CheckedProduct(array.shape);
  const auto wanted =
      elements ? CheckedMul(*elements, NpyTypeBytes(*type)) : std::nullopt;
  if (!wanted || *wanted != static_cast<int64_t>(values.size())) {
    return Damaged(
        absl::StrCat("shape ", ShapeText(array.shape), " does not fit ",
                     values.size(), " bytes of values"),
        name);
  }
  array.data = std::string(values);
  const size_t step = static_cast<size_t>(NpyTypeBytes(*type));
  if (step > 1) {
    for (auto at = array.data.begin(); at != array.data.end();
         at += static_cast<int64_t>(step)) {
      std::reverse(at, at + static_cast<int64_t>(step));
    }
  }
  return array;
}

}  // namespace

bool IsIdx(absl::string_view bytes) {
  return absl::StartsWith(bytes, kGzipMagic) ||
         (bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
          TypeOf(static_cast<uint8_t>(bytes[2])));
}

absl::StatusOr<NpyArray> ParseIdx(absl::string_view bytes,
                                  absl::string_view name) {
  if (!absl::StartsWith(bytes, kGzipMagic)) return ParsePlain(bytes, name);
  EK_ASSIGN_OR_RETURN(const std::string plain, InflateGzip(bytes, name),
                      "unpacking IDX file");
  return ParsePlain(plain, name);
}

}  // namespace edgekiln::compiler
