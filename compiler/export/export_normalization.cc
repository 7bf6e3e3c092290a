// What compares, sums or orders values along axes.

#include <optional>
#include <string>
#include <vector>

#include "compiler/export/op_exporters.h"

namespace edgekiln::compiler::onnx_export {
namespace {

template <typename List>
std::vector<int64_t> Int64s(const List& list) {
  return std::vector<int64_t>(list.begin(), list.end());
}

// The order in which dimension `axis` of the first input is dimension 1, as
// operators over channels want it.
void ChooseChannelAxis(OpWriter& writer, int32_t axis) {
  const size_t rank = writer.input(0).shape.size();
  if (rank < 2) return;
  Order order(rank);
  int32_t next = 0;
  for (int32_t i = 0; i < static_cast<int32_t>(rank); ++i) {
    if (i == axis) continue;
    order[i] = next++;
    if (next == 1) next = 2;
  }
  order[axis] = 1;
  writer.ChooseOrder(order);
}

}  // namespace

absl::Status ExportSoftmax(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::Softmax& softmax = writer.attributes().softmax();
  std::string x = writer.In(0);
  if (softmax.beta() != 1) {
    x = writer.Step("scaled", "Mul",
                    {x, writer.Scalar("beta", softmax.beta())});
  }
  SetInt(writer.Main("Softmax", {x}), "axis", softmax.axis());
  return absl::OkStatus();
}

absl::Status ExportLogSoftmax(OpWriter& writer) {
  writer.ChooseOrder();
  SetInt(writer.Main("LogSoftmax", {writer.In(0)}), "axis",
         writer.attributes().log_softmax().axis());
  return absl::OkStatus();
}

absl::Status ExportBatchNormalization(OpWriter& writer) {
  const v1::BatchNormalization& norm =
      writer.op().attributes.batch_normalization();
  ChooseChannelAxis(writer, norm.axis());
  std::vector<std::string> inputs;
  for (size_t i = 0; i < 5; ++i) inputs.push_back(writer.In(i));
  constexpr absl::string_view kType = "BatchNormalization";
  const std::vector<int64_t>& shape = writer.output().shape;
  if (shape.size() == 1) {  // ONNX would take it for a batch of one channel.
    const std::string row = writer.Integers("row", {1, shape[0]});
    inputs[0] = writer.Step("as-row", "Reshape", {inputs[0], row});
    SetFloat(writer.MainInTwo(kType, inputs, "as-vector", "Reshape",
                              {writer.Integers("vector", shape)}),
             "epsilon", norm.epsilon());
    return absl::OkStatus();
  }
  SetFloat(writer.Main(kType, inputs), "epsilon", norm.epsilon());
  return absl::OkStatus();
}

absl::Status ExportLayerNormalization(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::LayerNormalization& norm =
      writer.attributes().layer_normalization();
  std::string scale = writer.In(1);
  if (scale.empty()) {  // ONNX has no default; one value broadcasts.
    scale = writer.Scalar("scale", 1);
  }
  std::vector<std::string> inputs = {writer.In(0), scale};
  if (writer.has_input(2)) inputs.push_back(writer.In(2));
  onnx::NodeProto& node = writer.Main("LayerNormalization", inputs);
  SetInt(node, "axis", norm.axis());
  SetFloat(node, "epsilon", norm.epsilon());
  return absl::OkStatus();
}

absl::Status ExportL2Normalization(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::L2Normalization& norm = writer.attributes().l2_normalization();
  const std::string x = writer.In(0);
  // LpNormalization has no epsilon. The norm of integers needs none: it is 0 or
  // a step at least.
  const std::optional<Quantization>& steps = writer.input(0).quantization;
  if (steps.has_value() && norm.epsilon() <= steps->scale[0]) {
    onnx::NodeProto& node = writer.Main("LpNormalization", {x});
    SetInt(node, "axis", norm.axis());
    SetInt(node, "p", 2);
    return absl::OkStatus();
  }
  onnx::NodeProto& reduce = writer.AddStep("norm", "ReduceL2", {x});
  SetInts(reduce, "axes", {norm.axis()});
  SetInt(reduce, "keepdims", 1);
  const std::string limited =
      writer.Step("limited", "Clip",
                  {reduce.output(0), writer.Scalar("epsilon", norm.epsilon())});
  writer.Main("Div", {x, limited});
  return absl::OkStatus();
}

absl::Status ExportLocalResponseNormalization(OpWriter& writer) {
  const v1::LocalResponseNormalization& norm =
      writer.op().attributes.local_response_normalization();
  ChooseChannelAxis(writer, norm.axis());
  onnx::NodeProto& node = writer.Main("LRN", {writer.In(0)});
  SetInt(node, "size", norm.size());
  SetFloat(node, "alpha", norm.alpha());
  SetFloat(node, "beta", norm.beta());
  SetFloat(node, "bias", norm.bias());
  return absl::OkStatus();
}

absl::Status ExportReduceMean(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::ReduceMean& mean = writer.attributes().reduce_mean();
  if (mean.axes_size() == 0) {  // Without axes the node would reduce all.
    writer.Main("Identity", {writer.In(0)});
    return absl::OkStatus();
  }
  onnx::NodeProto& node = writer.Main("ReduceMean", {writer.In(0)});
  SetInts(node, "axes", Int64s(mean.axes()));
  SetInt(node, "keepdims", mean.keep_dims() ? 1 : 0);
  return absl::OkStatus();
}

absl::Status ExportReduce(OpWriter& writer) {
  // In the order of v1::Reduce::Function.
  constexpr absl::string_view kTypes[] = {
      "",           "ReduceSum", "ReduceMax", "ReduceMin",
      "ReduceProd", "ReduceL1",  "ReduceL2"};
  writer.ChooseOrder();
  const v1::Reduce& reduce = writer.attributes().reduce();
  if (reduce.function() > v1::Reduce::L2) {
    return writer.Unsupported(v1::Reduce::Function_Name(reduce.function()),
                              "reductions of numbers",
                              "compare with a sum of casts");
  }
  if (reduce.axes_size() == 0) {
    const bool is_norm = reduce.function() == v1::Reduce::L1 ||
                         reduce.function() == v1::Reduce::L2;
    writer.Main(is_norm ? "Abs" : "Identity", {writer.In(0)});
    return absl::OkStatus();
  }
  std::vector<std::string> inputs = {writer.In(0)};
  const bool is_sum = reduce.function() == v1::Reduce::SUM;
  if (is_sum) inputs.push_back(writer.Integers("axes", Int64s(reduce.axes())));
  onnx::NodeProto& node = writer.Main(kTypes[reduce.function()], inputs);
  if (!is_sum) SetInts(node, "axes", Int64s(reduce.axes()));
  SetInt(node, "keepdims", reduce.keep_dims() ? 1 : 0);
  return absl::OkStatus();
}

absl::Status ExportArgReduce(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::ArgReduce& reduce = writer.attributes().arg_reduce();
  onnx::NodeProto& node =
      writer.Main(reduce.function() == v1::ArgReduce::MAX ? "ArgMax" : "ArgMin",
                  {writer.In(0)}, v1::INT64);
  SetInt(node, "axis", reduce.axis());
  SetInt(node, "keepdims", reduce.keep_dims() ? 1 : 0);
  if (reduce.select_last()) SetInt(node, "select_last_index", 1);
  return absl::OkStatus();
}

absl::Status ExportCumSum(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::CumSum& sum = writer.attributes().cum_sum();
  onnx::NodeProto& node = writer.Main(
      "CumSum", {writer.In(0), writer.Integers("axis", {sum.axis()})});
  if (sum.exclusive()) SetInt(node, "exclusive", 1);
  if (sum.reverse()) SetInt(node, "reverse", 1);
  return absl::OkStatus();
}

absl::Status ExportTopK(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::TopK& top = writer.attributes().top_k();
  onnx::NodeProto& node = writer.Main(
      "TopK", {writer.In(0), writer.Integers("k", {top.k()})}, v1::INT64);
  SetInt(node, "axis", top.axis());
  if (top.smallest()) SetInt(node, "largest", 0);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_export
