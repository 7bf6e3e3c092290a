#ifndef EK_COMPILER_FRONTEND_TFLITE_CONVERSION_H_
#define EK_COMPILER_FRONTEND_TFLITE_CONVERSION_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/tflite/graph_builder.h"
#include "compiler/frontend/tflite/schema_generated.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler::tflite_import {

using Shape = std::vector<int64_t>;

// One operator of the file on its way into the graph: what its converter reads
// of it and writes with. An operator may need several ops; the one that gives
// an output of the operator carries that output's name, the others have a
// `role` that tells them apart.
//
// Errors name neither operator nor index: the caller knows them.
class Conversion {
 public:
  Conversion(const tflite::Operator& from, tflite::BuiltinOperator code,
             std::vector<TensorId> inputs, std::vector<TensorId> outputs,
             std::string fallback_id, GraphBuilder& builder);

  const tflite::Operator& from() const { return from_; }
  tflite::BuiltinOperator code() const { return code_; }
  GraphBuilder& builder() { return builder_; }

  // --- Reading ---

  size_t num_inputs() const { return inputs_.size(); }
  size_t num_outputs() const { return outputs_.size(); }
  bool Has(size_t input) const;
  // INVALID_ARGUMENT if it is absent.
  absl::StatusOr<TensorId> Input(size_t index) const;
  // Absent inputs are kNoTensor.
  TensorId OptionalInput(size_t index) const;
  TensorId output(size_t index = 0) const { return outputs_[index]; }
  const Tensor& tensor(TensorId id) const { return builder_.tensor(id); }
  Shape shape(TensorId id) const { return tensor(id).shape; }
  // Input and its shape, which must have `rank` dimensions.
  absl::StatusOr<Shape> ShapeOfRank(size_t input, size_t rank) const;
  // Integers of a constant input.
  absl::StatusOr<std::vector<int64_t>> Ints(size_t input) const;
  absl::StatusOr<int64_t> Int(size_t input) const;  // Of one element.

  // Replaces constant inputs that are quantized or FLOAT16 by their FLOAT32
  // values, if `activation` is FLOAT32: weights quantized for size only.
  absl::Status DequantizeWeights(size_t activation);

  // --- Writing ---

  // An op of one output with the element type and quantization of `like`; its
  // shape is inferred.
  absl::StatusOr<TensorId> Emit(absl::string_view role,
                                v1::OpAttributes attributes,
                                std::vector<TensorId> inputs, TensorId like);
  absl::StatusOr<TensorId> Reshape(absl::string_view role, TensorId x,
                                   Shape shape);
  absl::StatusOr<TensorId> Transpose(absl::string_view role, TensorId x,
                                     const std::vector<int32_t>& permutation);

  // The op that gives an output of the operator.
  absl::Status Write(v1::OpAttributes attributes, std::vector<TensorId> inputs,
                     size_t output = 0);
  // The same with a fused activation: a clamp of the op if it has one, else an
  // op of its own.
  absl::Status WriteActivated(v1::OpAttributes attributes,
                              std::vector<TensorId> inputs,
                              tflite::ActivationFunctionType activation);
  // The op that gives all outputs listed, of any operator.
  absl::Status WriteAll(v1::OpAttributes attributes,
                        std::vector<TensorId> inputs,
                        std::vector<TensorId> outputs);
  absl::Status WriteReshape(TensorId x, Shape shape, size_t output = 0);
  absl::Status WriteTranspose(TensorId x,
                              const std::vector<int32_t>& permutation);
  // The output is known now.
  absl::Status WriteConstant(Shape shape, std::string data);

 private:
  absl::Status AdoptShape(TensorId id, const Shape& inferred);

  const tflite::Operator& from_;
  const tflite::BuiltinOperator code_;
  std::vector<TensorId> inputs_;
  const std::vector<TensorId> outputs_;
  const std::string fallback_id_;
  GraphBuilder& builder_;
};

// INVALID_ARGUMENT about an operator without the table that belongs to it.
absl::Status MissingOptions(absl::string_view table);

// `axis` in [0, rank); negative ones count from the end.
absl::StatusOr<int32_t> NormalAxis(int64_t axis, size_t rank);

// Sets the bounds; UNIMPLEMENTED for activations that are no clamp.
absl::Status SetClamp(tflite::ActivationFunctionType activation,
                      v1::Clamp& clamp);

}  // namespace edgekiln::compiler::tflite_import

#endif  // EK_COMPILER_FRONTEND_TFLITE_CONVERSION_H_
