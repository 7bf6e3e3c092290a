#ifndef EK_COMPILER_FRONTEND_ONNX_BUILDER_H_
#define EK_COMPILER_FRONTEND_ONNX_BUILDER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/onnx/node.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "compiler/ir/constant_pool.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/layer_id.h"

namespace edgekiln::compiler::onnx_import {

// What a result is besides its shape.
struct ResultType {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  std::optional<Quantization> quantization = std::nullopt;
};

// The graph while it grows: knows which tensor each ONNX value is, gives out
// unique names and ids, infers shapes, and computes what is constant already.
// Not thread-safe.
//
// A node may need several ops; each has a `role` that tells its id and its
// tensor apart from the others. The op that does the work has the role "".
//
// ONNX has no quantized tensors, only integers that a DequantizeLinear gives a
// meaning; the IR has. A value that QuantizeLinear made keeps its scale while
// ops only move it; everything else sees the bare integers (PlainInput).
class Builder {
 public:
  // `reserved` are the names of all values of the model: tensors that the
  // import makes up keep clear of them.
  Builder(std::string graph_name, std::set<std::string> reserved,
          int64_t model_bytes);

  absl::Status AddGraphInput(absl::string_view name, v1::ElementType type,
                             std::vector<int64_t> shape);
  // Borrowed data must live until Finish().
  absl::Status AddInitializer(Tensor constant);
  // In the innermost scope or one that it sees.
  bool HasValue(const std::string& name) const;
  TensorId value(const std::string& name) const;  // Must be there.

  // A scope of names for what is inlined: a branch or a loop body also sees
  // the names around it, the body of a function does not. Names of its tensors
  // start with `prefix`.
  void PushScope(absl::string_view prefix, bool sees_outer);
  void PopScope();
  const std::string& prefix() const { return scopes_.back().prefix; }
  // `name` is `id` in the innermost scope.
  absl::Status Define(const Node& node, const std::string& name, TensorId id);

  // --- Inputs of a node ---

  // The tensor, perhaps quantized; INVALID_ARGUMENT if it is absent or nothing
  // before this node made it.
  absl::StatusOr<TensorId> Input(const Node& node, int index) const;
  // The same without quantization: bare integers.
  absl::StatusOr<TensorId> PlainInput(const Node& node, int index);
  // PlainInput, and the element type must be a float.
  absl::StatusOr<TensorId> FloatInput(const Node& node, int index);
  // The same, and its value must be known now. UNIMPLEMENTED otherwise, saying
  // which graph inputs would have to be bound. Invalidated by whatever adds a
  // tensor.
  absl::StatusOr<const Tensor*> ConstantInput(const Node& node,
                                              int index) const;
  absl::StatusOr<std::vector<int64_t>> ConstantIntegers(const Node& node,
                                                        int index) const;
  // One number of any type.
  absl::StatusOr<double> ConstantNumber(const Node& node, int index) const;

  // Invalidated by whatever adds a tensor.
  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  const std::vector<int64_t>& shape(TensorId id) const {
    return graph_.tensors[id].shape;
  }
  int64_t rank(TensorId id) const {
    return static_cast<int64_t>(graph_.tensors[id].shape.size());
  }

  // Whether the value is constant, or a dequantized constant: weights.
  bool IsWeights(TensorId id) const {
    return tensor(id).is_constant() || ConstantBehind(id) != kNoTensor;
  }

  // --- Ops ---

  // Adds an op with one output of the inferred shape, or computes it at once
  // if all inputs are constant and that is cheap. Without `result` the type is
  // the one that follows from the inputs.
  absl::StatusOr<TensorId> Emit(const Node& node, absl::string_view role,
                                v1::OpAttributes attributes,
                                std::vector<TensorId> inputs);
  absl::StatusOr<TensorId> EmitAs(const Node& node, absl::string_view role,
                                  v1::OpAttributes attributes,
                                  std::vector<TensorId> inputs,
                                  ResultType result);
  // The same with several outputs.
  absl::StatusOr<std::vector<TensorId>> EmitAll(
      const Node& node, absl::string_view role, v1::OpAttributes attributes,
      std::vector<TensorId> inputs, absl::Span<const ResultType> results);

  // `x` with another shape, order or type; done at once if `x` is a constant,
  // on the constant behind it if `x` is a dequantized one, and `x` itself if
  // nothing changes.
  absl::StatusOr<TensorId> Reshape(const Node& node, absl::string_view role,
                                   TensorId x, std::vector<int64_t> shape);
  absl::StatusOr<TensorId> Transpose(const Node& node, absl::string_view role,
                                     TensorId x,
                                     std::vector<int32_t> permutation);
  absl::StatusOr<TensorId> Cast(const Node& node, absl::string_view role,
                                TensorId x, v1::ElementType type);
  absl::StatusOr<TensorId> BroadcastTo(const Node& node, absl::string_view role,
                                       TensorId x, std::vector<int64_t> shape);
  // factor * x.
  absl::StatusOr<TensorId> Scale(const Node& node, absl::string_view role,
                                 TensorId x, float factor);
  // A constant without dimensions, of the type of `like`.
  TensorId Scalar(const Node& node, TensorId like, double value);
  // Adds a constant; its name is made unique.
  TensorId AddConstant(Tensor constant);

  // --- Quantization ---

  // Constants that the model has as int4 or uint4, and we as int8 or uint8.
  void MarkFourBit(TensorId id) { four_bit_.insert(id); }
  bool IsFourBit(TensorId id) const { return four_bit_.contains(id); }

  // The integers of `x`, quantized or not, with the meaning `quantization`.
  absl::StatusOr<TensorId> Quantized(const Node& node, absl::string_view role,
                                     TensorId x, const Quantization& wanted);
  // The bare integers of `x`.
  absl::StatusOr<TensorId> Unquantized(const Node& node, absl::string_view role,
                                       TensorId x);

  // Bytes of constants that did not come from the file; how many of them may be
  // made of others, in about as many steps, depends on the size of the model:
  // what would be more is left to run time.
  int64_t made_constant_bytes() const { return made_constant_bytes_; }
  bool MayMake(int64_t bytes) const {
    return bytes <= max_made_constant_bytes_ - made_constant_bytes_;
  }

  // `id` is the value of the node's output. A tensor that already has a name
  // of its own is copied, so that every value of the model keeps its name.
  absl::Status Bind(const Node& node, int output, TensorId id);

  // The finished graph with these values as outputs, without what no output
  // needs. Not to be used after.
  absl::StatusOr<Graph> Finish(absl::Span<const std::string> outputs);

 private:
  struct Scope {
    std::map<std::string, TensorId> values;
    std::string prefix;
    bool sees_outer = false;
  };

  std::optional<TensorId> Find(const std::string& name) const;
  TensorId AddTensor(Tensor tensor, bool named);
  std::string UniqueName(absl::string_view wanted);
  std::string OpId(const Node& node, absl::string_view role);
  TensorId AddCopy(absl::string_view name, TensorId source);
  TensorId AddOutputCopy(const std::string& name, TensorId source);
  void AddOp(Op op);
  std::string GraphInputsBehind(TensorId id) const;
  // The constant that `x` is the dequantized form of, or kNoTensor.
  TensorId ConstantBehind(TensorId x) const;
  bool CanFold(const v1::OpAttributes& attributes,
               const std::vector<TensorId>& inputs,
               absl::Span<const Tensor> results);
  // Values of `results`; false if no kernel computes the op, INVALID_ARGUMENT
  // if its inputs are wrong.
  absl::StatusOr<bool> Fold(const v1::OpAttributes& attributes,
                            const std::vector<TensorId>& inputs,
                            std::vector<Tensor>& results);
  void RemoveDeadOps();
  // Ends borrowing.
  void Keep(Tensor& tensor);

  Graph graph_;
  std::vector<Scope> scopes_;
  std::vector<bool> named_;        // By tensor: its name is the model's.
  std::vector<int32_t> producer_;  // By tensor: its op, or -1.
  std::vector<bool> read_;         // By tensor: by some op.
  std::set<TensorId> four_bit_;
  std::set<std::string> names_;
  int64_t made_constant_bytes_ = 0;
  const int64_t max_made_constant_bytes_;
  // Elements that folding may still read and write.
  int64_t folding_budget_;
  ConstantPool pool_;
  // By where it was borrowed.
  std::map<std::pair<const char*, size_t>, ConstantData> kept_;
  // Last number behind each name: keeps a model that has one name a million
  // times from costing the square of that.
  std::map<std::string, int> name_counts_;
  LayerIdMaker layer_ids_;
  std::string current_node_;  // First output of the node that was last seen.
  std::string current_id_;    // Its layer id.
};

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_BUILDER_H_
