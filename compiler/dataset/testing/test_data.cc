#include "compiler/dataset/testing/test_data.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "compiler/dataset/inflate.h"
#include "compiler/dataset/npz.h"

namespace edgekiln::compiler {

v1::TensorType Type(v1::ElementType element, std::vector<int64_t> shape,
                    float scale, int zero_point) {
  v1::TensorType type;
  type.set_name("in");
  type.set_element_type(element);
  for (const int64_t extent : shape) type.add_shape(extent);
  if (scale != 0) {
    type.mutable_quantization()->add_scale(scale);
    type.mutable_quantization()->add_zero_point(zero_point);
  }
  return type;
}

NpyArray U8(std::vector<int64_t> shape, std::vector<uint8_t> values) {
  return Array(NpyType::kUint8, std::move(shape), std::move(values));
}

NpyArray I8(std::vector<int64_t> shape, std::vector<int8_t> values) {
  return Array(NpyType::kInt8, std::move(shape), std::move(values));
}

NpyArray F32(std::vector<int64_t> shape, std::vector<float> values) {
  return Array(NpyType::kFloat32, std::move(shape), std::move(values));
}

NpyArray Bytes(std::vector<int64_t> shape, std::string data) {
  return NpyArray{NpyType::kUint8, std::move(shape), std::move(data)};
}

std::string Npz(const Arrays& arrays) {
  const auto npz = WriteNpz(arrays);
  return npz.ok() ? *npz : std::string();
}

std::string SmallNpz() {
  return Npz({{"x", Bytes({2, 2}, "abcd")}, {"y", Bytes({2}, "\x01\x02")}});
}

std::string IdxImages() {
  return std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x02", 16) + "abcd";
}

std::string IdxLabels() {
  return std::string("\0\0\x08\x01\0\0\0\x02", 8) + "\x07\x03";
}

std::string Gzip(const std::string& bytes) {
  std::string gzip("\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
  gzip += DeflateRaw(bytes);
  for (const uint32_t word :
       {Crc32(bytes), static_cast<uint32_t>(bytes.size())}) {
    for (int shift = 0; shift < 32; shift += 8) {
      gzip += static_cast<char>(word >> shift);
    }
  }
  return gzip;
}

std::string Reason(const absl::Status& status) {
  const auto detail = GetErrorDetail(status);
  return detail ? detail->reason : status.ToString();
}

std::string Describe(const absl::StatusOr<NpyArray>& array) {
  if (!array.ok()) return Reason(array.status());
  std::string out =
      absl::StrCat(NpyTypeName(array->type), " ", ShapeText(array->shape), ":");
  for (int64_t i = 0; i < array->elements(); ++i) {
    absl::StrAppend(&out, " ", NpyValue(*array, i));
  }
  return out;
}

}  // namespace edgekiln::compiler
