#include "compiler/dataset/npy.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/dataset/little_endian.h"
#include "compiler/dataset/npy_header.h"

namespace edgekiln::compiler {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
constexpr size_t kAlignment = 64;  // Of the values, as numpy writes.

struct TypeRow {
  NpyType type;
  absl::string_view code;  // Of `descr`, without the byte order.
  absl::string_view name;
  int64_t bytes;
  bool is_float;
};

// In the order of NpyType.
constexpr std::array<TypeRow, 12> kTypes = {{
    {NpyType::kBool, "b1", "bool", 1, false},
    {NpyType::kInt8, "i1", "int8", 1, false},
    {NpyType::kUint8, "u1", "uint8", 1, false},
    {NpyType::kInt16, "i2", "int16", 2, false},
    {NpyType::kUint16, "u2", "uint16", 2, false},
    {NpyType::kInt32, "i4", "int32", 4, false},
    {NpyType::kUint32, "u4", "uint32", 4, false},
    {NpyType::kInt64, "i8", "int64", 8, false},
    {NpyType::kUint64, "u8", "uint64", 8, false},
    {NpyType::kFloat16, "f2", "float16", 2, true},
    {NpyType::kFloat32, "f4", "float32", 4, true},
    {NpyType::kFloat64, "f8", "float64", 8, true},
}};

const TypeRow& Row(NpyType type) { return kTypes[static_cast<size_t>(type)]; }

absl::Status Damaged(absl::string_view what, absl::string_view name) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "DATA_CORRUPT",
                    .what = absl::StrCat("damaged .npy array: ", what),
                    .where = std::string(name),
                    .fix = "write the array again with numpy.save"});
}

absl::StatusOr<NpyType> TypeOf(absl::string_view descr,
                               absl::string_view name) {
  if (descr.size() >= 2) {
    const char order = descr[0];
    for (const TypeRow& row : kTypes) {
      if (descr.substr(1) != row.code) continue;
      const bool ordered = order == '<' || order == '>';
      if (ordered || (order == '|' && row.bytes == 1)) return row.type;
    }
  }
  const bool objects = descr.find('O') != absl::string_view::npos;
  return MakeError(
      absl::StatusCode::kUnimplemented,
      {.reason = "DATA_UNSUPPORTED",
       .what = objects ? std::string("an array of Python objects")
                       : absl::StrCat("element type '", descr, "'"),
       .where = std::string(name),
       .need = "bool, int or uint of 8 to 64 bits, or float16/32/64",
       .fix = objects ? "save numbers: numpy.stack() of arrays of one shape"
                      : "convert the array with numpy's astype before "
                        "saving"});
}

// Values of a Fortran-order array in C order.
std::string ToRowMajor(absl::string_view in, absl::Span<const int64_t> shape,
                       size_t element_bytes) {
  std::string out(in.size(), '\0');
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t to = 0; to < in.size(); to += element_bytes) {
    size_t from = 0;
    for (size_t d = shape.size(); d-- > 0;) {
      from =
          from * static_cast<size_t>(shape[d]) + static_cast<size_t>(index[d]);
    }
    std::memcpy(out.data() + to, in.data() + from * element_bytes,
                element_bytes);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
  return out;
}

// Of each element.
void ReverseBytes(int64_t element_bytes, std::string& values) {
  for (auto at = values.begin(); at != values.end(); at += element_bytes) {
    std::reverse(at, at + element_bytes);
  }
}

double HalfToDouble(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half >> 15) << 31;
  const uint32_t exponent = (half >> 10) & 0x1f;
  const uint32_t fraction = half & 0x3ff;
  if (exponent == 0) {
    const double value = fraction * 0x1.0p-24;
    return sign ? -value : value;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

}  // namespace

int64_t NpyTypeBytes(NpyType type) { return Row(type).bytes; }
absl::string_view NpyTypeName(NpyType type) { return Row(type).name; }
bool IsFloat(NpyType type) { return Row(type).is_float; }

int64_t NpyArray::elements() const {
  return static_cast<int64_t>(data.size()) / NpyTypeBytes(type);
}

double NpyValue(const NpyArray& array, int64_t index) {
  return NpyValueAt(array.type,
                    array.data.data() + index * NpyTypeBytes(array.type));
}

double NpyValueAt(NpyType type, const char* at) {
  switch (type) {
    case NpyType::kBool:
      return *at != 0;
    case NpyType::kInt8:
      return LoadAs<int8_t>(at);
    case NpyType::kUint8:
      return LoadAs<uint8_t>(at);
    case NpyType::kInt16:
      return LoadAs<int16_t>(at);
    case NpyType::kUint16:
      return LoadAs<uint16_t>(at);
    case NpyType::kInt32:
      return LoadAs<int32_t>(at);
    case NpyType::kUint32:
      return LoadAs<uint32_t>(at);
    case NpyType::kUint64:
      return static_cast<double>(LoadAs<uint64_t>(at));
    case NpyType::kInt64:
      return static_cast<double>(LoadAs<int64_t>(at));
    case NpyType::kFloat16:
      return HalfToDouble(LoadAs<uint16_t>(at));
    case NpyType::kFloat32:
      return LoadAs<float>(at);
    case NpyType::kFloat64:
      return LoadAs<double>(at);
  }
  return 0;
}

std::string ShapeText(absl::Span<const int64_t> shape) {
  return shape.empty() ? "scalar" : absl::StrJoin(shape, "x");
}

absl::StatusOr<NpyInfo> ParseNpyStart(absl::string_view bytes,
                                      int64_t file_bytes,
                                      absl::string_view name) {
  if (bytes.size() < 10 || bytes.substr(0, kMagic.size()) != kMagic) {
    return Damaged("no \\x93NUMPY at its start", name);
  }
  const int version = static_cast<uint8_t>(bytes[6]);
  if (version < 1 || version > 3) {
    return MakeError(absl::StatusCode::kUnimplemented,
                     {.reason = "DATA_UNSUPPORTED",
                      .what = absl::StrCat(".npy format version ", version),
                      .where = std::string(name),
                      .limit = "versions 1 to 3",
                      .fix = "write the array again with numpy.save"});
  }
  const size_t length_bytes = version == 1 ? 2 : 4;
  const size_t start = 8 + length_bytes;
  if (bytes.size() < start) return Damaged("header is cut off", name);
  const size_t header_bytes = version == 1 ? LoadAs<uint16_t>(bytes.data() + 8)
                                           : LoadAs<uint32_t>(bytes.data() + 8);
  if (header_bytes > bytes.size() - start) {
    return Damaged("header is cut off", name);
  }
  EK_ASSIGN_OR_RETURN(const NpyHeader header,
                      ParseNpyHeader(bytes.substr(start, header_bytes), name),
                      "reading array");
  EK_ASSIGN_OR_RETURN(const NpyType type, TypeOf(header.descr, name),
                      "reading array");
  const int64_t values =
      file_bytes - static_cast<int64_t>(start + header_bytes);
  const auto elements = CheckedProduct(header.shape);
  const auto wanted =
      elements ? CheckedMul(*elements, NpyTypeBytes(type)) : std::nullopt;
  if (!wanted || *wanted != values) {
    return Damaged(absl::StrCat("shape ", ShapeText(header.shape), " of ",
                                NpyTypeName(type), " does not fit ", values,
                                " bytes of values"),
                   name);
  }
  return NpyInfo{type, header.fortran_order, header.shape,
                 static_cast<int64_t>(start + header_bytes),
                 header.descr[0] == '>'};
}

absl::StatusOr<NpyArray> ParseNpy(absl::string_view bytes,
                                  absl::string_view name) {
  EK_ASSIGN_OR_RETURN(
      NpyInfo info,
      ParseNpyStart(bytes, static_cast<int64_t>(bytes.size()), name),
      "reading array");
  const absl::string_view values =
      bytes.substr(static_cast<size_t>(info.header_bytes));
  NpyArray array{info.type, std::move(info.shape), std::string()};
  array.data = info.fortran_order && array.shape.size() > 1
                   ? ToRowMajor(values, array.shape,
                                static_cast<size_t>(NpyTypeBytes(info.type)))
                   : std::string(values);
  if (info.big_endian) ReverseBytes(NpyTypeBytes(info.type), array.data);
  return array;
}

bool IsNpy(absl::string_view bytes) { return absl::StartsWith(bytes, kMagic); }

std::string EncodeNpy(const NpyArray& array) {
  const TypeRow& row = Row(array.type);
  std::string header = absl::StrCat(
      "{'descr': '", row.bytes == 1 ? "|" : "<", row.code,
      "', 'fortran_order': False, 'shape': (", absl::StrJoin(array.shape, ", "),
      array.shape.size() == 1 ? "," : "", "), }");
  const size_t prefix = kMagic.size() + 4;
  const size_t used = prefix + header.size() + 1;
  header.append((kAlignment - used % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\0';
  AppendAs<uint16_t>(static_cast<uint16_t>(header.size()), out);
  absl::StrAppend(&out, header, array.data);
  return out;
}

}  // namespace edgekiln::compiler
