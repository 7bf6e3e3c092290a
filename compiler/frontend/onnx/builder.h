#ifndef EDGEKILN_COMPILER_FRONTEND_ONNX_BUILDER_H_
#define EDGEKILN_COMPILER_FRONTEND_ONNX_BUILDER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/frontend/onnx/node.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/layer_id.h"

namespace edgekiln::compiler::onnx_import {

// The graph while it grows: knows which tensor each ONNX value is, gives out
// unique names and ids, and infers shapes. Not thread-safe.
//
// A node may need several ops; each has a `role` that tells its id and its
// tensor apart from the others. The op that does the work has the role "".
class Builder {
 public:
  // `reserved` are the names of all values of the model: tensors that the
  // import makes up keep clear of them.
  Builder(std::string graph_name, std::set<std::string> reserved);

  absl::Status AddGraphInput(absl::string_view name, v1::ElementType type,
                             std::vector<int64_t> shape);
  absl::Status AddInitializer(Tensor constant);
  bool HasValue(const std::string& name) const;

  // The tensor of a node's input; INVALID_ARGUMENT if it is absent or nothing
  // before this node made it.
  absl::StatusOr<TensorId> Input(const Node& node, int index) const;
  // The same, and the element type must be FLOAT32.
  absl::StatusOr<TensorId> FloatInput(const Node& node, int index) const;
  // The same, and its value must be known now.
  absl::StatusOr<const Tensor*> ConstantInput(const Node& node,
                                              int index) const;
  absl::StatusOr<std::vector<int64_t>> ConstantIntegers(const Node& node,
                                                        int index) const;
  // Invalidated by whatever adds a tensor.
  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  const std::vector<int64_t>& shape(TensorId id) const {
    return graph_.tensors[id].shape;
  }

  // Adds an op with one output, of the first input's element type and the
  // inferred shape.
  absl::StatusOr<TensorId> Emit(const Node& node, absl::string_view role,
                                v1::OpAttributes attributes,
                                std::vector<TensorId> inputs);
  // `x` with another shape or order; done at once if `x` is a constant, and
  // `x` itself if nothing changes.
  absl::StatusOr<TensorId> Reshape(const Node& node, absl::string_view role,
                                   TensorId x, std::vector<int64_t> shape);
  absl::StatusOr<TensorId> Transpose(const Node& node, absl::string_view role,
                                     TensorId x,
                                     std::vector<int32_t> permutation);
  // factor * x, at once if `x` is a constant.
  absl::StatusOr<TensorId> Scale(const Node& node, absl::string_view role,
                                 TensorId x, float factor);
  // Adds a constant; its name is made unique.
  TensorId AddConstant(Tensor constant);

  // Bytes of constants that did not come from the file.
  int64_t made_constant_bytes() const { return made_constant_bytes_; }

  // `id` is the value of the node's output. A tensor that already has a name
  // of its own is copied, so that every value of the model keeps its name.
  absl::Status Bind(const Node& node, int output, TensorId id);

  // The finished graph with these values as outputs, without unused tensors.
  // Not to be used after.
  absl::StatusOr<Graph> Finish(absl::Span<const std::string> outputs);

 private:
  TensorId AddTensor(Tensor tensor, bool named);
  std::string UniqueName(absl::string_view wanted);
  std::string OpId(const Node& node, absl::string_view role);
  TensorId AddCopy(absl::string_view name, TensorId source);
  TensorId AddOutputCopy(const std::string& name, TensorId source);

  Graph graph_;
  std::map<std::string, TensorId> values_;
  std::vector<bool> named_;  // By tensor: its name is the model's.
  std::set<std::string> names_;
  int64_t made_constant_bytes_ = 0;
  // Last number behind each name: keeps a model that has one name a million
  // times from costing the square of that.
  std::map<std::string, int> name_counts_;
  LayerIdMaker layer_ids_;
  std::string current_node_;  // First output of the node that was last seen.
  std::string current_id_;    // Its layer id.
};

}  // namespace edgekiln::compiler::onnx_import

#endif  // EDGEKILN_COMPILER_FRONTEND_ONNX_BUILDER_H_
