// Ops that pick and move values.

#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/export/op_exporters.h"

namespace edgekiln::compiler::onnx_export {
namespace {

// Indices as int64, which some operators insist on.
std::string Int64Input(OpWriter& writer, size_t i) {
  const std::string value = writer.In(i);
  if (writer.input(i).type == v1::INT64) return value;
  onnx::NodeProto& cast =
      writer.AddStep(absl::StrCat("int64-", i), "Cast", {value});
  SetInt(cast, "to", OnnxTypeOf(v1::INT64));
  return cast.output(0);
}

// "" for one that op set 17 does not have.
absl::string_view ReductionName(v1::ScatterReduction reduction) {
  switch (reduction) {
    case v1::SCATTER_REPLACE:
      return "none";
    case v1::SCATTER_ADD:
      return "add";
    case v1::SCATTER_MUL:
      return "mul";
    default:
      return "";
  }
}

absl::Status Scatter(OpWriter& writer, absl::string_view type,
                     v1::ScatterReduction reduction, const int32_t* axis) {
  const absl::string_view name = ReductionName(reduction);
  if (name.empty()) {
    return writer.Unsupported("a scatter that keeps the extreme",
                              absl::StrCat("what op set ", kOpset, " has"),
                              "scatter by add or mul");
  }
  onnx::NodeProto& node =
      writer.Main(type, {writer.In(0), Int64Input(writer, 1), writer.In(2)});
  if (axis != nullptr) SetInt(node, "axis", *axis);
  if (reduction != v1::SCATTER_REPLACE) SetString(node, "reduction", name);
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportReshape(OpWriter& writer) {
  const std::vector<int64_t>& shape = writer.output().shape;
  const std::string x = writer.values().InRowMajorOrder(writer.op().inputs[0]);
  onnx::NodeProto& node =
      writer.Main("Reshape", {x, writer.Integers("shape", shape)});
  // 0 would stand for the extent of the operand.
  for (const int64_t extent : shape) {
    if (extent != 0) continue;
    SetInt(node, "allowzero", 1);
    break;
  }
  return absl::OkStatus();
}

absl::Status ExportTranspose(OpWriter& writer) {
  if (!writer.values().SetTransposed(writer.op())) {
    writer.values().Transpose(writer.op());
  }
  return absl::OkStatus();
}

absl::Status ExportPad(OpWriter& writer) {
  constexpr absl::string_view kModes[] = {"constant", "reflect", "", "edge",
                                          ""};
  writer.ChooseOrder();
  const v1::Pad& pad = writer.attributes().pad();
  if (kModes[pad.mode()].empty()) {
    return writer.Unsupported(
        absl::StrCat("padding of mode ", v1::Pad::Mode_Name(pad.mode())),
        "CONSTANT, REFLECT or EDGE", "concatenate slices");
  }
  std::vector<int64_t> amounts(pad.before().begin(), pad.before().end());
  amounts.insert(amounts.end(), pad.after().begin(), pad.after().end());
  std::vector<std::string> inputs = {writer.In(0),
                                     writer.Integers("pads", amounts)};
  if (pad.value() != 0) inputs.push_back(writer.Scalar("value", pad.value()));
  SetString(writer.Main("Pad", inputs), "mode", kModes[pad.mode()]);
  return absl::OkStatus();
}

absl::Status ExportConcat(OpWriter& writer) {
  writer.ChooseOrder();
  std::vector<std::string> inputs;
  for (size_t i = 0; i < writer.op().inputs.size(); ++i) {
    inputs.push_back(writer.In(i));
  }
  SetInt(writer.Main("Concat", inputs), "axis",
         writer.attributes().concat().axis());
  return absl::OkStatus();
}

absl::Status ExportSlice(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::Slice& slice = writer.attributes().slice();
  std::vector<int64_t> starts, ends, axes, steps;
  for (int i = 0; i < slice.begin_size(); ++i) {
    const int64_t end = slice.begin(i) + slice.extent(i) * slice.stride(i);
    starts.push_back(slice.begin(i));
    // -1 would be the last element.
    ends.push_back(end < 0 ? std::numeric_limits<int64_t>::min() : end);
    axes.push_back(i);
    steps.push_back(slice.stride(i));
  }
  writer.Main("Slice",
              {writer.In(0), writer.Integers("starts", starts),
               writer.Integers("ends", ends), writer.Integers("axes", axes),
               writer.Integers("steps", steps)});
  return absl::OkStatus();
}

absl::Status ExportGather(OpWriter& writer) {
  writer.ChooseOrder();
  const v1::Gather& gather = writer.attributes().gather();
  if (gather.batch_dims() != 0) {
    return writer.Unsupported("a gather of batches", "no batch dimensions",
                              "use GatherElements or GatherND");
  }
  SetInt(writer.Main("Gather", {writer.In(0), writer.In(1)}), "axis",
         gather.axis());
  return absl::OkStatus();
}

absl::Status ExportGatherElements(OpWriter& writer) {
  writer.ChooseOrder();
  SetInt(writer.Main("GatherElements", {writer.In(0), writer.In(1)}), "axis",
         writer.attributes().gather_elements().axis());
  return absl::OkStatus();
}

absl::Status ExportGatherNd(OpWriter& writer) {
  onnx::NodeProto& node =
      writer.Main("GatherND", {writer.In(0), Int64Input(writer, 1)});
  const int32_t batch = writer.attributes().gather_nd().batch_dims();
  if (batch != 0) SetInt(node, "batch_dims", batch);
  return absl::OkStatus();
}

absl::Status ExportScatterElements(OpWriter& writer) {
  const v1::ScatterElements& scatter = writer.attributes().scatter_elements();
  const int32_t axis = scatter.axis();
  return Scatter(writer, "ScatterElements", scatter.reduction(), &axis);
}

absl::Status ExportScatterNd(OpWriter& writer) {
  return Scatter(writer, "ScatterND",
                 writer.attributes().scatter_nd().reduction(), nullptr);
}

absl::Status ExportBroadcastTo(OpWriter& writer) {
  writer.ChooseOrder();
  const auto& shape = writer.attributes().broadcast_to().shape();
  writer.Main("Expand",
              {writer.In(0),
               writer.Integers(
                   "shape", std::vector<int64_t>(shape.begin(), shape.end()))});
  return absl::OkStatus();
}

absl::Status ExportTile(OpWriter& writer) {
  writer.ChooseOrder();
  const auto& multiples = writer.attributes().tile().multiples();
  writer.Main("Tile",
              {writer.In(0), writer.Integers("repeats", std::vector<int64_t>(
                                                            multiples.begin(),
                                                            multiples.end()))});
  return absl::OkStatus();
}

absl::Status ExportReverseSequence(OpWriter& writer) {
  const v1::ReverseSequence& reverse = writer.attributes().reverse_sequence();
  onnx::NodeProto& node =
      writer.Main("ReverseSequence", {writer.In(0), Int64Input(writer, 1)});
  SetInt(node, "batch_axis", reverse.batch_axis());
  SetInt(node, "time_axis", reverse.time_axis());
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::onnx_export
