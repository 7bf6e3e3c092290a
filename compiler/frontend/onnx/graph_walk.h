#ifndef EK_COMPILER_FRONTEND_ONNX_GRAPH_WALK_H_
#define EK_COMPILER_FRONTEND_ONNX_GRAPH_WALK_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/frontend/onnx/builder.h"
#include "compiler/frontend/onnx/node.h"
#include "compiler/frontend/onnx/tensor_data.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_import {

// Hands the nodes of a graph to their converters, one after the other. What
// stands for other nodes is put in their place: functions of the model, the
// branch of an If, the rounds of a Loop and of a Scan that constants decide.
// Depth and size of what is inlined are bounded.
//
// Borrows all it is made with.
class GraphWalk {
 public:
  GraphWalk(const onnx::ModelProto& model, int opset, ExternalData& files,
            int64_t model_bytes, Builder& builder);

  // Converts those nodes that the graph's outputs need. Their initializers and
  // inputs are known to the builder.
  absl::Status ConvertGraph(const onnx::GraphProto& graph);

 private:
  using FunctionKey = std::pair<std::string, std::string>;  // Domain, name.

  absl::Status ConvertNode(const onnx::NodeProto& proto, int opset);
  absl::Status ConvertOperator(const Node& node);
  absl::Status ConvertFunction(const Node& node,
                               const onnx::FunctionProto& function);
  absl::Status ConvertIf(const Node& node);
  absl::Status ConvertLoop(const Node& node);
  absl::Status ConvertScan(const Node& node);
  // One round: `state` is the body's inputs behind the condition, then its
  // outputs behind the condition. Returns whether there is another round.
  absl::StatusOr<bool> LoopRound(const Node& node, const onnx::GraphProto& body,
                                 int64_t round, std::vector<TensorId>& state);
  absl::Status BindScans(const Node& node, int first_output,
                         const std::vector<std::vector<TensorId>>& scans);
  // The outputs of a graph inside a node, in a scope that defines its inputs.
  absl::StatusOr<std::vector<TensorId>> ConvertBody(
      const Node& node, const onnx::GraphProto& body,
      const std::vector<TensorId>& inputs);
  // Refuses what has become too much, this included: bytes that are read or
  // copied for the node again, values that nodes read and make.
  absl::Status CountInlined(const Node& node, int64_t bytes, int64_t values);
  std::string ScopeName(const Node& node);

  const onnx::ModelProto& model_;
  const int opset_;
  ExternalData& files_;
  const int64_t model_bytes_;
  Builder& builder_;
  std::map<FunctionKey, const onnx::FunctionProto*> functions_;
  int depth_ = 0;
  int64_t nodes_ = 0;  // Converted, rounds of loops included.
  int64_t inlined_bytes_ = 0;
  int64_t inlined_values_ = 0;
};

// Adds the initializers of a graph. The builder borrows values from `raw_data`
// (by initializer; what is not there is in `graph`) and from `files`.
absl::Status AddInitializers(const onnx::GraphProto& graph,
                             absl::Span<const absl::string_view> raw_data,
                             ExternalData& files, Builder& builder);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_GRAPH_WALK_H_
