#include <cmath>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/kernels.h"
#include "ops/quantized_parameters.h"
#include "ops/rules.h"
#include "ops/shape_inference.h"

// Values that move: of any element type, by the size of its elements.
namespace edgekiln::ops {
namespace {

absl::StatusOr<Shape> TransposeShape(const v1::Transpose& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  std::vector<bool> seen(x.size(), false);
  Shape out;
  for (const int32_t from : op.permutation()) {
    if (from < 0 || from >= std::ssize(x) || seen[from]) {
      return BadShape("permutation is not one",
                      absl::StrCat("each of 0..", x.size(), " exactly once"));
    }
    seen[from] = true;
    out.push_back(x[from]);
  }
  if (out.size() != x.size()) {
    return BadShape(
        absl::StrCat("permutation of ", out.size(), " on input ", ShapeText(x)),
        "one entry per dimension");
  }
  return out;
}

absl::StatusOr<Shape> PadShape(const v1::Pad& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  if (op.before_size() != std::ssize(x) || op.after_size() != std::ssize(x)) {
    return BadShape(
        absl::StrCat("padding of ", op.before_size(), " and ", op.after_size(),
                     " dimensions on ", ShapeText(x)),
        "one entry per dimension");
  }
  Shape out;
  for (size_t i = 0; i < x.size(); ++i) {
    const auto head = CheckedAdd(x[i], op.before(i));
    const auto sum = head ? CheckedAdd(*head, op.after(i)) : std::nullopt;
    if (op.before(i) < 0 || op.after(i) < 0 || !sum) {
      return BadShape("padding is negative or too large", "0 or more");
    }
    out.push_back(*sum);
  }
  return out;
}

absl::StatusOr<Shape> GatherShape(const v1::Gather& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  const auto x = inputs[0].shape;
  const auto indices = inputs[1].shape;
  const int64_t shared = op.batch_dims();
  const bool fits = op.axis() >= 0 && op.axis() < std::ssize(x) &&
                    shared >= 0 && shared <= op.axis() &&
                    shared <= std::ssize(indices) &&
                    x.first(shared) == indices.first(shared);
  if (!fits) {
    return BadShape(absl::StrCat("gather along axis ", op.axis(), " of ",
                                 ShapeText(x), " by ", ShapeText(indices),
                                 " with ", shared, " shared dimensions"),
                    "an axis of the input behind the shared dimensions");
  }
  Shape out(x.begin(), x.begin() + op.axis());
  out.insert(out.end(), indices.begin() + shared, indices.end());
  out.insert(out.end(), x.begin() + op.axis() + 1, x.end());
  return out;
}

absl::StatusOr<Shape> GatherElementsShape(const v1::GatherElements& op,
                                          Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 2));
  EK_RETURN_IF_ERROR(AxisShape(op.axis(), inputs).status());
  const auto x = inputs[0].shape;
  const auto indices = inputs[1].shape;
  bool fits = x.size() == indices.size();
  for (size_t d = 0; fits && d < x.size(); ++d) {
    fits = static_cast<int32_t>(d) == op.axis() || indices[d] <= x[d];
  }
  if (fits) return Shape(indices.begin(), indices.end());
  return BadShape(
      absl::StrCat("indices ", ShapeText(indices), " on input ", ShapeText(x)),
      "indices no larger than the input but along the axis");
}

absl::StatusOr<Shape> SliceShape(const v1::Slice& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  const auto rank = static_cast<int>(x.size());
  if (op.begin_size() != rank || op.extent_size() != rank ||
      op.stride_size() != rank) {
    return BadShape(absl::StrCat("slice of ", op.begin_size(),
                                 " dimensions of ", ShapeText(x)),
                    "begin, extent and stride of each dimension");
  }
  for (int d = 0; d < rank; ++d) {
    const int64_t begin = op.begin(d);
    const int64_t extent = op.extent(d);
    if (extent == 0) continue;
    const auto way =
        extent > 0 ? CheckedMul(extent - 1, op.stride(d)) : std::nullopt;
    const auto last = way ? CheckedAdd(begin, *way) : std::nullopt;
    if (op.stride(d) == 0 || begin < 0 || begin >= x[d] || !last || *last < 0 ||
        *last >= x[d]) {
      return BadShape(absl::StrCat("slice of ", extent, " elements from ",
                                   begin, " in steps of ", op.stride(d),
                                   " of axis ", d, " of ", ShapeText(x)),
                      "elements of the input");
    }
  }
  return Shape(op.extent().begin(), op.extent().end());
}

absl::StatusOr<Shape> BroadcastToShape(const v1::BroadcastTo& op,
                                       Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  for (const int64_t extent : op.shape()) {
    if (extent < 0) return BadShape("negative extent", "0 or more");
  }
  return BroadcastShape(inputs[0].shape, op.shape());
}

absl::StatusOr<Shape> TileShape(const v1::Tile& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  if (op.multiples_size() != std::ssize(x)) {
    return BadShape(
        absl::StrCat(op.multiples_size(), " multiples of ", ShapeText(x)),
        "one per dimension");
  }
  Shape out;
  for (size_t d = 0; d < x.size(); ++d) {
    const int64_t multiple = op.multiples(static_cast<int>(d));
    const auto extent = CheckedMul(x[d], multiple);
    if (multiple < 0 || !extent) {
      return BadShape(absl::StrCat("multiple ", multiple, " of ", x[d]),
                      "0 or more, and a smaller tensor");
    }
    out.push_back(*extent);
  }
  return out;
}

absl::StatusOr<Shape> ConcatShape(const v1::Concat& op, Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, std::max<size_t>(inputs.size(), 1)));
  const auto first = inputs[0].shape;
  if (op.axis() < 0 || op.axis() >= std::ssize(first)) {
    return BadShape(absl::StrCat("axis ", op.axis(), " of ", ShapeText(first)),
                    "an axis of the input");
  }
  Shape out(first.begin(), first.end());
  for (size_t i = 1; i < inputs.size(); ++i) {
    const auto next = inputs[i].shape;
    bool fits = next.size() == first.size();
    for (size_t d = 0; fits && d < next.size(); ++d) {
      fits = static_cast<int32_t>(d) == op.axis() || next[d] == first[d];
    }
    const auto sum =
        fits ? CheckedAdd(out[op.axis()], next[op.axis()]) : std::nullopt;
    if (!sum) {
      return BadShape(absl::StrCat("input ", i, " of shape ", ShapeText(next),
                                   " joined to ", ShapeText(first)),
                      "equal extents but for the axis");
    }
    out[op.axis()] = *sum;
  }
  return out;
}

absl::Status CheckReshape(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (NumElements(inputs[0].shape) != NumElements(output.shape)) {
    return BadType(
        absl::StrCat("[", absl::StrJoin(inputs[0].shape, ","), "] as [",
                     absl::StrJoin(output.shape, ","), "]"),
        "as many elements");
  }
  if (inputs[0].quantization.per_channel()) {
    return BadType("reshape of a tensor quantized per channel", "one scale");
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckTranspose(const v1::Transpose& op, Views inputs,
                            const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantType(output, "output", inputs[0].type));
  const QuantizationView& in = inputs[0].quantization;
  const QuantizationView& out = output.quantization;
  const bool same = in.scale == out.scale && in.zero_point == out.zero_point;
  if (!same || (in.per_channel() && op.permutation(out.axis) != in.axis)) {
    return BadType("input and output have different quantization",
                   "the same, its axis moved with the dimensions");
  }
  return absl::OkStatus();
}

// A number that the type holds exactly.
bool Holds(v1::ElementType type, float value) {
  if (IsFloatType(type)) return true;
  if (std::trunc(value) != value) return false;
  switch (type) {
    case v1::BOOL:
      return value == 0 || value == 1;
    case v1::UINT32:
      return value >= 0 && value < 0x1p32f;
    case v1::INT64:
      return value >= -0x1p63f && value < 0x1p63f;
    case v1::UINT64:
      return value >= 0 && value < 0x1p64f;
    default:
      return double{value} >= RangeOf(type).min &&
             double{value} <= RangeOf(type).max;
  }
}

absl::Status CheckPad(const v1::Pad& op, Views inputs,
                      const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (std::isnan(op.value())) return BadType("padding with NaN");
  if (!v1::Pad::Mode_IsValid(op.mode())) return BadType("unknown padding mode");
  if (inputs[0].quantization.per_channel()) {
    return BadType("padding of a tensor quantized per channel", "one scale");
  }
  if (!inputs[0].quantization.present() && !Holds(inputs[0].type, op.value())) {
    return BadType(absl::StrCat("padding of ", TypeName(inputs[0].type),
                                " with ", op.value()),
                   "a value of its type");
  }
  for (size_t d = 0; op.mode() != v1::Pad::CONSTANT && d < output.shape.size();
       ++d) {
    if (inputs[0].shape[d] == 0 && output.shape[d] > 0) {
      return BadType("padding of nothing with copies of itself",
                     "an input that is not empty");
    }
  }
  return CheckMove(inputs[0], output);
}

absl::Status CheckConcat(Views inputs, const TensorView& output) {
  const bool rescales =
      output.quantization.present() &&
      (IsQuantizedType(output.type) || output.type == v1::INT16);
  if (rescales) {
    return WantArithmetic(inputs, output);
  }
  for (const TensorView& input : inputs) {
    EK_RETURN_IF_ERROR(CheckMove(input, output));
  }
  return absl::OkStatus();
}

// One input and perhaps indices; any element type.
absl::Status CheckCopy(Views inputs, size_t count, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, count, count));
  if (inputs[0].quantization.per_channel()) {
    return BadType("input 0 is quantized per channel", "one scale");
  }
  if (count == 2 && !IsIndexType(inputs[1].type)) {
    return BadType(absl::StrCat("indices are ", TypeName(inputs[1].type)),
                   "INT32 or INT64");
  }
  return CheckMove(inputs[0], output);
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferMovement(const v1::OpAttributes& op,
                                                 Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReshape:
      return BadShape("the shape of a reshape is that of its output tensor");
    case v1::OpAttributes::kTranspose:
      return One(TransposeShape(op.transpose(), inputs));
    case v1::OpAttributes::kPad:
      return One(PadShape(op.pad(), inputs));
    case v1::OpAttributes::kConcat:
      return One(ConcatShape(op.concat(), inputs));
    case v1::OpAttributes::kGather:
      return One(GatherShape(op.gather(), inputs));
    case v1::OpAttributes::kGatherElements:
      return One(GatherElementsShape(op.gather_elements(), inputs));
    case v1::OpAttributes::kSlice:
      return One(SliceShape(op.slice(), inputs));
    case v1::OpAttributes::kBroadcastTo:
      return One(BroadcastToShape(op.broadcast_to(), inputs));
    case v1::OpAttributes::kTile:
      return One(TileShape(op.tile(), inputs));
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckMovement(const v1::OpAttributes& op, Views inputs,
                           Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReshape:
      return CheckReshape(inputs, outputs[0]);
    case v1::OpAttributes::kTranspose:
      return CheckTranspose(op.transpose(), inputs, outputs[0]);
    case v1::OpAttributes::kPad:
      return CheckPad(op.pad(), inputs, outputs[0]);
    case v1::OpAttributes::kConcat:
      return CheckConcat(inputs, outputs[0]);
    case v1::OpAttributes::kGather:
    case v1::OpAttributes::kGatherElements:
      return CheckCopy(inputs, 2, outputs[0]);
    case v1::OpAttributes::kSlice:
    case v1::OpAttributes::kBroadcastTo:
    case v1::OpAttributes::kTile:
      return CheckCopy(inputs, 1, outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeMovement(const v1::OpAttributes& op, Inputs inputs,
                             Outputs outputs, CpuPath) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReshape:
      return Reshape(inputs[0], outputs[0]);
    case v1::OpAttributes::kTranspose:
      return Transpose(op.transpose(), inputs[0], outputs[0]);
    case v1::OpAttributes::kPad:
      return Pad(op.pad(), inputs[0], outputs[0]);
    case v1::OpAttributes::kConcat:
      return Concat(op.concat(), op.rounding(), inputs, outputs[0]);
    case v1::OpAttributes::kGather:
      return Gather(op.gather(), inputs, outputs[0]);
    case v1::OpAttributes::kGatherElements:
      return GatherElements(op.gather_elements(), inputs, outputs[0]);
    case v1::OpAttributes::kSlice:
      return Slice(op.slice(), inputs[0], outputs[0]);
    case v1::OpAttributes::kBroadcastTo:
      return BroadcastTo(inputs[0], outputs[0]);
    case v1::OpAttributes::kTile:
      return Tile(inputs[0], outputs[0]);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
