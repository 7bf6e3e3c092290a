#include "target/register_jobs.h"

#include <algorithm>
#include <limits>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/nearest_name.h"

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
    "left_shift",     "rounding",      "out_int32",      "count_pad"};
static_assert(std::size(kNames) == kNumJobVariables);

constexpr absl::string_view kOperandNames[] = {"in", "in2", "weights", "out"};
constexpr int kMaxRegisters = 256;
constexpr int kMaxJobs = 64;
constexpr int kMaxTerms = 16;

absl::Status Invalid(std::string what, std::string where,
                     std::string fix =
                         "correct the file; docs/targets/"
                         "register_job.md is its page") {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = std::move(where),
       .limit = "engine model REGISTER_JOB (docs/targets/register_job.md)",
       .fix = std::move(fix)});
}

std::vector<std::string> VariableNames() {
  return std::vector<std::string>(std::begin(kNames), std::end(kNames));
}

// Axes of an operand by name, in the order of the layout's extents.
absl::string_view AxesOf(Kernel::Kernel kernel, JobOperand operand) {
  if (operand != JobOperand::kWeights) return "hwc";
  return kernel == Kernel::CONVOLUTION ? "ohwi" : "ohw";
}

int64_t MinHeld(const Kernel::Register& reg) {
  return reg.is_signed() ? -(int64_t{1} << (reg.bits() - 1)) : 0;
}
int64_t MaxHeld(const Kernel::Register& reg) {
  return (int64_t{1} << (reg.is_signed() ? reg.bits() - 1 : reg.bits())) - 1;
}

}  // namespace

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

// Compiles the expressions of one engine.
class RegisterJobsView::Builder {
 public:
  Builder(const v1::Machine& machine, const Kernel& jobs) {
    view_.jobs_ = jobs;
    view_.same_.fill(-1);
    for (const v1::Setting& setting : machine.parameters()) {
      constants_.push_back({setting.name(), setting.value()});
    }
  }

  absl::StatusOr<RegisterJobsView> Build() {
    EK_RETURN_IF_ERROR(AddRegisters());
    EK_RETURN_IF_ERROR(AddFields());
    if (view_.jobs_.jobs_size() > kMaxJobs) {
      return Invalid("too many jobs", "jobs", absl::StrCat(kMaxJobs));
    }
    std::set<int64_t> codes;
    std::set<int> kernels;
    for (const Kernel::Job& job : view_.jobs_.jobs()) {
      const std::string where =
          absl::StrCat("job ", Kernel::Kernel_Name(job.kernel()));
      if (!Kernel::Kernel_IsValid(job.kernel()) ||
          job.kernel() == Kernel::KERNEL_UNSPECIFIED) {
        return Invalid("kernel is missing or unknown", "jobs");
      }
      if (!codes.insert(job.code()).second ||
          !kernels.insert(job.kernel()).second) {
        return Invalid("kernel or code occurs twice", where);
      }
      EK_RETURN_IF_ERROR(AddJob(job), where);
    }
    return std::move(view_);
  }

 private:
  absl::Status AddRegisters() {
    const Kernel& jobs = view_.jobs_;
    if (jobs.registers_size() > kMaxRegisters) {
      return Invalid("too many registers", "registers",
                     absl::StrCat(kMaxRegisters));
    }
    std::set<uint32_t> offsets = {jobs.start_offset()};
    std::set<std::string> names;
    if (jobs.start_offset() % 4 != 0 || jobs.status_offset() % 4 != 0) {
      return Invalid("offsets are multiples of 4",
                     "start_offset, status_offset");
    }
    if (jobs.start_value() == 0) {
      return Invalid("start_value is missing, or 0", "jobs", "start_value: 1");
    }
    if ((jobs.status_done() & ~jobs.status_mask()) != 0 ||
        jobs.status_mask() == 0) {
      return Invalid("the status can never be the one of an ended job",
                     "status_mask, status_done");
    }
    for (int i = 0; i < jobs.registers_size(); ++i) {
      const Kernel::Register& reg = jobs.registers(i);
      const std::string where = absl::StrCat("register ", reg.name());
      if (reg.name().empty() || !names.insert(reg.name()).second) {
        return Invalid("a name is missing or occurs twice", where);
      }
      if (reg.offset() % 4 != 0 || !offsets.insert(reg.offset()).second ||
          reg.offset() == jobs.status_offset()) {
        return Invalid(
            "the offset is no multiple of 4, or that of another register, "
            "start_offset or status_offset",
            where);
      }
      if (reg.bits() < 1 || reg.bits() > 32) {
        return Invalid("bits is missing or too large", where, "bits: 32");
      }
      EK_ASSIGN_OR_RETURN(
          Expression value,
          Expression::Compile(reg.value_expr(), constants_, VariableNames()),
          absl::StrCat(where, ": value_expr"));
      view_.values_.push_back(std::move(value));
      register_names_.push_back(reg.name());
      if (const auto same = FindJobVariable(reg.value_expr())) {
        view_.same_[static_cast<size_t>(*same)] = i;
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddFields() {
    for (const Kernel::Field& field : view_.jobs_.fields()) {
      const std::string where =
          absl::StrCat("fields over registers: variable ", field.variable());
      const auto variable = FindJobVariable(field.variable());
      if (!variable) {
        return Invalid("no such variable", where,
                       DidYouMean(field.variable(), VariableNames(),
                                  "the page lists all of them"));
      }
      auto& place = view_.fields_[static_cast<size_t>(*variable)];
      if (place) return Invalid("the variable occurs twice", where);
      EK_ASSIGN_OR_RETURN(
          place,
          Expression::Compile(field.value_expr(), constants_, register_names_),
          absl::StrCat(where, ": value_expr"));
    }
    return absl::OkStatus();
  }

  absl::Status AddJob(const Kernel::Job& job) {
    for (const JobVariable variable : VariablesOfKernel(job.kernel())) {
      const auto index = static_cast<size_t>(variable);
      if (view_.fields_[index] || view_.same_[index] >= 0) continue;
      return Invalid(
          absl::StrCat("no register tells ", JobVariableName(variable)),
          "registers, fields",
          absl::StrCat("add a register with value_expr: \"",
                       JobVariableName(variable), "\""));
    }
    Job parsed;
    EK_ASSIGN_OR_RETURN(parsed.occupancy, Compile(job.occupancy_cycles_expr()),
                        "occupancy_cycles_expr");
    const std::vector<JobOperand> needed = OperandsOfKernel(job.kernel());
    for (const Kernel::Operand& operand : job.operands()) {
      const auto* const found = std::find(
          std::begin(kOperandNames), std::end(kOperandNames), operand.name());
      const auto which =
          static_cast<JobOperand>(found - std::begin(kOperandNames));
      const std::string where =
          absl::StrCat("operands: name \"", operand.name(), "\"");
      if (found == std::end(kOperandNames) ||
          !absl::c_linear_search(needed, which)) {
        return Invalid("the kernel has no such operand", where);
      }
      Operand& place = parsed.operands[static_cast<size_t>(which)];
      if (place.present) return Invalid("the operand occurs twice", where);
      EK_RETURN_IF_ERROR(AddOperand(job.kernel(), which, operand, place),
                         where);
    }
    for (const JobOperand operand : needed) {
      if (parsed.operands[static_cast<size_t>(operand)].present) continue;
      return Invalid("an operand is missing",
                     absl::StrCat("operands: ", JobOperandName(operand)));
    }
    view_.parsed_.push_back(std::move(parsed));
    return absl::OkStatus();
  }

  absl::Status AddOperand(Kernel::Kernel kernel, JobOperand which,
                          const Kernel::Operand& operand, Operand& place) {
    place.present = true;
    if (operand.terms_size() > kMaxTerms) {
      return Invalid("too many terms", "terms", absl::StrCat(kMaxTerms));
    }
    const absl::string_view axes = AxesOf(kernel, which);
    for (const Kernel::Operand::Term& term : operand.terms()) {
      Term parsed;
      const size_t axis =
          term.axis().size() == 1 ? axes.find(term.axis()) : axes.npos;
      if (axis == axes.npos) {
        return Invalid(absl::StrCat("no axis \"", term.axis(), "\""), "terms",
                       absl::StrCat("one of the letters ", axes));
      }
      parsed.axis = static_cast<int32_t>(axis);
      if (!term.divide_expr().empty()) {
        EK_ASSIGN_OR_RETURN(parsed.divide, Compile(term.divide_expr()),
                            "divide_expr");
      }
      if (!term.modulo_expr().empty()) {
        EK_ASSIGN_OR_RETURN(parsed.modulo, Compile(term.modulo_expr()),
                            "modulo_expr");
      }
      EK_ASSIGN_OR_RETURN(parsed.stride, Compile(term.stride_bytes_expr()),
                          "stride_bytes_expr");
      place.terms.push_back(std::move(parsed));
    }
    EK_ASSIGN_OR_RETURN(place.size, Compile(operand.size_bytes_expr()),
                        "size_bytes_expr");
    return absl::OkStatus();
  }

  absl::StatusOr<Expression> Compile(const std::string& text) const {
    return Expression::Compile(text, constants_, VariableNames());
  }

  std::vector<Constant> constants_;
  std::vector<std::string> register_names_;
  RegisterJobsView view_;
};

absl::StatusOr<RegisterJobsView> RegisterJobsView::Create(
    const v1::Machine& machine, int32_t engine) {
  if (!machine.engines(engine).has_jobs()) {
    return Invalid("the engine model is driven by registers", "jobs",
                   "add jobs { .. }");
  }
  return Builder(machine, machine.engines(engine).jobs()).Build();
}

absl::StatusOr<std::vector<RegisterWrite>> RegisterJobsView::Encode(
    const JobVariables& job) const {
  std::vector<RegisterWrite> writes;
  writes.reserve(values_.size() + 1);
  for (size_t i = 0; i < values_.size(); ++i) {
    const Kernel::Register& reg = jobs_.registers(static_cast<int>(i));
    EK_ASSIGN_OR_RETURN(const int64_t value, values_[i].Evaluate(job.values()),
                        absl::StrCat("register ", reg.name()));
    if (value < MinHeld(reg) || value > MaxHeld(reg)) {
      return MakeError(
          absl::StatusCode::kOutOfRange,
          {.reason = "REGISTER_TOO_NARROW",
           .what =
               absl::StrCat("register ", reg.name(), " does not hold ", value),
           .where = absl::StrCat("register ", reg.name()),
           .limit = absl::StrCat(MinHeld(reg), " to ", MaxHeld(reg)),
           .need = absl::StrCat(value),
           .fix = value < 0 ? "is_signed: true" : "more bits"});
    }
    const uint64_t mask = (uint64_t{1} << reg.bits()) - 1;
    writes.push_back({reg.offset(), static_cast<uint32_t>(
                                        static_cast<uint64_t>(value) & mask)});
  }
  writes.push_back({jobs_.start_offset(), jobs_.start_value()});
  return writes;
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
  return held > MaxHeld(reg) ? held - static_cast<int64_t>(mask) - 1 : held;
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
  if (cycles >= 1) return cycles;
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TARGET_INVALID",
       .what = absl::StrCat("occupancy_cycles_expr gives ", cycles, " cycles"),
       .where =
           absl::StrCat("job ", Kernel::Kernel_Name(jobs_.jobs(job).kernel())),
       .limit = "at least 1 cycle",
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
  for (const Term& term : parsed.terms) {
    int64_t divide = 0;
    int64_t modulo = 0;
    if (term.divide) {
      EK_ASSIGN_OR_RETURN(divide, term.divide->Evaluate(variables.values()));
    }
    if (term.modulo) {
      EK_ASSIGN_OR_RETURN(modulo, term.modulo->Evaluate(variables.values()));
      if (modulo == 1) continue;  // Blocks of one: tells nothing apart.
    }
    v1::Layout::Term& added = *layout.add_terms();
    added.set_axis(term.axis);
    added.set_divide(divide);
    added.set_modulo(modulo);
    EK_ASSIGN_OR_RETURN(const int64_t stride,
                        term.stride.Evaluate(variables.values()));
    added.set_stride_bytes(stride);
  }
  EK_ASSIGN_OR_RETURN(const int64_t size,
                      parsed.size.Evaluate(variables.values()));
  layout.set_size_bytes(size);
  return layout;
}

}  // namespace edgekiln::target
