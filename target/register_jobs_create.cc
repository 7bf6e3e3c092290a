#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "target/nearest_name.h"
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

using Kernel = v1::RegisterJobs;

constexpr int kMaxRegisters = 256;
constexpr int kMaxJobs = 64;
constexpr int kMaxTerms = 16;

std::vector<std::string> VariableNames() {
  std::vector<std::string> names;
  names.reserve(kNumJobVariables);
  for (int i = 0; i < kNumJobVariables; ++i) {
    names.emplace_back(JobVariableName(static_cast<JobVariable>(i)));
  }
  return names;
}

std::string NamesOf(const std::vector<JobOperand>& operands) {
  return absl::StrJoin(operands, ", ", [](std::string* out, JobOperand which) {
    absl::StrAppend(out, JobOperandName(which));
  });
}

// Axes of an operand by name, in the order of the layout's extents.
absl::string_view AxesOf(Kernel::Kernel kernel, JobOperand operand) {
  if (operand != JobOperand::kWeights) return "hwc";
  return kernel == Kernel::CONVOLUTION ? "ohwi" : "ohw";
}

}  // namespace

absl::Status InvalidRegisterJobs(std::string what, std::string where,
                                 std::string fix) {
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.reason = "TARGET_INVALID",
       .what = std::move(what),
       .where = std::move(where),
       .limit = "engine model REGISTER_JOB (docs/targets/register_job.md)",
       .fix = std::move(fix)});
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
    view_.has_converter_ = absl::c_any_of(
        ConverterVariables(),
        [this](JobVariable variable) { return IsTold(variable); });
    if (view_.jobs_.jobs_size() > kMaxJobs) {
      return InvalidRegisterJobs("too many jobs", "jobs",
                                 absl::StrCat("up to ", kMaxJobs));
    }
    std::set<int64_t> codes;
    std::set<int> kernels;
    for (const Kernel::Job& job : view_.jobs_.jobs()) {
      const std::string where =
          absl::StrCat("job ", Kernel::Kernel_Name(job.kernel()));
      if (!Kernel::Kernel_IsValid(job.kernel()) ||
          job.kernel() == Kernel::KERNEL_UNSPECIFIED) {
        return InvalidRegisterJobs("kernel is missing or unknown",
                                   "jobs: kernel",
                                   "kernel: CONVOLUTION, for example");
      }
      if (!codes.insert(job.code()).second ||
          !kernels.insert(job.kernel()).second) {
        return InvalidRegisterJobs(
            "kernel or code occurs twice", where,
            "one job per kernel, each with a code of its own");
      }
      EK_RETURN_IF_ERROR(AddJob(job), where);
    }
    return std::move(view_);
  }

 private:
  absl::Status AddRegisters() {
    const Kernel& jobs = view_.jobs_;
    if (jobs.registers_size() > kMaxRegisters) {
      return InvalidRegisterJobs("too many registers", "registers",
                                 absl::StrCat("up to ", kMaxRegisters));
    }
    std::set<uint32_t> offsets = {jobs.start_offset()};
    std::set<std::string> names;
    if (jobs.start_offset() % 4 != 0 || jobs.status_offset() % 4 != 0) {
      return InvalidRegisterJobs("an offset is not a multiple of 4",
                                 "start_offset, status_offset",
                                 "start_offset: 0x80");
    }
    if (jobs.start_value() == 0) {
      return InvalidRegisterJobs("start_value is missing, or 0", "jobs",
                                 "start_value: 1");
    }
    if ((jobs.status_done() & ~jobs.status_mask()) != 0 ||
        jobs.status_mask() == 0) {
      return InvalidRegisterJobs(
          "the masked status can never equal status_done",
          "status_mask, status_done",
          "set in status_mask every bit of status_done, and at "
          "least one");
    }
    for (int i = 0; i < jobs.registers_size(); ++i) {
      const Kernel::Register& reg = jobs.registers(i);
      const std::string where = absl::StrCat("register ", reg.name());
      if (reg.name().empty() || !names.insert(reg.name()).second) {
        return InvalidRegisterJobs("a name is missing or occurs twice", where,
                                   "give each register a name of its own");
      }
      if (reg.offset() % 4 != 0 || !offsets.insert(reg.offset()).second ||
          reg.offset() == jobs.status_offset()) {
        return InvalidRegisterJobs(
            "the offset is not a multiple of 4, or is already used by a "
            "register, "
            "start_offset or status_offset",
            absl::StrCat(where, ": offset"), "choose a free multiple of 4");
      }
      if (reg.bits() < 1 || reg.bits() > 32) {
        return InvalidRegisterJobs("bits is missing or too large", where,
                                   "bits: 1 to 32");
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
        return InvalidRegisterJobs(
            "no such variable", where,
            DidYouMean(field.variable(), VariableNames(),
                       "see docs/targets/register_job.md"));
      }
      auto& place = view_.fields_[static_cast<size_t>(*variable)];
      if (place) {
        return InvalidRegisterJobs("the variable occurs twice", where,
                                   "remove one");
      }
      EK_ASSIGN_OR_RETURN(
          place,
          Expression::Compile(field.value_expr(), constants_, register_names_),
          absl::StrCat(where, ": value_expr"));
    }
    return absl::OkStatus();
  }

  bool IsTold(JobVariable variable) const {
    const auto index = static_cast<size_t>(variable);
    return view_.fields_[index] || view_.same_[index] >= 0;
  }

  absl::Status AddJob(const Kernel::Job& job) {
    std::vector<JobVariable> variables = VariablesOfKernel(job.kernel());
    if (HasJobTable(job.kernel()) && view_.has_converter_) {
      const std::vector<JobVariable> more = ConverterVariables();
      variables.insert(variables.end(), more.begin(), more.end());
    }
    std::vector<absl::string_view> missing;
    for (const JobVariable variable : variables) {
      if (!IsTold(variable)) missing.push_back(JobVariableName(variable));
    }
    if (!missing.empty()) {
      return InvalidRegisterJobs(
          absl::StrCat("no register tells ", absl::StrJoin(missing, ", ")),
          "registers, fields",
          absl::StrCat("for each, add a register with value_expr: \"",
                       missing[0], "\", or a field"));
    }
    if (!v1::WeightValues_IsValid(job.weight_values()) ||
        (job.weight_values() != v1::WEIGHTS_ANY &&
         !absl::c_linear_search(OperandsOfKernel(job.kernel()),
                                JobOperand::kWeights))) {
      return InvalidRegisterJobs(
          "weight_values of a kernel without weights, "
          "or unknown",
          "weight_values", "remove it");
    }
    Job parsed;
    EK_ASSIGN_OR_RETURN(parsed.occupancy, Compile(job.occupancy_cycles_expr()),
                        "occupancy_cycles_expr");
    const std::vector<JobOperand> needed = OperandsOfKernel(job.kernel());
    for (const Kernel::Operand& operand : job.operands()) {
      const auto found = absl::c_find_if(needed, [&](JobOperand which) {
        return JobOperandName(which) == operand.name();
      });
      const std::string where =
          absl::StrCat("operands: name \"", operand.name(), "\"");
      if (found == needed.end()) {
        return InvalidRegisterJobs("the kernel has no such operand", where,
                                   absl::StrCat("it has ", NamesOf(needed)));
      }
      Operand& place = parsed.operands[static_cast<size_t>(*found)];
      if (place.present) {
        return InvalidRegisterJobs("the operand occurs twice", where,
                                   "remove one");
      }
      EK_RETURN_IF_ERROR(AddOperand(job.kernel(), *found, operand, place),
                         where);
    }
    for (const JobOperand operand : needed) {
      if (parsed.operands[static_cast<size_t>(operand)].present) continue;
      return InvalidRegisterJobs(
          "an operand is missing",
          absl::StrCat("operands: ", JobOperandName(operand)),
          absl::StrCat("add operands { name: \"", JobOperandName(operand),
                       "\" .. }"));
    }
    view_.parsed_.push_back(std::move(parsed));
    view_.variables_.push_back(std::move(variables));
    return absl::OkStatus();
  }

  absl::Status AddOperand(Kernel::Kernel kernel, JobOperand which,
                          const Kernel::Operand& operand, Operand& place) {
    place.present = true;
    if (operand.terms_size() > kMaxTerms) {
      return InvalidRegisterJobs("too many terms", "terms",
                                 absl::StrCat("up to ", kMaxTerms));
    }
    const absl::string_view axes = AxesOf(kernel, which);
    for (const Kernel::Operand::Term& term : operand.terms()) {
      Term parsed;
      const size_t axis =
          term.axis().size() == 1 ? axes.find(term.axis()) : axes.npos;
      if (axis == axes.npos) {
        return InvalidRegisterJobs(
            absl::StrCat("no axis \"", term.axis(), "\""), "terms",
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
    return InvalidRegisterJobs("the engine model is driven by registers",
                               "jobs", "add jobs { .. }");
  }
  return Builder(machine, machine.engines(engine).jobs()).Build();
}

}  // namespace edgekiln::target
