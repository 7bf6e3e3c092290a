#ifndef EK_COMPILER_EXPORT_VALUES_H_
#define EK_COMPILER_EXPORT_VALUES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/export/onnx_model.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/permutation.h"

namespace edgekiln::compiler::onnx_export {

// The order of dimensions in which a value of the ONNX model holds a tensor:
// dimension i of the tensor is dimension order[i] of the value.
using Order = Permutation;

Order AsStated(size_t rank);
// Of the NCHW value of an NHWC tensor, with any number of spatial dimensions.
Order ChannelsFirst(size_t rank);
bool IsAsStated(const Order& order);

// Which values of the ONNX model hold which tensor of the graph, and in which
// order of dimensions. The real values of a quantized tensor are what a
// DequantizeLinear makes of its integers. A transpose costs nothing until a
// reader needs an order that no value has. Not thread-safe.
class Values {
 public:
  Values(const Graph& graph, OnnxModel& model);

  // The tensor is an input of the model.
  void SetInput(TensorId id);
  // `value` holds the tensor's real values, or plain ones.
  void SetReal(TensorId id, std::string value, Order order);
  // `value` holds its integers. Adds the DequantizeLinear.
  void SetIntegers(TensorId id, std::string value, Order order);
  // The real values that the Dequantize op makes exist already; their
  // DequantizeLinear node gets the op's id.
  void SetDequantized(const Op& op);
  // For a Transpose op between NHWC and NCHW: the result shares the values of
  // the operand. A Transpose node that a reader needs later gets the op's id.
  // False, and nothing done, for other transposes.
  bool SetTransposed(const Op& op);
  // Writes the Transpose op as a node, on real values: on integers it would
  // need a QuantizeLinear of its own.
  void Transpose(const Op& op);

  // The order of the tensor's first value; as stated for a constant.
  Order OrderOf(TensorId id) const;
  // A value that holds the tensor in this order. Constants of fewer dimensions
  // get leading ones unless the order is as stated.
  std::string Real(TensorId id, const Order& order);
  std::string Real(TensorId id) { return Real(id, AsStated(RankOf(id))); }
  // What an output of the model holds: the tensor, or its integers.
  std::string Output(TensorId id);
  // A value whose elements have the order of the tensor's, whatever its shape.
  std::string InRowMajorOrder(TensorId id);
  // A constant's integers or plain values with the dimensions permuted, in real
  // values: output dimension i is dimension permutation[i] of the tensor. Also
  // of a tensor that is no constant.
  std::string Permuted(TensorId id, const Permutation& permutation);
  // The real values of an int32 constant that counts in products of the scale
  // of an input and those of weights.
  std::string Bias(TensorId id, float input_scale, const Quantization& weights);
  // The real values of a constant that is no tensor of the graph.
  std::string RealConstant(const Tensor& constant);

  // QuantizeLinear of `value`, as the tensor's integers: the op, if it is a
  // Quantize, or what stands behind it.
  void Quantize(TensorId id, const Op& op, const std::string& value,
                Order order);
  // `value`, rounded to the tensor's integers and back.
  std::string Rounded(TensorId id, const Op& op, const std::string& value);
  // The name for a value that holds the tensor in this order.
  std::string NameFor(TensorId id, const Order& order);

  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }
  size_t RankOf(TensorId id) const { return tensor(id).shape.size(); }

 private:
  struct Value {
    std::string name;
    Order order;
  };
  struct Held {
    std::vector<Value> real;
    std::optional<Value> integers;
    onnx::NodeProto* dequantize = nullptr;
    std::string transpose_node;
  };

  // The tensor's scale and zero point.
  const std::pair<std::string, std::string>& ParametersOf(const Tensor& like);
  // DequantizeLinear of `integers` with the parameters of `like`.
  onnx::NodeProto& Dequantize(const std::string& integers, const Tensor& like,
                              const std::string& name);
  // transpose(from) is `to`, and has its values.
  void Share(TensorId from, TensorId to, const Permutation& permutation,
             std::string transpose_node);

  const Graph& graph_;
  OnnxModel& model_;
  std::vector<Held> held_;
  std::vector<bool> named_;      // By tensor: a value has its name.
  std::vector<bool> is_output_;  // By tensor.
  // By tensor: what the Dequantize op that reads it makes, or kNoTensor.
  std::vector<TensorId> dequantized_;
  std::set<const onnx::NodeProto*> is_op_;  // DequantizeLinear nodes.
  std::map<std::pair<TensorId, Order>, std::string> constants_;
  // By tensor: its scale and zero point.
  std::map<std::string, std::pair<std::string, std::string>> parameters_;
};

}  // namespace edgekiln::compiler::onnx_export

#endif  // EK_COMPILER_EXPORT_VALUES_H_
