#ifndef EK_COMPILER_FRONTEND_ONNX_NODE_H_
#define EK_COMPILER_FRONTEND_ONNX_NODE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_import {

// One node of the model with checked access to its attributes, and the errors
// that name it. Borrows the proto.
class Node {
 public:
  Node(const onnx::NodeProto& proto, int opset)
      : proto_(proto), opset_(opset) {}

  const std::string& op_type() const { return proto_.op_type(); }
  const std::string& name() const { return proto_.name(); }
  int opset() const { return opset_; }
  const onnx::NodeProto& proto() const { return proto_; }
  int num_inputs() const { return proto_.input_size(); }
  int num_outputs() const { return proto_.output_size(); }
  // Optional inputs and outputs are left out by an empty name or at the end.
  bool has_input(int index) const;
  bool has_output(int index) const;
  const std::string& input(int index) const { return proto_.input(index); }
  const std::string& output(int index) const { return proto_.output(index); }
  // The first output that is there; "" if there is none.
  absl::string_view main_output() const;

  // Attribute values; `fallback` if absent, INVALID_ARGUMENT if the attribute
  // has another type.
  bool Has(absl::string_view attribute) const;
  absl::StatusOr<int64_t> Int(absl::string_view attribute,
                              int64_t fallback) const;
  absl::StatusOr<float> Float(absl::string_view attribute,
                              float fallback) const;
  absl::StatusOr<std::string> String(absl::string_view attribute,
                                     absl::string_view fallback) const;
  absl::StatusOr<std::vector<int64_t>> Ints(absl::string_view attribute) const;
  // Empty if absent.
  std::vector<float> Floats(absl::string_view attribute) const;
  std::vector<std::string> Strings(absl::string_view attribute) const;
  // Whether an integer attribute is not 0.
  absl::StatusOr<bool> Flag(absl::string_view attribute, bool fallback) const;
  // Null if absent or not a tensor.
  const onnx::TensorProto* TensorAttribute(absl::string_view attribute) const;

  // Null if absent or not a graph.
  const onnx::GraphProto* GraphAttribute(absl::string_view attribute) const;

  // UNIMPLEMENTED for an attribute that is not in the space-separated list: an
  // attribute we do not know could change what the node computes.
  absl::Status CheckAttributes(absl::string_view known) const;

  // Errors that say which node: `what` is wrong, `limit` is what we support.
  absl::Status Unsupported(absl::string_view what, absl::string_view limit,
                           absl::string_view fix) const;
  absl::Status Invalid(absl::string_view what) const;
  // The same for the shape of a tensor that IsSaneShape() refuses.
  absl::Status TooLarge(absl::string_view what) const;
  // The same for what another layer found wrong: keeps its limit and need.
  absl::Status Invalid(const absl::Status& why) const;
  // "Conv 'stem/conv' (op set 13, output 'x')".
  std::string Label() const;

 private:
  const onnx::AttributeProto* Find(absl::string_view attribute) const;

  const onnx::NodeProto& proto_;
  const int opset_;
};

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_NODE_H_
