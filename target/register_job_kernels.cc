#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <vector>

#include "target/register_jobs.h"

// Names of variables and operands, and what each kernel depends on.
namespace edgekiln::target {
namespace {

using Kernel = v1::RegisterJobs;
using V = JobVariable;

constexpr absl::string_view kNames[] = {
    "kernel",         "in_h",          "in_w",           "in_c",
    "out_h",          "out_w",         "out_c",          "kernel_h",
    "kernel_w",       "stride_h",      "stride_w",       "dilation_h",
    "dilation_w",     "pad_top",       "pad_left",       "depth_multiplier",
    "in_addr",        "in2_addr",      "weights_addr",   "table_addr",
    "out_addr",       "in_zero_point", "in2_zero_point", "out_zero_point",
    "clamp_min",      "clamp_max",     "in_multiplier",  "in_shift",
    "in2_multiplier", "in2_shift",     "out_multiplier", "out_shift",
    "left_shift",     "rounding",      "out_int32",      "count_pad",
    "converts",       "gain",          "code_min",       "code_max",
    "code_shift",     "shift",         "record_addr"};
static_assert(std::size(kNames) == kNumJobVariables);

constexpr absl::string_view kOperandNames[] = {"in",   "in2",    "weights",
                                               "bias", "affine", "out"};
static_assert(std::size(kOperandNames) == kNumJobOperands);

}  // namespace

int64_t LeastHeld(const Kernel::Register& reg) {
  return reg.is_signed() ? -(int64_t{1} << (reg.bits() - 1)) : 0;
}
int64_t MostHeld(const Kernel::Register& reg) {
  return (int64_t{1} << (reg.is_signed() ? reg.bits() - 1 : reg.bits())) - 1;
}

absl::string_view JobVariableName(JobVariable variable) {
  return kNames[static_cast<int>(variable)];
}

std::optional<JobVariable> FindJobVariable(absl::string_view name) {
  const auto* const found =
      std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<JobVariable>(found - std::begin(kNames));
}

absl::string_view JobOperandName(JobOperand operand) {
  return kOperandNames[static_cast<int>(operand)];
}

std::vector<JobVariable> VariablesOfKernel(Kernel::Kernel kernel,
                                           Kernel::Results results) {
  const bool shifts = results == Kernel::BY_SHIFT;
  std::vector<JobVariable> all = {V::kKernel, V::kOutH,   V::kOutW,
                                  V::kOutC,   V::kInAddr, V::kOutAddr};
  const auto add = [&all](std::initializer_list<JobVariable> more) {
    all.insert(all.end(), more);
  };
  const auto add_window = [&] {
    add({V::kInH, V::kInW, V::kKernelH, V::kKernelW, V::kStrideH, V::kStrideW,
         V::kPadTop, V::kPadLeft});
  };
  switch (kernel) {
    case Kernel::CONVOLUTION:
    case Kernel::DEPTHWISE_CONVOLUTION:
      add_window();
      add({V::kInC, V::kDilationH, V::kDilationW, V::kWeightsAddr, V::kClampMin,
           V::kClampMax});
      if (shifts) {
        add({V::kShift});
      } else if (results == Kernel::BY_CONVERTER) {
        add({V::kGain, V::kCodeMin, V::kCodeMax, V::kCodeShift});
      } else {
        add({V::kTableAddr, V::kInZeroPoint, V::kOutZeroPoint, V::kRounding,
             V::kOutInt32});
      }
      if (kernel == Kernel::DEPTHWISE_CONVOLUTION) add({V::kDepthMultiplier});
      break;
    case Kernel::ADDITION:
      add({V::kIn2Addr, V::kClampMin, V::kClampMax});
      if (shifts) {
        add({V::kShift});
      } else {
        add({V::kInZeroPoint, V::kIn2ZeroPoint, V::kOutZeroPoint,
             V::kInMultiplier, V::kInShift, V::kIn2Multiplier, V::kIn2Shift,
             V::kOutMultiplier, V::kOutShift, V::kLeftShift, V::kRounding});
      }
      break;
    case Kernel::AVERAGE_POOLING:
      add_window();
      add({V::kInZeroPoint, V::kClampMin, V::kClampMax, V::kRounding,
           V::kCountPad});
      break;
    case Kernel::MAXIMUM_POOLING:
      add_window();
      add({V::kClampMin, V::kClampMax});
      break;
    case Kernel::REQUANTIZATION:
      add({V::kTableAddr, V::kOutZeroPoint, V::kClampMin, V::kClampMax,
           V::kRounding});
      break;
    default:
      break;
  }
  return all;
}

std::vector<JobOperand> OperandsOfKernel(Kernel::Kernel kernel,
                                         Kernel::Results results) {
  switch (kernel) {
    case Kernel::CONVOLUTION:
    case Kernel::DEPTHWISE_CONVOLUTION:
      if (results == Kernel::BY_SHIFT) {
        return {JobOperand::kIn, JobOperand::kWeights, JobOperand::kBias,
                JobOperand::kOut};
      }
      if (results == Kernel::BY_CONVERTER) {
        return {JobOperand::kIn, JobOperand::kWeights, JobOperand::kAffine,
                JobOperand::kOut};
      }
      return {JobOperand::kIn, JobOperand::kWeights, JobOperand::kOut};
    case Kernel::ADDITION:
      return {JobOperand::kIn, JobOperand::kIn2, JobOperand::kOut};
    default:
      return {JobOperand::kIn, JobOperand::kOut};
  }
}

bool HasJobTable(Kernel::Kernel kernel, Kernel::Results results) {
  return results == Kernel::BY_TABLE &&
         (kernel == Kernel::CONVOLUTION ||
          kernel == Kernel::DEPTHWISE_CONVOLUTION ||
          kernel == Kernel::REQUANTIZATION);
}

bool CanHaveResults(Kernel::Kernel kernel, Kernel::Results results) {
  const bool convolves =
      kernel == Kernel::CONVOLUTION || kernel == Kernel::DEPTHWISE_CONVOLUTION;
  switch (results) {
    case Kernel::BY_TABLE:
      return true;
    case Kernel::BY_SHIFT:
      return convolves || kernel == Kernel::ADDITION;
    case Kernel::BY_CONVERTER:
      return convolves;
    default:
      return false;
  }
}

std::vector<JobVariable> ConverterVariables() {
  return {V::kConverts, V::kGain, V::kCodeMin, V::kCodeMax, V::kCodeShift};
}

WeightRange WeightRangeOf(v1::WeightValues values) {
  switch (values) {
    case v1::WEIGHTS_INT4:
      return {-8, 7};
    case v1::WEIGHTS_TERNARY:
      return {-1, 1};
    default:
      return {};
  }
}

}  // namespace edgekiln::target
