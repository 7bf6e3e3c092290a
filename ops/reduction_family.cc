#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/reduce_over.h"
#include "ops/rules.h"

// One value, or a running one, out of many along axes.
namespace edgekiln::ops {
namespace {

// `may_be_empty`: whether the reduction of no element has a value.
template <typename Op>
absl::StatusOr<Shape> ReducedShape(const Op& op, bool may_be_empty,
                                   Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 1));
  const auto x = inputs[0].shape;
  Shape out(x.begin(), x.end());
  int32_t last = -1;
  for (const int32_t axis : op.axes()) {
    if (axis <= last || axis >= std::ssize(x) ||
        (x[axis] == 0 && !may_be_empty)) {
      return BadShape(
          absl::StrCat("reduction over axis ", axis, " of ", ShapeText(x)),
          "ascending axes of the input that are not empty");
    }
    last = axis;
    out[axis] = op.keep_dims() ? 1 : -1;
  }
  std::erase(out, -1);
  return out;
}

absl::StatusOr<Shape> ArgReduceShape(const v1::ArgReduce& op, Views inputs) {
  EK_ASSIGN_OR_RETURN(Shape out, AxisShape(op.axis(), inputs));
  if (out[op.axis()] == 0) {
    return BadShape("search in an axis without elements", "1 or more");
  }
  out[op.axis()] = 1;
  if (!op.keep_dims()) out.erase(out.begin() + op.axis());
  return out;
}

absl::StatusOr<std::vector<Shape>> TopKShapes(const v1::TopK& op,
                                              Views inputs) {
  EK_ASSIGN_OR_RETURN(Shape out, AxisShape(op.axis(), inputs));
  if (op.k() < 0 || op.k() > out[op.axis()]) {
    return BadShape(
        absl::StrCat("the ", op.k(), " largest of ", out[op.axis()], " values"),
        "a number up to the extent of the axis");
  }
  out[op.axis()] = op.k();
  return std::vector<Shape>{out, out};
}

// Sums of quantized values are taken in int32.
template <typename Op>
absl::Status WantInt32Sum(const Op& op, Views inputs,
                          const TensorView& output) {
  const int64_t count = ReducedCount(op.axes(), inputs[0].shape);
  const int64_t limit = output.type == v1::INT16 ? 1 << 15 : 1 << 23;
  if (!output.quantization.present() || count <= limit) {
    return absl::OkStatus();
  }
  return BadType(absl::StrCat("sum of ", count, " values"), "",
                 absl::StrCat(limit, " values in an int32 sum"));
}

absl::Status CheckMean(const v1::ReduceMean& op, Views inputs,
                       const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantArithmetic(inputs.first(1), output));
  return WantInt32Sum(op, inputs, output);
}

absl::Status CheckReduce(const v1::Reduce& op, Views inputs,
                         const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  switch (op.function()) {
    case v1::Reduce::ANY:
    case v1::Reduce::ALL:
      EK_RETURN_IF_ERROR(WantType(inputs[0], "input 0", v1::BOOL));
      return CheckMove(inputs[0], output);
    case v1::Reduce::MAX:
    case v1::Reduce::MIN:
      if (inputs[0].type != v1::BOOL) {
        EK_RETURN_IF_ERROR(WantArithmetic(inputs.first(1), output));
      }
      return CheckMove(inputs[0], output);
    case v1::Reduce::SUM:
      EK_RETURN_IF_ERROR(WantArithmetic(inputs.first(1), output));
      return WantInt32Sum(op, inputs, output);
    case v1::Reduce::PRODUCT:
    case v1::Reduce::L1:
    case v1::Reduce::L2:
      EK_RETURN_IF_ERROR(WantNotQuantized(output, "output"));
      return WantArithmetic(inputs.first(1), output);
    default:
      return BadType("reduction without a function");
  }
}

absl::Status WantIndices(const TensorView& output, absl::string_view which) {
  EK_RETURN_IF_ERROR(WantNotQuantized(output, which));
  if (IsIndexType(output.type)) return absl::OkStatus();
  return BadType(absl::StrCat(which, " is ", TypeName(output.type)),
                 "INT32 or INT64");
}

absl::Status CheckArgReduce(const v1::ArgReduce& op, Views inputs,
                            const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  if (op.function() != v1::ArgReduce::MAX &&
      op.function() != v1::ArgReduce::MIN) {
    return BadType("search without a function");
  }
  EK_RETURN_IF_ERROR(WantArithmetic(inputs.first(1)));
  return WantIndices(output, "output");
}

absl::Status CheckTopK(Views inputs, Views outputs) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantArithmetic(inputs.first(1)));
  EK_RETURN_IF_ERROR(CheckMove(inputs[0], outputs[0]));
  return outputs.size() > 1 ? WantIndices(outputs[1], "output 1")
                            : absl::OkStatus();
}

absl::Status CheckCumSum(Views inputs, const TensorView& output) {
  EK_RETURN_IF_ERROR(WantCount(inputs, 1, 1));
  EK_RETURN_IF_ERROR(WantNotQuantized(output, "output"));
  return WantArithmetic(inputs.first(1), output);
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferReduction(const v1::OpAttributes& op,
                                                  Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReduceMean:
      return One(ReducedShape(op.reduce_mean(), false, inputs));
    case v1::OpAttributes::kReduce:
      return One(ReducedShape(op.reduce(), true, inputs));
    case v1::OpAttributes::kArgReduce:
      return One(ArgReduceShape(op.arg_reduce(), inputs));
    case v1::OpAttributes::kCumSum:
      return One(AxisShape(op.cum_sum().axis(), inputs));
    case v1::OpAttributes::kTopK:
      return TopKShapes(op.top_k(), inputs);
    default:
      return NoSuchOp(op);
  }
}

absl::Status CheckReduction(const v1::OpAttributes& op, Views inputs,
                            Views outputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kReduceMean:
      return CheckMean(op.reduce_mean(), inputs, outputs[0]);
    case v1::OpAttributes::kReduce:
      return CheckReduce(op.reduce(), inputs, outputs[0]);
    case v1::OpAttributes::kArgReduce:
      return CheckArgReduce(op.arg_reduce(), inputs, outputs[0]);
    case v1::OpAttributes::kCumSum:
      return CheckCumSum(inputs, outputs[0]);
    case v1::OpAttributes::kTopK:
      return CheckTopK(inputs, outputs);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeReduction(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path) {
  if (HasFloat16(inputs, outputs)) {
    return ComputeInFloat(inputs, outputs, [&](Inputs x, Outputs y) {
      return ComputeReduction(op, x, y, path);
    });
  }
  switch (op.op_case()) {
    case v1::OpAttributes::kReduceMean:
      return ReduceMean(op.reduce_mean(), inputs[0], outputs[0]);
    case v1::OpAttributes::kReduce:
      return Reduce(op.reduce(), inputs[0], outputs[0]);
    case v1::OpAttributes::kArgReduce:
      return ArgReduce(op.arg_reduce(), inputs[0], outputs[0]);
    case v1::OpAttributes::kCumSum:
      return CumSum(op.cum_sum(), inputs[0], outputs[0]);
    case v1::OpAttributes::kTopK:
      return TopK(op.top_k(), inputs[0], outputs);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
