#include "compiler/engines/register_job/operation.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/ir/tensor_views.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobVariable;
using target::JobVariables;
using v1::RegisterJobs;

void SetClamp(const ops::QuantizedRange& clamp, JobVariables& variables) {
  variables[JobVariable::kClampMin] = clamp.min;
  variables[JobVariable::kClampMax] = clamp.max;
}

void SetWindow(const v1::Window2d& window, int64_t kernel_h, int64_t kernel_w,
               Operation& operation) {
  operation.vertical = {kernel_h, window.stride_h(), window.dilation_h(),
                        window.pad_top()};
  operation.horizontal = {kernel_w, window.stride_w(), window.dilation_w(),
                          window.pad_left()};
}

// Of an op whose sums become results by a converter.
void SetConverter(const v1::OpAttributes& attributes, Operation& operation) {
  if (!attributes.has_converter()) return;
  const v1::Converter& converter = attributes.converter();
  operation.converter = &converter;
  JobVariables& variables = operation.variables;
  variables[JobVariable::kConverts] = 1;
  variables[JobVariable::kGain] = converter.gain();
  variables[JobVariable::kCodeMin] = converter.min();
  variables[JobVariable::kCodeMax] = converter.max();
  variables[JobVariable::kCodeShift] = converter.shift();
}

absl::Status SetDot(const Graph& graph, const Op& op, const v1::Clamp& clamp,
                    Operation& operation) {
  operation.weights = op.inputs[1];
  operation.bias = op.inputs.size() > 2 ? op.inputs[2] : kNoTensor;
  const Tensor& output = graph.tensors[operation.output];
  const auto input = QuantizationOf(graph.tensors[operation.input]);
  const auto weights = QuantizationOf(graph.tensors[operation.weights]);
  JobVariables& variables = operation.variables;
  ops::QuantizedDotParameters dot;
  if (output.type == v1::INT32) {
    EK_ASSIGN_OR_RETURN(
        dot, ops::AccumulatorParameters(input, weights, operation.out.c));
    variables[JobVariable::kOutInt32] = 1;
  } else {
    EK_ASSIGN_OR_RETURN(
        dot, ops::DotParameters(clamp, op.attributes.rounding(), input, weights,
                                QuantizationOf(output), output.type,
                                operation.out.c));
    SetClamp(dot.clamp, variables);
  }
  if (dot.weight_zero_point != 0) {
    return absl::InternalError("its weights have a zero point");
  }
  operation.multipliers = std::move(dot.multiplier);
  SetConverter(op.attributes, operation);
  variables[JobVariable::kInZeroPoint] = dot.input_zero_point;
  variables[JobVariable::kOutZeroPoint] = dot.output_zero_point;
  return absl::OkStatus();
}

absl::Status SetAdd(const Graph& graph, const Op& op, Operation& operation) {
  operation.input2 = op.inputs[1];
  const Tensor& output = graph.tensors[operation.output];
  if (graph.tensors[operation.input].shape != output.shape ||
      graph.tensors[operation.input2].shape != output.shape) {
    return absl::InternalError("its operands have different shapes");
  }
  EK_ASSIGN_OR_RETURN(
      const ops::QuantizedAddParameters add,
      ops::AddParameters(op.attributes.add().clamp(), op.attributes.rounding(),
                         QuantizationOf(graph.tensors[operation.input]),
                         QuantizationOf(graph.tensors[operation.input2]),
                         QuantizationOf(output), output.type));
  JobVariables& variables = operation.variables;
  variables[JobVariable::kInZeroPoint] = add.zero_point[0];
  variables[JobVariable::kIn2ZeroPoint] = add.zero_point[1];
  variables[JobVariable::kOutZeroPoint] = add.output_zero_point;
  variables[JobVariable::kInMultiplier] = add.multiplier[0].multiplier;
  variables[JobVariable::kInShift] = add.multiplier[0].shift;
  variables[JobVariable::kIn2Multiplier] = add.multiplier[1].multiplier;
  variables[JobVariable::kIn2Shift] = add.multiplier[1].shift;
  variables[JobVariable::kOutMultiplier] = add.output_multiplier.multiplier;
  variables[JobVariable::kOutShift] = add.output_multiplier.shift;
  variables[JobVariable::kLeftShift] = add.left_shift;
  SetClamp(add.clamp, variables);
  return absl::OkStatus();
}

absl::Status SetRequantize(const Graph& graph, const Op& op,
                           Operation& operation) {
  const Tensor& output = graph.tensors[operation.output];
  SetConverter(op.attributes, operation);
  if (operation.converter != nullptr) {
    SetClamp(ops::ClampRange(op.attributes.requantize().clamp(),
                             op.attributes.rounding(), QuantizationOf(output),
                             output.type),
             operation.variables);
    return absl::OkStatus();
  }
  EK_ASSIGN_OR_RETURN(ops::QuantizedDotParameters parameters,
                      ops::RequantizeParameters(op.attributes.requantize(),
                                                op.attributes.rounding(),
                                                QuantizationOf(output),
                                                output.type, operation.out.c));
  operation.multipliers = std::move(parameters.multiplier);
  operation.variables[JobVariable::kOutZeroPoint] =
      parameters.output_zero_point;
  SetClamp(parameters.clamp, operation.variables);
  return absl::OkStatus();
}

// In and out have one quantization.
void SetPool(const Graph& graph, const v1::Clamp& clamp, v1::Rounding rounding,
             Operation& operation) {
  const Tensor& output = graph.tensors[operation.output];
  SetClamp(
      ops::ClampRange(clamp, rounding, QuantizationOf(output), output.type),
      operation.variables);
  const int32_t zero_point = output.quantization->zero_point[0];
  operation.variables[JobVariable::kInZeroPoint] = zero_point;
  operation.variables[JobVariable::kOutZeroPoint] = zero_point;
}

// docs/targets/register_job.md, section 3.
int64_t RoundingCode(v1::Rounding rounding) {
  switch (rounding) {
    case v1::HALF_EVEN:
      return 1;
    case v1::FLOOR:
      return 2;
    default:
      return 0;
  }
}

// Sets what depends on the kind of op.
absl::Status SetOp(const Graph& graph, const Op& op, Operation& operation) {
  const v1::OpAttributes& attributes = op.attributes;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kConv2D: {
      operation.kernel = RegisterJobs::CONVOLUTION;
      const auto& shape = graph.tensors[op.inputs[1]].shape;
      SetWindow(attributes.conv2d().window(), shape[1], shape[2], operation);
      return SetDot(graph, op, attributes.conv2d().clamp(), operation);
    }
    case v1::OpAttributes::kDepthwiseConv2D: {
      operation.kernel = RegisterJobs::DEPTHWISE_CONVOLUTION;
      const auto& shape = graph.tensors[op.inputs[1]].shape;
      const auto& depthwise = attributes.depthwise_conv2d();
      operation.depth_multiplier = depthwise.depth_multiplier();
      SetWindow(depthwise.window(), shape[1], shape[2], operation);
      return SetDot(graph, op, depthwise.clamp(), operation);
    }
    case v1::OpAttributes::kFullyConnected: {
      // A convolution of one row of pixels.
      operation.kernel = RegisterJobs::CONVOLUTION;
      const auto& weights = graph.tensors[op.inputs[1]].shape;
      const int64_t rows =
          graph.tensors[operation.output].num_elements() / weights[0];
      operation.in = {1, rows, weights[1]};
      operation.out = {1, rows, weights[0]};
      return SetDot(graph, op, attributes.fully_connected().clamp(), operation);
    }
    case v1::OpAttributes::kAveragePool2D: {
      operation.kernel = RegisterJobs::AVERAGE_POOLING;
      const auto& pool = attributes.average_pool2d();
      operation.variables[JobVariable::kCountPad] =
          pool.count_include_pad() ? 1 : 0;
      SetWindow(pool.window(), pool.kernel_h(), pool.kernel_w(), operation);
      SetPool(graph, pool.clamp(), attributes.rounding(), operation);
      return absl::OkStatus();
    }
    case v1::OpAttributes::kMaxPool2D: {
      operation.kernel = RegisterJobs::MAXIMUM_POOLING;
      const auto& pool = attributes.max_pool2d();
      SetWindow(pool.window(), pool.kernel_h(), pool.kernel_w(), operation);
      SetPool(graph, pool.clamp(), attributes.rounding(), operation);
      return absl::OkStatus();
    }
    case v1::OpAttributes::kAdd:
      operation.kernel = RegisterJobs::ADDITION;
      return SetAdd(graph, op, operation);
    case v1::OpAttributes::kRequantize:
      operation.kernel = RegisterJobs::REQUANTIZATION;
      return SetRequantize(graph, op, operation);
    default:
      return absl::InternalError("no kernel computes it");
  }
}

}  // namespace

Image ImageOf(absl::Span<const int64_t> shape) {
  Image image;
  const size_t rank = shape.size();
  if (rank > 0) image.c = shape[rank - 1];
  if (rank > 1) image.w = shape[rank - 2];
  for (size_t axis = 0; axis + 2 < rank; ++axis) image.h *= shape[axis];
  return image;
}

absl::StatusOr<Operation> OperationOf(const Graph& graph, int32_t op_index) {
  const Op& op = graph.ops[op_index];
  Operation operation;
  operation.op_index = op_index;
  operation.input = op.inputs[0];
  operation.output = op.outputs[0];
  const Tensor& input = graph.tensors[operation.input];
  const Tensor& output = graph.tensors[operation.output];
  operation.in = ImageOf(input.shape);
  operation.out = ImageOf(output.shape);
  operation.input_bytes = ElementBytes(input.type);
  operation.output_bytes = ElementBytes(output.type);
  JobVariables& variables = operation.variables;
  variables[JobVariable::kRounding] = RoundingCode(op.attributes.rounding());
  EK_RETURN_IF_ERROR(SetOp(graph, op, operation),
                     absl::StrCat("op ", op.id, " (", op.kind(), ")"));
  variables[JobVariable::kDepthMultiplier] = operation.depth_multiplier;
  variables[JobVariable::kKernelH] = operation.vertical.kernel;
  variables[JobVariable::kKernelW] = operation.horizontal.kernel;
  variables[JobVariable::kStrideH] = operation.vertical.stride;
  variables[JobVariable::kStrideW] = operation.horizontal.stride;
  variables[JobVariable::kDilationH] = operation.vertical.dilation;
  variables[JobVariable::kDilationW] = operation.horizontal.dilation;
  return operation;
}

namespace {

// n of a factor 2^-n, which is multiplier * 2^(shift - 31).
absl::StatusOr<int64_t> ShiftOf(int64_t multiplier, int64_t shift) {
  constexpr int64_t kPowerOfTwo = int64_t{1} << 30;
  if (multiplier != kPowerOfTwo) {
    return absl::InternalError("a factor is no power of two");
  }
  return 1 - shift;
}

}  // namespace

absl::Status UseShift(Operation& operation) {
  JobVariables& variables = operation.variables;
  int64_t shift = 0;
  if (operation.kernel == RegisterJobs::ADDITION) {
    if (variables[JobVariable::kInMultiplier] !=
            variables[JobVariable::kIn2Multiplier] ||
        variables[JobVariable::kInShift] != variables[JobVariable::kIn2Shift]) {
      return absl::InternalError("its operands have two scales");
    }
    EK_ASSIGN_OR_RETURN(const int64_t in,
                        ShiftOf(variables[JobVariable::kInMultiplier],
                                variables[JobVariable::kInShift]));
    EK_ASSIGN_OR_RETURN(const int64_t out,
                        ShiftOf(variables[JobVariable::kOutMultiplier],
                                variables[JobVariable::kOutShift]));
    shift = in + out - variables[JobVariable::kLeftShift];
  } else {
    if (operation.multipliers.empty()) {
      return absl::InternalError("its results are sums");
    }
    const ops::FixedPointMultiplier& factor = operation.multipliers[0];
    for (const ops::FixedPointMultiplier& other : operation.multipliers) {
      if (other.multiplier != factor.multiplier ||
          other.shift != factor.shift) {
        return absl::InternalError("its channels have several factors");
      }
    }
    EK_ASSIGN_OR_RETURN(shift, ShiftOf(factor.multiplier, factor.shift));
  }
  if (shift < 0) return absl::InternalError("its factor is above 1");
  variables[JobVariable::kShift] = shift;
  return absl::OkStatus();
}

absl::Status UseConverter(Operation& operation) {
  if (operation.converter == nullptr || operation.bias != kNoTensor) {
    return absl::InternalError("it has a bias, or no converter");
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler::register_job
