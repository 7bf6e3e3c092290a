#include "compiler/frontend/onnx/tensor_data.h"

#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/frontend/onnx/model_error.h"
#include "ops/evaluate.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler::onnx_import {
namespace {

template <typename To, typename Field>
std::string Pack(const Field& field) {
  std::string bytes(static_cast<size_t>(field.size()) * sizeof(To), '\0');
  char* at = bytes.data();
  for (const auto value : field) {
    const To converted = static_cast<To>(value);
    std::memcpy(at, &converted, sizeof(To));
    at += sizeof(To);
  }
  return bytes;
}

// The typed field that holds values of this type when raw_data does not.
std::string PackTypedField(const onnx::TensorProto& proto,
                           v1::ElementType type) {
  switch (type) {
    case v1::FLOAT32:
      return Pack<float>(proto.float_data());
    case v1::FLOAT64:
      return Pack<double>(proto.double_data());
    case v1::INT64:
      return Pack<int64_t>(proto.int64_data());
    case v1::UINT64:
      return Pack<uint64_t>(proto.uint64_data());
    case v1::UINT32:
      return Pack<uint32_t>(proto.uint64_data());
    case v1::INT32:
      return Pack<int32_t>(proto.int32_data());
    case v1::INT16:
      return Pack<int16_t>(proto.int32_data());
    case v1::UINT16:
    case v1::FLOAT16:
      return Pack<uint16_t>(proto.int32_data());
    case v1::INT8:
      return Pack<int8_t>(proto.int32_data());
    default:
      return Pack<uint8_t>(proto.int32_data());
  }
}

// Types that newer versions of the standard have than the library.
constexpr int32_t kUint4 = 21;
constexpr int32_t kInt4 = 22;
constexpr const char* kNewerTypes[] = {
    "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
    "UINT4",        "INT4",           "FLOAT4E2M1"};
constexpr int32_t kFirstNewerType = 17;

// Two values a byte, the first in the lower half, as one byte each.
std::string UnpackNibbles(absl::string_view packed, int64_t elements,
                          bool is_signed) {
  std::string values(static_cast<size_t>(elements), '\0');
  for (int64_t i = 0; i < elements; ++i) {
    const auto both = static_cast<uint8_t>(packed[i / 2]);
    int value = i % 2 == 0 ? both & 15 : both >> 4;
    if (is_signed && value >= 8) value -= 16;
    values[i] = static_cast<char>(value);
  }
  return values;
}

template <typename T, typename Out>
std::vector<Out> Unpack(absl::string_view bytes) {
  std::vector<Out> values(bytes.size() / sizeof(T));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<Out>(value);
  }
  return values;
}

template <typename T>
Tensor Constant(absl::string_view name, v1::ElementType type,
                std::vector<int64_t> shape, absl::Span<const T> values) {
  Tensor tensor;
  tensor.name = std::string(name);
  tensor.type = type;
  tensor.shape = std::move(shape);
  tensor.data = ConstantData(std::string(
      reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
  return tensor;
}

// The values of a constant as another element type; any two types convert.
ConstantData CastValues(const Tensor& constant, v1::ElementType type) {
  std::string values(
      static_cast<size_t>(constant.num_elements() * ElementBytes(type)), '\0');
  const std::string aligned(*constant.data);
  const ops::TensorView from = {constant.type, constant.shape, aligned.data()};
  const ops::MutableTensorView to = {type, constant.shape, values.data(), {}};
  v1::OpAttributes cast;
  cast.mutable_cast();
  if (!ops::Evaluate(cast, {from}, {to}).ok()) values.clear();
  return ConstantData(std::move(values));
}

}  // namespace

bool IsSaneShape(absl::Span<const int64_t> shape) {
  constexpr int64_t kMaxElementBytes = 8;
  if (shape.size() > ops::kMaxRank) return false;
  int64_t elements = 1;
  for (const int64_t extent : shape) {
    if (extent < 0) return false;
    const std::optional<int64_t> product =
        CheckedMul(elements, extent == 0 ? 1 : extent);
    if (!product.has_value() ||
        *product > ops::kMaxTensorBytes / kMaxElementBytes) {
      return false;
    }
    elements = *product;
  }
  return true;
}

absl::Status ImpossibleShape(absl::Span<const int64_t> shape, std::string where,
                             std::string fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = "MODEL_INVALID",
       .what =
           absl::StrCat("impossible shape [", absl::StrJoin(shape, ","), "]"),
       .where = std::move(where),
       .limit = absl::StrCat(ops::kMaxRank, " dimensions of at least 0, ",
                             ops::kMaxTensorBytes, " bytes"),
       .fix = std::move(fix)});
}

bool IsFloat(v1::ElementType type) {
  return type == v1::FLOAT16 || type == v1::FLOAT32 || type == v1::FLOAT64;
}

v1::ElementType ElementTypeOf(int32_t onnx_type) {
  switch (onnx_type) {
    case onnx::TensorProto::FLOAT:
      return v1::FLOAT32;
    case onnx::TensorProto::DOUBLE:
      return v1::FLOAT64;
    case onnx::TensorProto::FLOAT16:
      return v1::FLOAT16;
    case onnx::TensorProto::INT8:
      return v1::INT8;
    case onnx::TensorProto::UINT8:
      return v1::UINT8;
    case onnx::TensorProto::INT16:
      return v1::INT16;
    case onnx::TensorProto::UINT16:
      return v1::UINT16;
    case onnx::TensorProto::INT32:
      return v1::INT32;
    case onnx::TensorProto::UINT32:
      return v1::UINT32;
    case onnx::TensorProto::UINT64:
      return v1::UINT64;
    case onnx::TensorProto::INT64:
      return v1::INT64;
    case onnx::TensorProto::BOOL:
      return v1::BOOL;
    default:
      return v1::ELEMENT_TYPE_UNSPECIFIED;
  }
}

bool IsFourBit(int32_t onnx_type) {
  return onnx_type == kUint4 || onnx_type == kInt4;
}

v1::ElementType DecodedTypeOf(int32_t onnx_type) {
  if (onnx_type == kInt4) return v1::INT8;
  if (onnx_type == kUint4) return v1::UINT8;
  return ElementTypeOf(onnx_type);
}

std::string OnnxTypeName(int32_t onnx_type) {
  const int32_t newer = onnx_type - kFirstNewerType;
  if (newer >= 0 && newer < static_cast<int32_t>(std::size(kNewerTypes))) {
    return kNewerTypes[newer];
  }
  if (!onnx::TensorProto::DataType_IsValid(onnx_type)) {
    return absl::StrCat("type number ", onnx_type);
  }
  return onnx::TensorProto::DataType_Name(
      static_cast<onnx::TensorProto::DataType>(onnx_type));
}

absl::StatusOr<Tensor> DecodeTensor(const onnx::TensorProto& proto,
                                    absl::string_view name) {
  const ExternalData::Files no_files;
  ExternalData none(no_files);
  return BorrowTensor(proto, name, {}, none);
}

absl::StatusOr<Tensor> BorrowTensor(const onnx::TensorProto& proto,
                                    absl::string_view name,
                                    absl::string_view raw_data,
                                    ExternalData& files) {
  if (proto.has_segment()) {
    return TensorError(absl::StatusCode::kUnimplemented, name,
                       "its values are stored in segments",
                       "save the model again without segments");
  }
  Tensor tensor;
  tensor.name = std::string(name);
  const bool four_bit = IsFourBit(proto.data_type());
  tensor.type = DecodedTypeOf(proto.data_type());
  if (tensor.type == v1::ELEMENT_TYPE_UNSPECIFIED) {
    return TensorError(
        absl::StatusCode::kUnimplemented, name,
        absl::StrCat("element type ", OnnxTypeName(proto.data_type())),
        "export with float32 values");
  }
  tensor.shape.assign(proto.dims().begin(), proto.dims().end());
  const std::optional<int64_t> elements = CheckedProduct(tensor.shape);
  if (!elements.has_value() || !IsSaneShape(tensor.shape)) {
    return ImpossibleShape(tensor.shape, absl::StrCat("tensor '", name, "'"),
                           "export with a smaller input or smaller weights");
  }
  const int64_t bytes =
      four_bit ? (*elements + 1) / 2 : *elements * ElementBytes(tensor.type);
  if (proto.data_location() == onnx::TensorProto::EXTERNAL) {
    EK_ASSIGN_OR_RETURN(const absl::string_view values,
                        files.Values(proto, name, bytes));
    tensor.data = ConstantData::Borrowed(values);
  } else if (raw_data.data() != nullptr) {
    tensor.data = ConstantData::Borrowed(raw_data);
  } else if (proto.has_raw_data()) {
    tensor.data = ConstantData(std::string(proto.raw_data()));
  } else {
    tensor.data = ConstantData(PackTypedField(proto, tensor.type));
  }
  if (std::ssize(*tensor.data) != bytes) {
    return TensorError(
        absl::StatusCode::kInvalidArgument, name,
        absl::StrCat("has ", tensor.data->size(),
                     " bytes of values, its shape [",
                     absl::StrJoin(tensor.shape, ","), "] needs ", bytes),
        "the file is damaged or cut off: export it again");
  }
  if (four_bit) {
    tensor.data = ConstantData(
        UnpackNibbles(*tensor.data, *elements, tensor.type == v1::INT8));
  }
  return tensor;
}

Tensor FloatConstant(absl::string_view name, std::vector<int64_t> shape,
                     absl::Span<const float> values) {
  return Constant(name, v1::FLOAT32, std::move(shape), values);
}

Tensor Int64Constant(absl::string_view name, std::vector<int64_t> shape,
                     absl::Span<const int64_t> values) {
  return Constant(name, v1::INT64, std::move(shape), values);
}

Tensor NumberConstant(absl::string_view name, v1::ElementType type,
                      double value) {
  const double values[] = {value};
  Tensor number = Constant(name, v1::FLOAT64, {}, absl::MakeConstSpan(values));
  if (type == v1::FLOAT64) return number;
  number.data = CastValues(number, type);
  number.type = type;
  return number;
}

bool SetShape(Tensor& constant, absl::Span<const int64_t> shape) {
  if (constant.quantization && constant.quantization->per_channel()) {
    Quantization& quantization = *constant.quantization;
    const size_t axis = static_cast<size_t>(quantization.axis);
    const auto before = [](absl::Span<const int64_t> extents, size_t end) {
      return CheckedProduct(extents.first(end)).value_or(-1);
    };
    const int64_t outer = before(constant.shape, axis);
    size_t moved = 0;
    while (moved < shape.size() && (shape[moved] != constant.shape[axis] ||
                                    before(shape, moved) != outer)) {
      ++moved;
    }
    if (moved == shape.size()) return false;
    quantization.axis = static_cast<int32_t>(moved);
  }
  constant.shape.assign(shape.begin(), shape.end());
  return true;
}

absl::StatusOr<std::vector<int64_t>> IntegerValues(const Tensor& constant) {
  switch (constant.type) {
    case v1::INT64:
      return Unpack<int64_t, int64_t>(*constant.data);
    case v1::INT32:
      return Unpack<int32_t, int64_t>(*constant.data);
    case v1::UINT32:
      return Unpack<uint32_t, int64_t>(*constant.data);
    case v1::INT16:
      return Unpack<int16_t, int64_t>(*constant.data);
    case v1::UINT16:
      return Unpack<uint16_t, int64_t>(*constant.data);
    case v1::INT8:
      return Unpack<int8_t, int64_t>(*constant.data);
    case v1::BOOL:
    case v1::UINT8:
      return Unpack<uint8_t, int64_t>(*constant.data);
    default:
      return TensorError(absl::StatusCode::kInvalidArgument, constant.name,
                         "must hold integers", "export the model again");
  }
}

absl::StatusOr<std::vector<double>> Numbers(const Tensor& constant) {
  if (constant.type == v1::FLOAT32) {
    return Unpack<float, double>(*constant.data);
  }
  const ConstantData values = constant.type == v1::FLOAT64
                                  ? constant.data
                                  : CastValues(constant, v1::FLOAT64);
  return Unpack<double, double>(*values);
}

absl::StatusOr<std::vector<float>> FloatValues(const Tensor& constant) {
  EK_ASSIGN_OR_RETURN(const std::vector<double> values, Numbers(constant));
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace edgekiln::compiler::onnx_import
