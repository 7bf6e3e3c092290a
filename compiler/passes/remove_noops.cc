#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "ops/shape_inference.h"

namespace edgekiln::compiler {
namespace {

bool SameType(const Tensor& a, const Tensor& b) {
  return a.type == b.type && a.shape == b.shape &&
         a.quantization == b.quantization;
}

bool AllZero(const google::protobuf::RepeatedField<int64_t>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](int64_t value) { return value == 0; });
}

bool IsIdentityPermutation(const v1::Transpose& transpose) {
  for (int i = 0; i < transpose.permutation_size(); ++i) {
    if (transpose.permutation(i) != i) return false;
  }
  return true;
}

bool IsFloatConstantOf(const Tensor& tensor, float wanted) {
  const std::optional<std::vector<float>> values = FloatConstantValues(tensor);
  return values.has_value() &&
         std::all_of(values->begin(), values->end(),
                     [wanted](float value) { return value == wanted; });
}

bool AllOne(const google::protobuf::RepeatedField<float>& values) {
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return value == 1.0f; });
}

// A slice with the shape of its input takes everything, unless backwards.
bool TakesEverything(const v1::Slice& slice) {
  for (int i = 0; i < slice.stride_size(); ++i) {
    if (slice.stride(i) < 0 && slice.extent(i) > 1) return false;
  }
  return true;
}

// A resize to the same shape reads each element where it is.
bool ReadsInPlace(const v1::Resize& resize) {
  if (resize.mode() == v1::Resize::CUBIC || resize.antialias() ||
      !AllOne(resize.scale())) {
    return false;
  }
  switch (resize.coordinates()) {
    case v1::Resize::HALF_PIXEL:
    case v1::Resize::ASYMMETRIC:
    case v1::Resize::ALIGN_CORNERS:
    case v1::Resize::HALF_PIXEL_SYMMETRIC:
      return true;
    default:
      return false;
  }
}

// x / 1 and x - 0. Not x + 0, which turns -0 into 0.
bool KeepsFirst(const Graph& graph, const Op& op) {
  const v1::Binary& binary = op.attributes.binary();
  if (HasBounds(binary.clamp())) return false;
  const Tensor& second = graph.tensors[op.inputs[1]];
  return (binary.function() == v1::Binary::DIV &&
          IsFloatConstantOf(second, 1.0f)) ||
         (binary.function() == v1::Binary::SUB &&
          IsFloatConstantOf(second, 0.0f));
}

// Whether the op returns its first input bit for bit.
bool IsNoop(const Graph& graph, const Op& op) {
  const Tensor& input = graph.tensors[op.inputs[0]];
  const Tensor& output = graph.tensors[op.outputs[0]];
  if (!SameType(input, output) || op.outputs.size() != 1) return false;
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kReshape:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kCast:
    case v1::OpAttributes::kBroadcastTo:
    case v1::OpAttributes::kTile:
      return true;
    case v1::OpAttributes::kTranspose:
      return IsIdentityPermutation(attributes.transpose());
    case v1::OpAttributes::kClip:
      return !HasBounds(attributes.clip().clamp());
    case v1::OpAttributes::kPad:
      return AllZero(attributes.pad().before()) &&
             AllZero(attributes.pad().after());
    case v1::OpAttributes::kSlice:
      return TakesEverything(attributes.slice());
    case v1::OpAttributes::kResize:
      return ReadsInPlace(attributes.resize());
    case v1::OpAttributes::kConcat:
      return op.inputs.size() == 1;
    case v1::OpAttributes::kMul:
      return !HasBounds(attributes.mul().clamp()) &&
             IsFloatConstantOf(graph.tensors[op.inputs[1]], 1.0f);
    case v1::OpAttributes::kBinary:
      return KeepsFirst(graph, op);
    case v1::OpAttributes::kReduceMean:
      return attributes.reduce_mean().axes().empty();
    default:
      return false;
  }
}

// Whether the op reduces extents of 1 only, which leaves the values.
bool ReducesNothing(const Graph& graph, const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  if (!attributes.has_reduce() && !attributes.has_reduce_mean()) return false;
  const Tensor& input = graph.tensors[op.inputs[0]];
  const Tensor& output = graph.tensors[op.outputs[0]];
  const v1::Reduce::Function function = attributes.reduce().function();
  return input.type == output.type &&
         input.quantization == output.quantization &&
         input.num_elements() == output.num_elements() &&
         input.num_elements() > 0 && function != v1::Reduce::L1 &&
         function != v1::Reduce::L2;
}

// Input of an op that broadcasts by itself: what a BroadcastTo in front of it
// reads, if the result keeps its shape.
void ReadUnbroadcast(GraphEditor& editor, int32_t index) {
  const v1::OpAttributes& attributes = editor.graph().ops[index].attributes;
  if (!attributes.has_add() && !attributes.has_mul() &&
      !attributes.has_binary()) {
    return;
  }
  for (const int i : {0, 1}) {
    const Op& op = editor.graph().ops[index];
    const Op* before = editor.producer(op.inputs[i]);
    if (before == nullptr || !before->attributes.has_broadcast_to()) continue;
    const auto shape =
        ops::BroadcastShape(editor.tensor(before->inputs[0]).shape,
                            editor.tensor(op.inputs[1 - i]).shape);
    if (shape.ok() && *shape == editor.tensor(op.outputs[0]).shape) {
      editor.SetInput(index, i, before->inputs[0]);
    }
  }
}

class RemoveNoops : public Pass {
 public:
  absl::string_view name() const override { return "remove-noops"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    GraphEditor editor(graph);
    for (int32_t i = 0; i < static_cast<int32_t>(graph.ops.size()); ++i) {
      const Op& op = graph.ops[i];
      if (op.attributes.has_reshape()) {
        // reshape(reshape(x)) reads x itself; the inner one may die.
        const Op* inner = editor.producer(op.inputs[0]);
        if (inner != nullptr && inner->attributes.has_reshape()) {
          editor.SetInput(i, 0, inner->inputs[0]);
        }
      }
      if (op.inputs.empty() || op.inputs[0] == kNoTensor) continue;
      ReadUnbroadcast(editor, i);
      if (IsNoop(graph, op)) {
        editor.ReplaceByInput(i, op.inputs[0]);
      } else if (ReducesNothing(graph, op)) {
        editor.SetAttributes(i, ReshapeAttributes());
      }
    }
    return editor.Finish() ? Changed::kYes : Changed::kNo;
  }
};

}  // namespace

std::unique_ptr<Pass> NewRemoveNoopsPass() {
  return std::make_unique<RemoveNoops>();
}

}  // namespace edgekiln::compiler
