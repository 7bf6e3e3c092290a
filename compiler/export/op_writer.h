#ifndef EK_COMPILER_EXPORT_OP_WRITER_H_
#define EK_COMPILER_EXPORT_OP_WRITER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/export/onnx_model.h"
#include "compiler/export/values.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler::onnx_export {

// One op while it becomes nodes. Not thread-safe.
class OpWriter {
 public:
  OpWriter(const Graph& graph, const Op& op, OnnxModel& model, Values& values);

  const Op& op() const { return op_; }
  // The op's attributes for inputs in the order that was chosen.
  const v1::OpAttributes& attributes() const { return attributes_; }
  OnnxModel& model() { return model_; }
  Values& values() { return values_; }

  const Tensor& input(size_t i) const { return graph_.tensors[op_.inputs[i]]; }
  const Tensor& output(size_t i = 0) const {
    return graph_.tensors[op_.outputs[i]];
  }
  bool has_input(size_t i) const {
    return i < op_.inputs.size() && op_.inputs[i] != kNoTensor;
  }

  // Chooses the order of the inputs' dimensions: the one that their values have
  // already, if the op refers to dimensions by number only; else as stated.
  void ChooseOrder();
  // NCHW, for an op that slides windows over an NHWC tensor.
  void ChooseChannelsFirst();
  // Chooses this order and changes attributes() to match; false if no
  // attributes do.
  bool ChooseOrder(const Order& order);

  // The order chosen for the first input.
  Order order() const;

  // The data inputs in the order that was chosen, others as stated; "" for one
  // that is absent.
  std::string In(size_t i);

  // The real values of a bias, input 2. Integers count in products of the
  // scales of input and weights, whatever their tensor says.
  std::string Bias();

  // A node that makes an intermediate result.
  onnx::NodeProto& AddStep(absl::string_view role, absl::string_view type,
                           absl::Span<const std::string> inputs);
  std::string Step(absl::string_view role, absl::string_view type,
                   absl::Span<const std::string> inputs);
  // The node that makes the op's results, to which the caller adds attributes,
  // followed by the fused activation and a QuantizeLinear of each that is
  // quantized. `made` is the element type of the last result where the operator
  // has no choice.
  onnx::NodeProto& Main(absl::string_view type,
                        absl::Span<const std::string> inputs,
                        v1::ElementType made = v1::ELEMENT_TYPE_UNSPECIFIED) {
    return AddMain("", type, inputs, made);
  }
  // The same in two nodes, of which the first is named after the op. `last`
  // gets the first one's result in front of `inputs`. Returns the first.
  onnx::NodeProto& MainInTwo(absl::string_view first,
                             absl::Span<const std::string> first_inputs,
                             absl::string_view role, absl::string_view last,
                             std::vector<std::string> inputs);

  // Initializers.
  std::string Integers(absl::string_view role,
                       absl::Span<const int64_t> values);
  std::string Floats(absl::string_view role, absl::Span<const float> values);
  // Of the type of the first result's real values.
  std::string Scalar(absl::string_view role, float value);

  // UNIMPLEMENTED, naming the op.
  absl::Status Unsupported(absl::string_view what, absl::string_view limit,
                           absl::string_view fix) const;

 private:
  // The node is the op's, or a helper of that role.
  onnx::NodeProto& AddMain(absl::string_view role, absl::string_view type,
                           absl::Span<const std::string> inputs,
                           v1::ElementType made);
  std::string NodeName() const;
  std::string Role(absl::string_view role) const;
  Order OrderOfOutput(size_t i) const;
  void Clamped(const v1::Clamp& clamp, const std::string& from,
               const std::string& to);

  const Graph& graph_;
  const Op& op_;
  OnnxModel& model_;
  Values& values_;
  v1::OpAttributes attributes_;
  Order order_;      // Of the data inputs; empty: as stated.
  Order out_order_;  // Of the outputs; empty: as stated.
  size_t data_inputs_;
};

}  // namespace edgekiln::compiler::onnx_export

#endif  // EK_COMPILER_EXPORT_OP_WRITER_H_
