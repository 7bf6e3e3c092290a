#include "compiler/codegen/c/kernel_variables.h"

#include <algorithm>

#include "compiler/codegen/c/emit_common.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "ops/quantized_parameters.h"
#include "target/op_variables.h"

namespace edgekiln::compiler {
namespace {

using V = KernelVariable;

int64_t N(const ops::FixedPointMultiplier& factor) { return 31 - factor.shift; }

bool IsDot(const v1::OpAttributes& op) {
  return op.has_conv2d() || op.has_depthwise_conv2d() ||
         op.has_fully_connected();
}

const v1::Clamp& DotClamp(const v1::OpAttributes& op) {
  if (op.has_conv2d()) return op.conv2d().clamp();
  if (op.has_depthwise_conv2d()) return op.depthwise_conv2d().clamp();
  return op.fully_connected().clamp();
}

void SetClamp(const ops::QuantizedRange& range, KernelFacts& facts) {
  facts[V::kClampMin] = range.min;
  facts[V::kClampMax] = range.max;
}

void SetDot(const StepWriter& w, KernelFacts& facts) {
  const int64_t channels =
      w.op().has_fully_connected() ? w.In(1).shape[0] : w.Out(0).shape.back();
  const bool sums = w.Out(0).type == v1::INT32;
  const auto p =
      sums ? ops::AccumulatorParameters(w.InQuantization(0),
                                        w.InQuantization(1), channels)
           : ops::DotParameters(DotClamp(w.op()), w.op().rounding(),
                                w.InQuantization(0), w.InQuantization(1),
                                w.OutQuantization(0), w.Out(0).type, channels);
  if (!p.ok()) return;
  facts[V::kFactors] = 1;
  facts[V::kOutZero] = p->output_zero_point;
  SetClamp(p->clamp, facts);
  facts.factors = p->multiplier;
  if (sums || facts.factors.empty()) return;
  facts[V::kLeastN] = facts[V::kMostN] = N(facts.factors[0]);
  facts[V::kMultiplier] = facts.factors[0].multiplier;
  facts[V::kN] = N(facts.factors[0]);
  facts[V::kOneFactor] = 1;
  for (const ops::FixedPointMultiplier& factor : facts.factors) {
    facts[V::kLeastN] = std::min(facts[V::kLeastN], N(factor));
    facts[V::kMostN] = std::max(facts[V::kMostN], N(factor));
    if (factor.multiplier != facts.factors[0].multiplier ||
        factor.shift != facts.factors[0].shift) {
      facts[V::kOneFactor] = 0;
    }
  }
}

void SetAdd(const StepWriter& w, KernelFacts& facts) {
  const auto p = ops::AddParameters(w.op().add().clamp(), w.op().rounding(),
                                    w.InQuantization(0), w.InQuantization(1),
                                    w.OutQuantization(0), w.Out(0).type);
  if (!p.ok()) return;
  facts[V::kFactors] = 1;
  facts[V::kInZero] = p->zero_point[0];
  facts[V::kIn2Zero] = p->zero_point[1];
  facts[V::kOutZero] = p->output_zero_point;
  SetClamp(p->clamp, facts);
  facts[V::kLeftShift] = p->left_shift;
  facts[V::kPow2LeftShift] = int64_t{1} << p->left_shift;
  facts[V::kMultiplierA] = p->multiplier[0].multiplier;
  facts[V::kNA] = N(p->multiplier[0]);
  facts[V::kMultiplierB] = p->multiplier[1].multiplier;
  facts[V::kNB] = N(p->multiplier[1]);
  facts[V::kMultiplierOut] = p->output_multiplier.multiplier;
  facts[V::kNOut] = N(p->output_multiplier);
}

ops::WindowGeometry WindowOf(const StepWriter& w) {
  const auto of = [&w](const auto& pool) {
    return ops::GeometryOf(pool.window(), w.In(0).shape,
                           {pool.kernel_h(), pool.kernel_w()}, w.Out(0).shape);
  };
  if (w.op().has_max_pool2d()) return of(w.op().max_pool2d());
  if (w.op().has_average_pool2d()) return of(w.op().average_pool2d());
  return DotGeometry(w);
}

bool LeavesInput(const ops::WindowGeometry& g) {
  for (const int d : {1, 2}) {
    const int64_t end = (g.out[d] - 1) * g.stride[d] - g.pad[d] +
                        (g.kernel[d] - 1) * g.dilation[d] + 1;
    if (g.pad[d] > 0 || end > g.in[d]) return true;
  }
  return false;
}

// The message of the op itself; null without one.
const google::protobuf::Message* Inner(const v1::OpAttributes& op) {
  const auto* const field =
      v1::OpAttributes::descriptor()->FindFieldByNumber(op.op_case());
  return field == nullptr ? nullptr
                          : &op.GetReflection()->GetMessage(op, field);
}

// Of ops with a field `axis` or `function`.
void SetAttributes(const StepWriter& w, KernelFacts& facts) {
  using Field = google::protobuf::FieldDescriptor;
  const google::protobuf::Message* const op = Inner(w.op());
  if (op == nullptr) return;
  const Field* const function =
      op->GetDescriptor()->FindFieldByName("function");
  if (function != nullptr && function->cpp_type() == Field::CPPTYPE_ENUM &&
      !function->is_repeated()) {
    facts[V::kFunction] = op->GetReflection()->GetEnumValue(*op, function);
  }
  const Field* const axis = op->GetDescriptor()->FindFieldByName("axis");
  if (axis == nullptr || axis->cpp_type() != Field::CPPTYPE_INT32 ||
      axis->is_repeated() || !w.Has(0)) {
    return;
  }
  const auto shape = absl::MakeConstSpan(w.In(0).shape);
  const int32_t at = op->GetReflection()->GetInt32(*op, axis);
  if (at < 0 || at >= std::ssize(shape)) return;
  facts[V::kOuter] = Product(shape.first(at));
  facts[V::kAxis] = shape[at];
  facts[V::kInner] = Product(shape.subspan(at + 1));
}

void SetInputs(const StepWriter& w, KernelFacts& facts) {
  facts[V::kInputs] = static_cast<int64_t>(w.inputs());
  facts[V::kHasBias] = w.Has(2);
  facts[V::kBiasConstant] = !w.Has(2) || w.In(2).is_constant();
  if (w.Has(0)) {
    const ops::QuantizationView q = w.InQuantization(0);
    facts[V::kInQuantized] = w.In(0).quantization.has_value();
    facts[V::kInBytes] = ElementBytes(w.In(0).type);
    facts[V::kInputChannelFirst] = w.InChannelFirst(0);
    facts[V::kInZero] = q.zero_point.empty() ? 0 : q.zero_point[0];
  }
  if (!w.Has(1)) return;
  const auto zeros = w.InQuantization(1).zero_point;
  const auto all = [&zeros](int32_t value) {
    return std::all_of(zeros.begin(), zeros.end(),
                       [value](int32_t zero) { return zero == value; });
  };
  facts[V::kIn2Quantized] = w.In(1).quantization.has_value();
  facts[V::kWeightsConstant] = w.In(1).is_constant();
  facts[V::kWeightZeros] = all(0);
  facts[V::kOneWeightZero] = zeros.empty() || all(zeros[0]);
  facts[V::kIn2Zero] = zeros.empty() ? 0 : zeros[0];
}

void SetOutput(const StepWriter& w, KernelFacts& facts) {
  const ops::QuantizationView q = w.OutQuantization(0);
  facts[V::kOutQuantized] = w.Out(0).quantization.has_value();
  facts[V::kOutBytes] = ElementBytes(w.Out(0).type);
  facts[V::kOutZero] = q.zero_point.empty() ? 0 : q.zero_point[0];
}

void SetOp(const StepWriter& w, KernelFacts& facts) {
  const v1::OpAttributes& op = w.op();
  facts[V::kConverter] = op.has_converter();
  facts[V::kRounding] = op.rounding();
  facts[V::kDepthwise] = op.has_depthwise_conv2d();
  const bool pool =
      (op.has_average_pool2d() || op.has_max_pool2d()) && w.outputs() == 1;
  if (IsDot(op) || pool) facts[V::kLeavesInput] = LeavesInput(WindowOf(w));
  if (IsDot(op) && facts[V::kInQuantized] != 0) SetDot(w, facts);
  if (op.has_add() && facts[V::kOutQuantized] != 0) SetAdd(w, facts);
  if (pool && facts[V::kOutQuantized] != 0) {
    SetClamp(
        ops::ClampRange(op.has_max_pool2d() ? op.max_pool2d().clamp()
                                            : op.average_pool2d().clamp(),
                        op.rounding(), w.OutQuantization(0), w.Out(0).type),
        facts);
  }
  SetAttributes(w, facts);
}

void SetProcessor(v1::Processor processor, KernelFacts& facts) {
  const bool m7 = processor == v1::CORTEX_M7 || processor == v1::CORTEX_M55;
  const bool wide = processor == v1::X86_64;
  facts[V::kHasFloat] =
      m7 || wide || processor == v1::RV32IMF || processor == v1::CORTEX_M4;
  facts[V::kHasDouble] = m7 || wide;
  facts[V::kHasUpperHalf] = processor != v1::CORTEX_M0PLUS;
  facts[V::kHasPacked] = m7 || processor == v1::CORTEX_M4;
  facts[V::kHasVectors] = wide || processor == v1::CORTEX_M55;
}

}  // namespace

int32_t SlotOf(KernelVariable variable) {
  return target::kNumOpVariables + static_cast<int32_t>(variable);
}

int64_t& KernelFacts::operator[](KernelVariable variable) {
  return values[static_cast<size_t>(SlotOf(variable))];
}
int64_t KernelFacts::operator[](KernelVariable variable) const {
  return values[static_cast<size_t>(SlotOf(variable))];
}

KernelFacts FactsOf(const StepWriter& w, v1::Processor processor) {
  KernelFacts facts;
  facts.values.resize(KernelVariableNames().size(), 0);
  std::vector<target::ShapeSpan> inputs;
  for (size_t i = 0; i < w.inputs(); ++i) {
    inputs.push_back(w.Has(i) ? target::ShapeSpan(w.In(i).shape)
                              : target::ShapeSpan());
  }
  std::vector<target::ShapeSpan> outputs;
  for (size_t i = 0; i < w.outputs(); ++i) {
    outputs.push_back(target::ShapeSpan(w.Out(i).shape));
  }
  const auto op = target::VariablesOf(w.op(), inputs, outputs);
  if (op.ok()) {
    std::copy(op->values().begin(), op->values().end(), facts.values.begin());
  }
  facts[V::kOutputs] = static_cast<int64_t>(w.outputs());
  SetInputs(w, facts);
  SetOutput(w, facts);
  SetOp(w, facts);
  SetProcessor(processor, facts);
  return facts;
}

}  // namespace edgekiln::compiler
