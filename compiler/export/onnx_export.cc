#include "compiler/export/onnx_export.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/export/onnx_model.h"
#include "compiler/export/op_exporters.h"
#include "compiler/export/op_writer.h"
#include "compiler/export/values.h"

namespace edgekiln::compiler {
namespace {

using onnx_export::OnnxModel;
using onnx_export::OpWriter;
using onnx_export::Values;

absl::Status GraphError(absl::StatusCode code, std::string reason,
                        std::string what, std::string fix) {
  return MakeError(code, {.reason = std::move(reason),
                          .what = std::move(what),
                          .fix = std::move(fix)});
}

absl::Status CheckPorts(const Graph& graph) {
  if (!graph.converted_inputs.empty() || !graph.converted_outputs.empty()) {
    return GraphError(absl::StatusCode::kInvalidArgument, "PORTS_CONVERTED",
                      "the caller converts ports of the graph to integers",
                      "give it float ports");
  }
  if (!graph.states.empty()) {
    return GraphError(absl::StatusCode::kUnimplemented, "STATES_NOT_EXPORTABLE",
                      "the graph has states, which an ONNX model cannot keep",
                      "make them inputs and outputs");
  }
  return absl::OkStatus();
}

// QuantizeLinear and DequantizeLinear of op set 17 know integers of 8 bits;
// the latter takes biases of 32, too.
absl::Status CheckTypes(const OpWriter& writer) {
  if (writer.op().attributes.has_converter()) {
    return writer.Unsupported(
        "sums that an engine's converter makes results",
        "factors: scales of input, weights and output",
        "quantize the layer to int8 weights, or leave --target out");
  }
  const auto check = [&writer](const Tensor& tensor) {
    if (!tensor.quantization.has_value() || tensor.type == v1::INT8 ||
        tensor.type == v1::UINT8 ||
        (tensor.type == v1::INT32 && tensor.is_constant())) {
      return absl::OkStatus();
    }
    const bool is_wide = tensor.type == v1::INT16;
    return writer.Unsupported(
        absl::StrCat("tensor '", tensor.name, "', quantized ",
                     v1::ElementType_Name(tensor.type)),
        is_wide ? "QuantizeLinear of op set 17 makes INT8 and UINT8; of INT16 "
                  "from op set 21 on"
                : "quantized INT8 and UINT8, and INT32 biases",
        is_wide ? "leave ACTIVATIONS_INT16 out, or compile from the model"
                : "quantize to 8 bits");
  };
  for (size_t i = 0; i < writer.op().inputs.size(); ++i) {
    if (writer.has_input(i)) EK_RETURN_IF_ERROR(check(writer.input(i)));
  }
  for (size_t i = 0; i < writer.op().outputs.size(); ++i) {
    EK_RETURN_IF_ERROR(check(writer.output(i)));
  }
  return absl::OkStatus();
}

absl::Status ExportQuantize(OpWriter& writer) {
  const TensorId x = writer.op().inputs[0];
  const onnx_export::Order order = writer.values().OrderOf(x);
  std::string value = writer.values().Real(x, order);
  if (!writer.input(0).quantization.has_value() &&
      writer.input(0).type != v1::FLOAT32) {  // QuantizeLinear takes no other.
    onnx::NodeProto& cast = writer.AddStep("cast", "Cast", {value});
    onnx_export::SetInt(cast, "to", onnx_export::OnnxTypeOf(v1::FLOAT32));
    value = cast.output(0);
  }
  writer.values().Quantize(writer.op().outputs[0], writer.op(), value, order);
  return absl::OkStatus();
}

absl::Status ExportOp(OpWriter& writer) {
  namespace to = onnx_export;
  switch (writer.op().attributes.op_case()) {
    case v1::OpAttributes::kConv2D:
      return to::ExportConv2d(writer);
    case v1::OpAttributes::kDepthwiseConv2D:
      return to::ExportDepthwiseConv2d(writer);
    case v1::OpAttributes::kConv3D:
      return to::ExportConv3d(writer);
    case v1::OpAttributes::kTransposedConv:
      return to::ExportTransposedConv(writer);
    case v1::OpAttributes::kFullyConnected:
      return to::ExportFullyConnected(writer);
    case v1::OpAttributes::kMatMul:
      return to::ExportPlain(writer, "MatMul");
    case v1::OpAttributes::kAdd:
      return to::ExportPlain(writer, "Add");
    case v1::OpAttributes::kMul:
      return to::ExportPlain(writer, "Mul");
    case v1::OpAttributes::kSelect:
      return to::ExportPlain(writer, "Where");
    case v1::OpAttributes::kUnary:
      return to::ExportUnary(writer);
    case v1::OpAttributes::kBinary:
      return to::ExportBinary(writer);
    case v1::OpAttributes::kClip:
      return to::ExportClip(writer);
    case v1::OpAttributes::kCast:
      return to::ExportCast(writer);
    case v1::OpAttributes::kAveragePool2D:
      return to::ExportAveragePool2d(writer);
    case v1::OpAttributes::kMaxPool2D:
      return to::ExportMaxPool2d(writer);
    case v1::OpAttributes::kPool:
      return to::ExportPool(writer);
    case v1::OpAttributes::kResize:
      return to::ExportResize(writer);
    case v1::OpAttributes::kGridSample:
      return to::ExportGridSample(writer);
    case v1::OpAttributes::kSoftmax:
      return to::ExportSoftmax(writer);
    case v1::OpAttributes::kLogSoftmax:
      return to::ExportLogSoftmax(writer);
    case v1::OpAttributes::kBatchNormalization:
      return to::ExportBatchNormalization(writer);
    case v1::OpAttributes::kLayerNormalization:
      return to::ExportLayerNormalization(writer);
    case v1::OpAttributes::kL2Normalization:
      return to::ExportL2Normalization(writer);
    case v1::OpAttributes::kLocalResponseNormalization:
      return to::ExportLocalResponseNormalization(writer);
    case v1::OpAttributes::kReduceMean:
      return to::ExportReduceMean(writer);
    case v1::OpAttributes::kReduce:
      return to::ExportReduce(writer);
    case v1::OpAttributes::kArgReduce:
      return to::ExportArgReduce(writer);
    case v1::OpAttributes::kCumSum:
      return to::ExportCumSum(writer);
    case v1::OpAttributes::kTopK:
      return to::ExportTopK(writer);
    case v1::OpAttributes::kReshape:
      return to::ExportReshape(writer);
    case v1::OpAttributes::kTranspose:
      return to::ExportTranspose(writer);
    case v1::OpAttributes::kPad:
      return to::ExportPad(writer);
    case v1::OpAttributes::kConcat:
      return to::ExportConcat(writer);
    case v1::OpAttributes::kSlice:
      return to::ExportSlice(writer);
    case v1::OpAttributes::kGather:
      return to::ExportGather(writer);
    case v1::OpAttributes::kGatherElements:
      return to::ExportGatherElements(writer);
    case v1::OpAttributes::kGatherNd:
      return to::ExportGatherNd(writer);
    case v1::OpAttributes::kScatterElements:
      return to::ExportScatterElements(writer);
    case v1::OpAttributes::kScatterNd:
      return to::ExportScatterNd(writer);
    case v1::OpAttributes::kBroadcastTo:
      return to::ExportBroadcastTo(writer);
    case v1::OpAttributes::kTile:
      return to::ExportTile(writer);
    case v1::OpAttributes::kReverseSequence:
      return to::ExportReverseSequence(writer);
    case v1::OpAttributes::kQuantize:
      return ExportQuantize(writer);
    case v1::OpAttributes::kDequantize:
      writer.values().SetDequantized(writer.op());
      return absl::OkStatus();
    default:
      return writer.Unsupported("this op", "ops that ONNX states by operators",
                                "export the float model");
  }
}

// The value of each graph output gets the output's name, or is copied where it
// has one already.
void NameOutputs(const Graph& graph, Values& values, OnnxModel& model) {
  std::vector<std::string> made;
  for (const TensorId id : graph.outputs) made.push_back(values.Output(id));
  std::map<std::string, std::string> named;
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& output = graph.tensors[graph.outputs[i]];
    model.AddOutput(output);
    named.emplace(output.name, output.name);
  }
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.tensors[graph.outputs[i]].name;
    if (made[i] == name) continue;
    const auto [found, is_new] = named.emplace(made[i], name);
    if (!is_new || !model.RenameResult(made[i], name)) {
      model.AddHelper(name, "copy", "Identity",
                      {is_new ? made[i] : found->second}, name);
    }
  }
}

}  // namespace

absl::StatusOr<std::string> ExportQdqOnnx(const Graph& quantized) {
  EK_RETURN_IF_ERROR(CheckPorts(quantized));
  OnnxModel model(quantized);
  Values values(quantized, model);
  for (const TensorId id : quantized.inputs) {
    model.AddInput(quantized.tensors[id]);
    values.SetInput(id);
  }
  for (const Op& op : quantized.ops) {
    OpWriter writer(quantized, op, model, values);
    EK_RETURN_IF_ERROR(CheckTypes(writer));
    EK_RETURN_IF_ERROR(ExportOp(writer));
  }
  NameOutputs(quantized, values, model);
  return model.Finish();
}

}  // namespace edgekiln::compiler
