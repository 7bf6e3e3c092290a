#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/rules.h"

// Values that other tensors' values pick or place: tuples of indices, lengths,
// coordinates. Gather along one axis is movement_family.cc's.
namespace edgekiln::ops {
namespace {

// How many dimensions a tuple of `indices` names; -1 if it is not known or more
// than `most`.
int64_t TupleLength(absl::Span<const int64_t> indices, size_t most) {
  if (indices.empty() || indices.back() < 0 ||
      indices.back() > static_cast<int64_t>(most)) {
    return -1;
  }
  return indices.back();
}

absl::StatusOr<Shape> GatherNdShape(const v1::GatherNd& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  const auto x = inputs[0].shape;
  const auto indices = inputs[1].shape;
  const int64_t shared = op.batch_dims();
  const bool sane = shared >= 0 && shared <= std::ssize(x) &&
                    shared < std::ssize(indices) &&
                    x.first(shared) == indices.first(shared);
  const int64_t length = sane ? TupleLength(indices, x.size() - shared) : -1;
  if (length < 0) {
    return BadShape(
        absl::StrCat("gather from ", ShapeText(x), " by ", ShapeText(indices),
                     " with ", shared, " shared dimensions"),
        "tuples no longer than the input has dimensions");
  }
  Shape out(indices.begin(), indices.end() - 1);
  out.insert(out.end(), x.begin() + shared + length, x.end());
  return out;
}

absl::StatusOr<Shape> ScatterElementsShape(const v1::ScatterElements& op,
                                           Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 3));
  EK_ASSIGN_OR_RETURN(const Shape x, AxisShape(op.axis(), inputs));
  const auto indices = inputs[1].shape;
  bool fits = x.size() == indices.size() && indices == inputs[2].shape;
  for (size_t d = 0; fits && d < x.size(); ++d) {
    fits = static_cast<int32_t>(d) == op.axis() || indices[d] <= x[d];
  }
  if (fits) return x;
  return BadShape(absl::StrCat("updates ", ShapeText(inputs[2].shape), " at ",
                               ShapeText(indices), " of input ", ShapeText(x)),
                  "one index per update, no more than the input has along "
                  "other axes");
}

absl::StatusOr<Shape> ScatterNdShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 3));
  const auto x = inputs[0].shape;
  const auto indices = inputs[1].shape;
  const int64_t length = TupleLength(indices, x.size());
  if (length >= 0) {
    Shape updates(indices.begin(), indices.end() - 1);
    updates.insert(updates.end(), x.begin() + length, x.end());
    if (inputs[2].shape == absl::MakeConstSpan(updates)) {
      return Shape(x.begin(), x.end());
    }
  }
  return BadShape(absl::StrCat("updates ", ShapeText(inputs[2].shape), " at ",
                               ShapeText(indices), " of input ", ShapeText(x)),
                  "one slice of the input per tuple of indices");
}

absl::StatusOr<Shape> ReverseSequenceShape(const v1::ReverseSequence& op,
                                           Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(AxisShape(op.time_axis(), inputs).status());
  EK_ASSIGN_OR_RETURN(const Shape x, AxisShape(op.batch_axis(), inputs));
  const auto lengths = inputs[1].shape;
  if (op.batch_axis() != op.time_axis() && lengths.size() == 1 &&
      lengths[0] == x[op.batch_axis()]) {
    return x;
  }
  return BadShape(absl::StrCat("lengths ", ShapeText(lengths), " for axis ",
                               op.batch_axis(), " of ", ShapeText(x)),
                  "one length per batch element, and two axes");
}

absl::StatusOr<Shape> GridSampleShape(Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 4));
  EK_RETURN_IF_ERROR(WantRank(inputs, 1, 4));
  const auto x = inputs[0].shape;
  const auto grid = inputs[1].shape;
  const bool reads = NumElements(grid.first(3)) > 0;
  if (grid[0] == x[0] && grid[3] == 2 && !(reads && (x[1] < 1 || x[2] < 1))) {
    return Shape{x[0], grid[1], grid[2], x[3]};
  }
  return BadShape(
      absl::StrCat("grid ", ShapeText(grid), " for input ", ShapeText(x)),
      "two coordinates per output pixel, of as many images, and "
      "images that are not empty");
}

absl::Status WantIndices(const TensorView& indices) {
  if (IsIndexType(indices.type)) return absl::OkStatus();
  return BadType(absl::StrCat("indices are ", TypeName(indices.type)),
                 "INT32 or INT64");
}

// One input that is copied, and integers.
absl::Status CheckPick(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
  EK_RETURN_IF_ERROR(WantIndices(inputs[1]));
  if (inputs[0].quantization.per_channel()) {
    return BadType("input 0 is quantized per channel", "one scale");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckScatter(v1::ScatterReduction reduction, Views inputs,
                          const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 3, 3));
  EK_RETURN_IF_ERROR(WantIndices(inputs[1]));
  if (!v1::ScatterReduction_IsValid(reduction)) {
    return BadType("unknown reduction of a scatter");
  }
  if (output.quantization.per_channel()) {
    return BadType("scatter into a tensor quantized per channel", "one scale");
  }
  if (reduction != v1::SCATTER_REPLACE) {
    EK_RETURN_IF_ERROR(WantNotQuantized(output, "output"));
    if (!IsNumericType(output.type)) {
      return BadType(absl::StrCat("reduction of ", TypeName(output.type)),
                     "a float or integer type");
    }
  }
  EK_RETURN_IF_ERROR(CheckMove(inputs[0], output));
  return CheckMove(inputs[2], output);
}

absl::Status CheckGridSample(const v1::GridSample& op, Views inputs,
                             const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 2, 2));
  if (!IsFloatType(inputs[0].type)) {
    return BadType(absl::StrCat("input 0 is ", TypeName(inputs[0].type)),
                   "a float type");
  }
  EK_RETURN_IF_ERROR(WantType(inputs[1], "input 1", inputs[0].type));
  if (!v1::GridSample::Mode_IsValid(op.mode()) ||
      !v1::GridSample::Padding_IsValid(op.padding())) {
    return BadType("unknown mode of a grid sample");
  }
  return CheckMove(inputs[0], output);
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferIndexed(const v1::OpAttributes& op,
                                                Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kGatherNd:
      return One(GatherNdShape(op.gather_nd(), inputs));
    case v1::OpAttributes::kScatterElements:
      return One(ScatterElementsShape(op.scatter_elements(), inputs));
    case v1::OpAttributes::kScatterNd:
      return One(ScatterNdShape(inputs));
    case v1::OpAttributes::kReverseSequence:
      return One(ReverseSequenceShape(op.reverse_sequence(), inputs));
    case v1::OpAttributes::kGridSample:
      return One(GridSampleShape(inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckIndexed(const v1::OpAttributes& op, Views inputs,
                          Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kGatherNd:
    case v1::OpAttributes::kReverseSequence:
      return CheckPick(inputs, outputs[0]);
    case v1::OpAttributes::kScatterElements:
      return CheckScatter(op.scatter_elements().reduction(), inputs,
                          outputs[0]);
    case v1::OpAttributes::kScatterNd:
      return CheckScatter(op.scatter_nd().reduction(), inputs, outputs[0]);
    case v1::OpAttributes::kGridSample:
      return CheckGridSample(op.grid_sample(), inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeIndexed(const v1::OpAttributes& op, Inputs inputs,
                            Outputs outputs, CpuPath path) {
  const bool computes =
      op.has_grid_sample() ||
      op.scatter_elements().reduction() != v1::SCATTER_REPLACE ||
      op.scatter_nd().reduction() != v1::SCATTER_REPLACE;
  if (computes && outputs[0].type == v1::FLOAT16) {
    return ComputeInFloat(inputs, outputs, [&](Inputs from, Outputs to) {
      return ComputeIndexed(op, from, to, path);
    });
  }
  switch (op.op_case()) {
    case v1::OpAttributes::kGatherNd:
      return GatherNd(op.gather_nd(), inputs, outputs[0]);
    case v1::OpAttributes::kScatterElements:
      return ScatterElements(op.scatter_elements(), inputs, outputs[0]);
    case v1::OpAttributes::kScatterNd:
      return ScatterNd(op.scatter_nd(), inputs, outputs[0]);
    case v1::OpAttributes::kReverseSequence:
      return ReverseSequence(op.reverse_sequence(), inputs, outputs[0]);
    case v1::OpAttributes::kGridSample:
      return GridSample(op.grid_sample(), inputs, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
