#include "target/register_jobs.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"

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
    "code_shift"};
static_assert(std::size(kNames) == kNumJobVariables);

constexpr absl::string_view kOperandNames[] = {"in", "in2", "weights", "out"};

// Whether the variable is bounded by kMaxJobExtent.
bool IsExtent(V variable) {
  return variable >= V::kInH && variable <= V::kDepthMultiplier;
}

// The value of one expression of an operand, which `field` names. One that
// cannot be computed is an error of the target file.
absl::StatusOr<int64_t> EvaluateOperand(const Expression& expression,
                                        Kernel::Kernel kernel,
                                        JobOperand operand,
                                        absl::string_view field,
                                        const JobVariables& variables) {
  const absl::StatusOr<int64_t> value = expression.Evaluate(variables.values());
  if (value.ok()) return value;
  ErrorDetail detail =
      GetErrorDetail(value.status())
          .value_or(ErrorDetail{.what = std::string(value.status().message())});
  detail.reason = "TARGET_INVALID";
  detail.where =
      absl::StrCat("job ", Kernel::Kernel_Name(kernel), ", operand ",
                   JobOperandName(operand), ", ", field, ", ", detail.where);
  detail.limit = "values of 64 bits, divisors above 0";
  detail.fix =
      "correct this expression, or the parameters that it uses, in the target "
      "file";
  return MakeError(value.status().code(), std::move(detail));
}

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

std::vector<JobVariable> VariablesOfKernel(Kernel::Kernel kernel) {
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
      add({V::kInC, V::kDilationH, V::kDilationW, V::kWeightsAddr,
           V::kTableAddr, V::kInZeroPoint, V::kOutZeroPoint, V::kClampMin,
           V::kClampMax, V::kRounding, V::kOutInt32});
      if (kernel == Kernel::DEPTHWISE_CONVOLUTION) add({V::kDepthMultiplier});
      break;
    case Kernel::ADDITION:
      add({V::kIn2Addr, V::kInZeroPoint, V::kIn2ZeroPoint, V::kOutZeroPoint,
           V::kClampMin, V::kClampMax, V::kInMultiplier, V::kInShift,
           V::kIn2Multiplier, V::kIn2Shift, V::kOutMultiplier, V::kOutShift,
           V::kLeftShift, V::kRounding});
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

std::vector<JobOperand> OperandsOfKernel(Kernel::Kernel kernel) {
  switch (kernel) {
    case Kernel::CONVOLUTION:
    case Kernel::DEPTHWISE_CONVOLUTION:
      return {JobOperand::kIn, JobOperand::kWeights, JobOperand::kOut};
    case Kernel::ADDITION:
      return {JobOperand::kIn, JobOperand::kIn2, JobOperand::kOut};
    default:
      return {JobOperand::kIn, JobOperand::kOut};
  }
}

bool HasJobTable(Kernel::Kernel kernel) {
  return kernel == Kernel::CONVOLUTION ||
         kernel == Kernel::DEPTHWISE_CONVOLUTION ||
         kernel == Kernel::REQUANTIZATION;
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

absl::StatusOr<std::vector<RegisterWrite>> RegisterJobsView::Encode(
    const JobVariables& job) const {
  std::vector<RegisterWrite> writes;
  writes.reserve(values_.size() + 1);
  std::vector<int64_t> held;
  held.reserve(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const Kernel::Register& reg = jobs_.registers(static_cast<int>(i));
    EK_ASSIGN_OR_RETURN(const int64_t value, values_[i].Evaluate(job.values()),
                        absl::StrCat("register ", reg.name()));
    if (value < LeastHeld(reg) || value > MostHeld(reg)) {
      return MakeError(
          absl::StatusCode::kOutOfRange,
          {.reason = "REGISTER_TOO_NARROW",
           .what =
               absl::StrCat("register ", reg.name(), " does not hold ", value),
           .where = absl::StrCat("register ", reg.name()),
           .limit = absl::StrCat(LeastHeld(reg), " to ", MostHeld(reg)),
           .need = absl::StrCat(value),
           .fix = value < 0 && !reg.is_signed() ? "is_signed: true"
                                                : "more bits"});
    }
    held.push_back(value);
    const uint64_t mask = (uint64_t{1} << reg.bits()) - 1;
    writes.push_back({reg.offset(), static_cast<uint32_t>(
                                        static_cast<uint64_t>(value) & mask)});
  }
  writes.push_back({jobs_.start_offset(), jobs_.start_value()});
  EK_RETURN_IF_ERROR(CheckTold(job, held));
  return writes;
}

// Values packed into one register may overflow into each other, although the
// register holds the sum.
absl::Status RegisterJobsView::CheckTold(const JobVariables& job,
                                         absl::Span<const int64_t> held) const {
  const int32_t position = FindCode(job[V::kKernel]);
  if (position < 0) return absl::OkStatus();
  const Kernel::Kernel kernel = jobs_.jobs(position).kernel();
  EK_ASSIGN_OR_RETURN(const JobVariables told, Decode(held));
  for (const V variable : variables_[position]) {
    const absl::string_view name = JobVariableName(variable);
    const bool too_large = IsExtent(variable) && job[variable] > kMaxJobExtent;
    if (told[variable] == job[variable] && !too_large) continue;
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "REGISTERS_TELL_OTHERWISE",
         .what = too_large ? absl::StrCat(name, " is ", job[variable])
                           : absl::StrCat("the registers tell ", told[variable],
                                          " for ", name, ", which is ",
                                          job[variable]),
         .where = absl::StrCat("job ", Kernel::Kernel_Name(kernel)),
         .limit = too_large ? absl::StrCat(kMaxJobExtent) : "",
         .need = absl::StrCat(name, " ", job[variable]),
         .fix = absl::StrCat("correct the registers or the field ", name)});
  }
  return absl::OkStatus();
}

int32_t RegisterJobsView::FindRegister(uint32_t offset) const {
  for (int32_t i = 0; i < jobs_.registers_size(); ++i) {
    if (jobs_.registers(i).offset() == offset) return i;
  }
  return -1;
}

int64_t RegisterJobsView::Held(int32_t position, uint32_t value) const {
  const Kernel::Register& reg = jobs_.registers(position);
  const uint64_t mask = (uint64_t{1} << reg.bits()) - 1;
  const auto held = static_cast<int64_t>(value & mask);
  return held > MostHeld(reg) ? held - static_cast<int64_t>(mask) - 1 : held;
}

absl::StatusOr<JobVariables> RegisterJobsView::Decode(
    absl::Span<const int64_t> held) const {
  JobVariables job;
  for (int i = 0; i < kNumJobVariables; ++i) {
    const auto variable = static_cast<JobVariable>(i);
    if (fields_[i]) {
      EK_ASSIGN_OR_RETURN(job[variable], fields_[i]->Evaluate(held),
                          absl::StrCat("field ", JobVariableName(variable)));
    } else if (same_[i] >= 0) {
      job[variable] = held[same_[i]];
    }
  }
  return job;
}

int32_t RegisterJobsView::FindJob(Kernel::Kernel kernel) const {
  for (int32_t i = 0; i < jobs_.jobs_size(); ++i) {
    if (jobs_.jobs(i).kernel() == kernel) return i;
  }
  return -1;
}

int32_t RegisterJobsView::FindCode(int64_t code) const {
  for (int32_t i = 0; i < jobs_.jobs_size(); ++i) {
    if (jobs_.jobs(i).code() == code) return i;
  }
  return -1;
}

absl::StatusOr<int64_t> RegisterJobsView::OccupancyCycles(
    int32_t job, const JobVariables& variables) const {
  EK_ASSIGN_OR_RETURN(const int64_t cycles,
                      parsed_[job].occupancy.Evaluate(variables.values()),
                      "occupancy_cycles_expr");
  if (cycles >= 1 && cycles <= kMaxOccupancyCycles) return cycles;
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TARGET_INVALID",
       .what = absl::StrCat("occupancy_cycles_expr gives ", cycles, " cycles"),
       .where =
           absl::StrCat("job ", Kernel::Kernel_Name(jobs_.jobs(job).kernel())),
       .limit = absl::StrCat("1 to ", kMaxOccupancyCycles, " cycles"),
       .fix = "correct the timing of this job in the target file"});
}

absl::StatusOr<v1::Layout> RegisterJobsView::OperandLayout(
    int32_t job, JobOperand operand, const JobVariables& variables) const {
  const Operand& parsed = parsed_[job].operands[static_cast<size_t>(operand)];
  const Kernel::Kernel kernel = jobs_.jobs(job).kernel();
  v1::Layout layout;
  if (!parsed.present) {
    return absl::InvalidArgumentError(
        absl::StrCat("the kernel has no operand ", JobOperandName(operand)));
  }
  const auto extents = [&](std::initializer_list<JobVariable> axes) {
    for (const JobVariable axis : axes) layout.add_extents(variables[axis]);
  };
  const bool same_shape =
      kernel == Kernel::ADDITION || kernel == Kernel::REQUANTIZATION;
  int32_t bits = 8;
  if (operand == JobOperand::kWeights) {
    extents({V::kOutC, V::kKernelH, V::kKernelW});
    if (kernel == Kernel::CONVOLUTION) extents({V::kInC});
  } else if (operand == JobOperand::kOut || same_shape) {
    extents({V::kOutH, V::kOutW, V::kOutC});
    const bool convolves = kernel == Kernel::CONVOLUTION ||
                           kernel == Kernel::DEPTHWISE_CONVOLUTION;
    const bool sums = operand == JobOperand::kOut
                          ? convolves && variables[V::kOutInt32] != 0
                          : kernel == Kernel::REQUANTIZATION;
    if (sums) bits = 32;
  } else {
    const bool pools =
        kernel == Kernel::AVERAGE_POOLING || kernel == Kernel::MAXIMUM_POOLING;
    extents({V::kInH, V::kInW});
    layout.add_extents(variables[pools ? V::kOutC : V::kInC]);
  }
  layout.set_element_bits(bits);
  const auto evaluate = [&](const Expression& expression,
                            absl::string_view field) {
    return EvaluateOperand(expression, kernel, operand, field, variables);
  };
  for (const Term& term : parsed.terms) {
    int64_t divide = 0;
    int64_t modulo = 0;
    if (term.divide) {
      EK_ASSIGN_OR_RETURN(divide, evaluate(*term.divide, "divide_expr"));
    }
    if (term.modulo) {
      EK_ASSIGN_OR_RETURN(modulo, evaluate(*term.modulo, "modulo_expr"));
      if (modulo == 1) continue;  // Blocks of one: tells nothing apart.
    }
    v1::Layout::Term& added = *layout.add_terms();
    added.set_axis(term.axis);
    added.set_divide(divide);
    added.set_modulo(modulo);
    EK_ASSIGN_OR_RETURN(const int64_t stride,
                        evaluate(term.stride, "stride_bytes_expr"));
    added.set_stride_bytes(stride);
  }
  EK_ASSIGN_OR_RETURN(const int64_t size,
                      evaluate(parsed.size, "size_bytes_expr"));
  layout.set_size_bytes(size);
  return layout;
}

}  // namespace edgekiln::target
