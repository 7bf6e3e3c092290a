#include "target/op_variables.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/status_macros.h"

namespace edgekiln::target {
namespace {

using V = OpVariable;
using Kind = v1::OpAttributes::OpCase;

bool HasWeights(Kind kind) {
  switch (kind) {
    case Kind::kConv2D:
    case Kind::kDepthwiseConv2D:
    case Kind::kFullyConnected:
    case Kind::kConv3D:
    case Kind::kTransposedConv:
    case Kind::kLstm:
    case Kind::kGru:
    case Kind::kRnn:
    case Kind::kSvdf:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<int64_t> ElementsOf(ShapeSpan shape) {
  if (const auto count = CheckedProduct(shape); count.has_value()) {
    return *count;
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "SHAPE_INVALID",
       .what = "a shape is negative or too large",
       .where = absl::StrCat("[", absl::StrJoin(shape, ","), "]")});
}

// From behind: 0 is the last axis.
int64_t AxisOf(ShapeSpan shape, size_t from_behind) {
  return from_behind < shape.size() ? shape[shape.size() - 1 - from_behind] : 1;
}

void SetShape(ShapeSpan shape, V h, V w, V c, OpVariables& values) {
  values[h] = AxisOf(shape, 2);
  values[w] = AxisOf(shape, 1);
  values[c] = AxisOf(shape, 0);
}

void SetWindow(const v1::Window2d& window, int64_t kernel_h, int64_t kernel_w,
               OpVariables& values) {
  values[V::kKernelH] = kernel_h;
  values[V::kKernelW] = kernel_w;
  values[V::kStrideH] = window.stride_h();
  values[V::kStrideW] = window.stride_w();
  values[V::kDilationH] = window.dilation_h();
  values[V::kDilationW] = window.dilation_w();
  values[V::kPadTop] = window.pad_top();
  values[V::kPadBottom] = window.pad_bottom();
  values[V::kPadLeft] = window.pad_left();
  values[V::kPadRight] = window.pad_right();
}

void SetAttributes(const v1::OpAttributes& attributes, ShapeSpan weights,
                   OpVariables& values) {
  for (const V one :
       {V::kKernelH, V::kKernelW, V::kStrideH, V::kStrideW, V::kDilationH,
        V::kDilationW, V::kGroups, V::kDepthMultiplier}) {
    values[one] = 1;
  }
  switch (attributes.op_case()) {
    case Kind::kConv2D:
      SetWindow(attributes.conv2d().window(), AxisOf(weights, 2),
                AxisOf(weights, 1), values);
      values[V::kGroups] = std::max(1, attributes.conv2d().groups());
      return;
    case Kind::kDepthwiseConv2D:
      SetWindow(attributes.depthwise_conv2d().window(), AxisOf(weights, 2),
                AxisOf(weights, 1), values);
      values[V::kDepthMultiplier] =
          attributes.depthwise_conv2d().depth_multiplier();
      return;
    case Kind::kAveragePool2D: {
      const v1::AveragePool2d& pool = attributes.average_pool2d();
      SetWindow(pool.window(), pool.kernel_h(), pool.kernel_w(), values);
      values[V::kCountPad] = pool.count_include_pad() ? 1 : 0;
      return;
    }
    case Kind::kMaxPool2D: {
      const v1::MaxPool2d& pool = attributes.max_pool2d();
      SetWindow(pool.window(), pool.kernel_h(), pool.kernel_w(), values);
      return;
    }
    case Kind::kClip: {
      const v1::Clamp& clamp = attributes.clip().clamp();
      values[V::kRelu] =
          clamp.has_min() && clamp.min() == 0 && !clamp.has_max() ? 1 : 0;
      return;
    }
    default:
      return;
  }
}

// x is flattened to rows of as many values as a row of weights has.
void SetRows(ShapeSpan weights, OpVariables& values) {
  const int64_t depth = AxisOf(weights, 0);
  const int64_t units = AxisOf(weights, 1);
  values[V::kBatch] = values[V::kInH] = values[V::kOutH] = 1;
  values[V::kInW] = depth > 0 ? values[V::kInElements] / depth : 0;
  values[V::kInC] = depth;
  values[V::kOutW] = units > 0 ? values[V::kOutElements] / units : 0;
  values[V::kOutC] = units;
}

}  // namespace

absl::Span<const std::string> OpVariableNames() {
  static const auto* const kNames = new std::vector<std::string>{
      "batch",        "in_h",       "in_w",        "in_c",
      "in2_h",        "in2_w",      "in2_c",       "out_h",
      "out_w",        "out_c",      "kernel_h",    "kernel_w",
      "stride_h",     "stride_w",   "dilation_h",  "dilation_w",
      "pad_top",      "pad_bottom", "pad_left",    "pad_right",
      "count_pad",    "one_shape",  "groups",      "depth_multiplier",
      "biased",       "relu",       "in_elements", "in2_elements",
      "out_elements", "macs",       "elements"};
  return *kNames;
}

absl::StatusOr<OpVariables> VariablesOf(const v1::OpAttributes& attributes,
                                        absl::Span<const ShapeSpan> inputs,
                                        absl::Span<const ShapeSpan> outputs) {
  OpVariables values;
  int64_t largest = 0;
  const auto elements = [&](absl::Span<const ShapeSpan> shapes, size_t index,
                            V variable) -> absl::Status {
    EK_ASSIGN_OR_RETURN(values[variable], ElementsOf(shapes[index]));
    return absl::OkStatus();
  };
  for (const absl::Span<const ShapeSpan> shapes : {inputs, outputs}) {
    for (const ShapeSpan shape : shapes) {
      EK_ASSIGN_OR_RETURN(const int64_t count, ElementsOf(shape));
      largest = std::max(largest, count);
    }
  }
  const bool weights = HasWeights(attributes.op_case());
  const ShapeSpan second = inputs.size() > 1 ? inputs[1] : ShapeSpan();
  if (!inputs.empty()) {
    const ShapeSpan in = inputs[0];
    SetShape(in, V::kInH, V::kInW, V::kInC, values);
    values[V::kBatch] =
        in.size() > 3 ? *CheckedProduct(in.first(in.size() - 3)) : 1;
    EK_RETURN_IF_ERROR(elements(inputs, 0, V::kInElements));
  }
  if (inputs.size() > 1 && !weights) {
    SetShape(second, V::kIn2H, V::kIn2W, V::kIn2C, values);
    EK_RETURN_IF_ERROR(elements(inputs, 1, V::kIn2Elements));
  }
  if (!outputs.empty()) {
    SetShape(outputs[0], V::kOutH, V::kOutW, V::kOutC, values);
    EK_RETURN_IF_ERROR(elements(outputs, 0, V::kOutElements));
  }
  const ShapeSpan result = outputs.empty() ? ShapeSpan() : outputs[0];
  values[V::kOneShape] =
      std::all_of(inputs.begin(), inputs.end(),
                  [result](ShapeSpan shape) { return shape == result; })
          ? 1
          : 0;
  SetAttributes(attributes, second, values);
  values[V::kBiased] =
      weights && inputs.size() > 2 && !inputs[2].empty() ? 1 : 0;
  if (attributes.op_case() == Kind::kFullyConnected) SetRows(second, values);
  const std::optional<int64_t> macs =
      MultiplyAccumulates(attributes, inputs, outputs);
  if (!macs.has_value()) {
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "HOST_COST_OVERFLOW",
         .what = "the number of multiply-accumulates does not fit 64 bits"});
  }
  values[V::kMacs] = *macs;
  values[V::kElements] = std::max(largest, *macs);
  return values;
}

}  // namespace edgekiln::target
