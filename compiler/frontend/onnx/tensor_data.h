#ifndef EK_COMPILER_FRONTEND_ONNX_TENSOR_DATA_H_
#define EK_COMPILER_FRONTEND_ONNX_TENSOR_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/onnx/external_data.h"
#include "compiler/ir/graph.h"
#include "onnx/onnx_pb.h"

// Values of constants: decoding them, and the few things that are done to them
// while the graph is read. All functions are pure, and take borrowed data.
namespace edgekiln::compiler::onnx_import {

// Larger constants made during import (not read from the file) are refused: a
// small file must not cost much memory.
inline constexpr int64_t kMaxMadeConstantBytes = int64_t{2} << 20;

// The same for all of them together, given the size of the model.
inline int64_t MaxMadeConstantBytes(int64_t model_bytes) {
  return 4 * model_bytes + kMaxMadeConstantBytes;
}

// Whether a tensor may have this shape: rank and bytes within the limits of
// ops/shape_inference.h, also if an extent of 0 were 1, so that strides of
// empty tensors do not overflow either.
bool IsSaneShape(absl::Span<const int64_t> shape);
// INVALID_ARGUMENT for one that is not: `where` is the tensor.
absl::Status ImpossibleShape(absl::Span<const int64_t> shape, std::string where,
                             std::string fix);

// Whether it is FLOAT16, FLOAT32 or FLOAT64.
bool IsFloat(v1::ElementType type);

// Our element type, or ELEMENT_TYPE_UNSPECIFIED for those we do not know.
v1::ElementType ElementTypeOf(int32_t onnx_type);

// Whether the type is int4 or uint4. Constants of these are decoded into the
// same values as int8 or uint8.
bool IsFourBit(int32_t onnx_type);

// The element type of decoded constants: ElementTypeOf(), and that.
v1::ElementType DecodedTypeOf(int32_t onnx_type);

// "float", "bfloat16", ... for messages.
std::string OnnxTypeName(int32_t onnx_type);

// A constant tensor named `name` from its stored form. Checks that the stored
// values are exactly as many as the shape says.
absl::StatusOr<Tensor> DecodeTensor(const onnx::TensorProto& proto,
                                    absl::string_view name);
// The same, its data perhaps borrowed: from `raw_data`, which counts as the
// field of `proto` if it has an address, or from one of `files`, where values
// in another file come from, and from nowhere else.
absl::StatusOr<Tensor> BorrowTensor(const onnx::TensorProto& proto,
                                    absl::string_view name,
                                    absl::string_view raw_data,
                                    ExternalData& files);

// A constant with the given values.
Tensor FloatConstant(absl::string_view name, std::vector<int64_t> shape,
                     absl::Span<const float> values);
Tensor Int64Constant(absl::string_view name, std::vector<int64_t> shape,
                     absl::Span<const int64_t> values);
// One number without dimensions.
Tensor NumberConstant(absl::string_view name, v1::ElementType type,
                      double value);

// Gives a constant another shape of as many elements. False, and nothing done,
// if its channels would lie on no axis.
bool SetShape(Tensor& constant, absl::Span<const int64_t> shape);

// Values of a constant of any integer type, or BOOL. INVALID_ARGUMENT for other
// types and for a uint64 that is too large.
absl::StatusOr<std::vector<int64_t>> IntegerValues(const Tensor& constant);
// Values of a constant of any type, those of 64 bits perhaps rounded.
absl::StatusOr<std::vector<double>> Numbers(const Tensor& constant);
// The same, rounded to float.
absl::StatusOr<std::vector<float>> FloatValues(const Tensor& constant);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_TENSOR_DATA_H_
