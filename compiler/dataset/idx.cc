#include "compiler/dataset/idx.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/byte_stream.h"
#include "compiler/dataset/inflate.h"
#include "compiler/dataset/npy_header.h"

namespace edgekiln::compiler {
namespace {

constexpr absl::string_view kGzipMagic("\x1f\x8b", 2);

bool IsGzip(absl::string_view bytes) {
  return absl::StartsWith(bytes, kGzipMagic);
}

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

// Of a file that is not gzip; `bytes` may end after the header.
absl::StatusOr<NpyInfo> ParseHeader(absl::string_view bytes,
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
  NpyInfo info;
  info.type = *type;
  info.big_endian = NpyTypeBytes(*type) > 1;
  info.header_bytes = static_cast<int64_t>(4 + 4 * rank);
  for (size_t d = 0; d < rank; ++d) {
    info.shape.push_back(BigEndian32(bytes.data() + 4 + 4 * d));
  }
  return info;
}

// What the header says that the values take.
absl::StatusOr<int64_t> ValueBytes(const NpyInfo& info,
                                   absl::string_view name) {
  const auto elements = CheckedProduct(info.shape);
  const auto bytes =
      elements ? CheckedMul(*elements, NpyTypeBytes(info.type)) : std::nullopt;
  if (bytes && *bytes <= kMaxDataSetBytes) return *bytes;
  return Damaged(absl::StrCat("shape ", ShapeText(info.shape),
                              " is larger than ", kMaxDataSetBytes, " bytes"),
                 name);
}

// What the file holds must be what its header says.
absl::Status CheckSize(absl::string_view bytes, const NpyInfo& info,
                       int64_t value_bytes, absl::string_view name) {
  if (IsGzip(bytes)) {
    if (value_bytes / kMaxDeflateRatio <= static_cast<int64_t>(bytes.size())) {
      return absl::OkStatus();
    }
    return Damaged(
        absl::StrCat("shape ", ShapeText(info.shape), " does not fit ",
                     bytes.size(), " compressed bytes"),
        name);
  }
  const int64_t values = static_cast<int64_t>(bytes.size()) - info.header_bytes;
  if (value_bytes == values) return absl::OkStatus();
  return Damaged(absl::StrCat("shape ", ShapeText(info.shape), " does not fit ",
                              values, " bytes of values"),
                 name);
}

}  // namespace

bool IsIdx(absl::string_view bytes) {
  return IsGzip(bytes) ||
         (bytes.size() >= 4 && bytes[0] == 0 && bytes[1] == 0 &&
          TypeOf(static_cast<uint8_t>(bytes[2])));
}

absl::StatusOr<NpyInfo> InspectIdx(absl::string_view bytes,
                                   absl::string_view name) {
  if (!IsGzip(bytes)) return ParseHeader(bytes, name);
  EK_ASSIGN_OR_RETURN(const std::string start,
                      InflateGzipPrefix(bytes, 4 + 4 * kMaxNpyDimensions, name),
                      "unpacking IDX file");
  return ParseHeader(start, name);
}

absl::StatusOr<std::unique_ptr<SampleReader>> IdxSamples(
    absl::string_view bytes, int64_t wanted, absl::string_view name) {
  EK_ASSIGN_OR_RETURN(const NpyInfo info, InspectIdx(bytes, name));
  EK_ASSIGN_OR_RETURN(const int64_t value_bytes, ValueBytes(info, name));
  EK_RETURN_IF_ERROR(CheckSize(bytes, info, value_bytes, name));
  ByteStream stream(bytes, IsGzip(bytes) ? Packing::kGzip : Packing::kNone,
                    name);
  EK_RETURN_IF_ERROR(stream.Skip(info.header_bytes), "unpacking IDX file");
  return NewSampleReader(std::move(stream), info, wanted, std::nullopt, name);
}

absl::StatusOr<NpyArray> ParseIdx(absl::string_view bytes,
                                  absl::string_view name) {
  EK_ASSIGN_OR_RETURN(const NpyInfo info, InspectIdx(bytes, name));
  const int64_t samples = info.shape[0];
  EK_ASSIGN_OR_RETURN(const auto reader, IdxSamples(bytes, samples, name));
  EK_ASSIGN_OR_RETURN(const absl::string_view values, reader->Next(samples),
                      "unpacking IDX file");
  NpyArray array{info.type, info.shape, std::string(values)};
  EK_RETURN_IF_ERROR(reader->Finish(), "unpacking IDX file");
  return array;
}

}  // namespace edgekiln::compiler
