#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "target/memories.h"
#include "target/need_text.h"
#include "target/register_jobs.h"
#include "target/register_jobs_builder.h"

// Jobs: their conditions, and where their operands lie.
namespace edgekiln::target {
namespace {

using Kernel = v1::RegisterJobs;

constexpr int kMaxTerms = 16;
constexpr int kMaxConditions = 64;  // Of one job.
constexpr int kMaxSignMasks = 4096;
constexpr int kMaxSignColumns = 32;

std::string NamesOf(const std::vector<JobOperand>& operands) {
  return absl::StrJoin(operands, ", ", [](std::string* out, JobOperand which) {
    absl::StrAppend(out, JobOperandName(which));
  });
}

// Axes of an operand by name, in the order of the layout's extents.
absl::string_view AxesOf(Kernel::Kernel kernel, JobOperand operand) {
  if (IsOfChannels(operand)) return "ob";
  if (operand != JobOperand::kWeights) return "hwc";
  return kernel == Kernel::CONVOLUTION ? "ohwi" : "ohw";
}

}  // namespace

absl::Status RegisterJobsView::Builder::AddJob(const Kernel::Job& job) {
  if (!CanHaveResults(job.kernel(), job.results())) {
    return InvalidRegisterJobs(
        "results that the kernel does not have, or unknown", "results",
        "remove it");
  }
  std::vector<JobVariable> variables =
      VariablesOfKernel(job.kernel(), job.results());
  if (HasJobTable(job.kernel(), job.results()) && view_.has_converter_) {
    const std::vector<JobVariable> more = ConverterVariables();
    variables.insert(variables.end(), more.begin(), more.end());
  }
  if (view_.record_memory_ >= 0) {
    variables.push_back(JobVariable::kRecordAddr);
  }
  std::vector<absl::string_view> missing;
  for (const JobVariable variable : variables) {
    if (!IsTold(variable)) missing.push_back(JobVariableName(variable));
  }
  if (!missing.empty()) {
    const bool may_shift = CanHaveResults(job.kernel(), Kernel::BY_SHIFT) &&
                           IsTold(JobVariable::kShift);
    const bool may_convert =
        CanHaveResults(job.kernel(), Kernel::BY_CONVERTER) &&
        IsTold(JobVariable::kGain) && !IsTold(JobVariable::kConverts);
    return InvalidRegisterJobs(
        absl::StrCat("no register tells ", absl::StrJoin(missing, ", ")),
        "registers, fields",
        absl::StrCat("for each, add a register with value_expr: \"", missing[0],
                     "\", or a field",
                     may_shift     ? "; or results: BY_SHIFT for the job"
                     : may_convert ? "; or results: BY_CONVERTER for the job"
                                   : ""));
  }
  if (!v1::WeightValues_IsValid(job.weight_values()) ||
      (job.weight_values() != v1::WEIGHTS_ANY &&
       !absl::c_linear_search(OperandsOfKernel(job.kernel(), job.results()),
                              JobOperand::kWeights))) {
    return InvalidRegisterJobs(
        "weight_values of a kernel without weights, "
        "or unknown",
        "weight_values", "remove it");
  }
  Job parsed;
  EK_ASSIGN_OR_RETURN(parsed.occupancy, Compile(job.occupancy_cycles_expr()),
                      "occupancy_cycles_expr");
  EK_RETURN_IF_ERROR(AddConditions(job, parsed));
  EK_RETURN_IF_ERROR(AddOperands(job, parsed));
  if (parsed.operands[static_cast<size_t>(JobOperand::kWeights)].cells &&
      job.weight_values() != v1::WEIGHTS_TERNARY) {
    return InvalidRegisterJobs("cells hold ternary weights alone",
                               "weight_values",
                               "weight_values: WEIGHTS_TERNARY");
  }
  view_.parsed_.push_back(std::move(parsed));
  view_.variables_.push_back(std::move(variables));
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::AddConditions(const Kernel::Job& job,
                                                      Job& parsed) const {
  if (job.where_size() > kMaxConditions) {
    return InvalidRegisterJobs("too many conditions", "where",
                               absl::StrCat("up to ", kMaxConditions));
  }
  for (int i = 0; i < job.where_size(); ++i) {
    const std::string where = absl::StrCat("where ", i + 1);
    Condition condition;
    EK_ASSIGN_OR_RETURN(condition.expression, Compile(job.where(i).expr()),
                        absl::StrCat(where, ": expr"));
    if (!condition.expression.uses_variables()) {
      return InvalidRegisterJobs("the condition has no variable of the job",
                                 absl::StrCat(where, ": expr"), "remove it");
    }
    EK_ASSIGN_OR_RETURN(condition.need,
                        NeedText(
                            job.where(i).need(),
                            [this](absl::string_view expression) {
                              return EvaluateConstant(expression, constants_);
                            },
                            absl::StrCat(where, ": need")));
    parsed.conditions.push_back(std::move(condition));
  }
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::AddOperands(const Kernel::Job& job,
                                                    Job& parsed) const {
  const std::vector<JobOperand> needed =
      OperandsOfKernel(job.kernel(), job.results());
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
    EK_RETURN_IF_ERROR(AddOperand(job.kernel(), *found, operand, place), where);
  }
  for (const JobOperand operand : needed) {
    if (parsed.operands[static_cast<size_t>(operand)].present) continue;
    return InvalidRegisterJobs(
        "an operand is missing",
        absl::StrCat("operands: ", JobOperandName(operand)),
        absl::StrCat("add operands { name: \"", JobOperandName(operand),
                     "\" .. }"));
  }
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::StageOperand(
    const Kernel::Operand& operand, Operand& place) const {
  if (operand.staged_in().empty()) return absl::OkStatus();
  EK_ASSIGN_OR_RETURN(place.staged_in,
                      FindMemory(operand.staged_in(), "staged_in"));
  const v1::ResolvedMemory& memory = machine_.memories(place.staged_in);
  if (memory.host_reaches() || memory.engines_size() != 1 ||
      !EngineReaches(place.staged_in) || IsWritable(memory) ||
      !Holds(memory, v1::MemoryDescriptor::CONSTANTS)) {
    return InvalidRegisterJobs(
        absl::StrCat("memory ", memory.name(),
                     " is not the engine's alone, for constants alone"),
        "staged_in",
        "a memory with the engine in reached_by and CONSTANTS in holds, "
        "and nothing else");
  }
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::PlaceOperand(
    JobOperand which, const Kernel::Operand& operand, Operand& place) const {
  const bool constant = IsConstant(which);
  place.memory = view_.own_memory_;
  if (!operand.memory().empty()) {
    EK_ASSIGN_OR_RETURN(place.memory, FindMemory(operand.memory(), "memory"));
    const bool may_lie_there =
        place.memory == view_.own_memory_ ||
        (constant && machine_.memories(place.memory).host_reaches() &&
         EngineReaches(place.memory));
    if (!may_lie_there) {
      return InvalidRegisterJobs(
          constant ? absl::StrCat("the engine reaches no constants in memory ",
                                  operand.memory())
                   : "activations lie in the engine's own memory",
          "memory",
          constant ? "a memory with the engine and \"host\" in reached_by"
                   : "remove it");
    }
  }
  if (place.memory != view_.own_memory_ &&
      !Holds(machine_.memories(place.memory),
             v1::MemoryDescriptor::CONSTANTS)) {
    return InvalidRegisterJobs(
        absl::StrCat("memory ", machine_.memories(place.memory).name(),
                     " holds no constants"),
        "memory", "CONSTANTS in its holds, or another memory");
  }
  EK_RETURN_IF_ERROR(StageOperand(operand, place));
  place.reversed_bytes = operand.reversed_bytes();
  if (place.reversed_bytes != 0 && place.reversed_bytes != 2 &&
      place.reversed_bytes != 4 && place.reversed_bytes != 8) {
    return InvalidRegisterJobs(
        absl::StrCat("reversed_bytes is ", place.reversed_bytes),
        "reversed_bytes", "2, 4 or 8");
  }
  if (operand.address_expr().empty()) {
    if (!IsOfChannels(which)) return absl::OkStatus();
    return InvalidRegisterJobs("address_expr is missing", "address_expr",
                               "where they lie, over the variables: "
                               "\"weights_addr + 4096\"");
  }
  EK_ASSIGN_OR_RETURN(place.address, Compile(operand.address_expr()),
                      "address_expr");
  return absl::OkStatus();
}

absl::Status RegisterJobsView::Builder::AddOperand(
    Kernel::Kernel kernel, JobOperand which, const Kernel::Operand& operand,
    Operand& place) const {
  place.present = true;
  EK_RETURN_IF_ERROR(PlaceOperand(which, operand, place));
  if (operand.has_cell_rows()) return AddCells(kernel, which, operand, place);
  if (operand.size_bytes_expr().empty()) {
    return InvalidRegisterJobs(
        "neither size_bytes_expr nor cell_rows is there", "size_bytes_expr",
        "the bytes of its room; or, of ternary weights, cell_rows");
  }
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
      return InvalidRegisterJobs(absl::StrCat("no axis \"", term.axis(), "\""),
                                 "terms",
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

absl::Status RegisterJobsView::Builder::AddCells(Kernel::Kernel kernel,
                                                 JobOperand which,
                                                 const Kernel::Operand& operand,
                                                 Operand& place) const {
  const Kernel::CellRows& cells = operand.cell_rows();
  if (which != JobOperand::kWeights || kernel != Kernel::CONVOLUTION ||
      operand.terms_size() > 0 || !operand.size_bytes_expr().empty()) {
    return InvalidRegisterJobs(
        "cell_rows of another operand than the weights of a CONVOLUTION, or "
        "beside terms or size_bytes_expr",
        "cell_rows", "remove one of them");
  }
  const bool has_signs = cells.sign_masks_size() > 0;
  if (cells.sign_masks_size() > kMaxSignMasks || cells.sign_rows() < 0 ||
      cells.sign_columns() < 0 || cells.sign_columns() > kMaxSignColumns ||
      has_signs != (cells.sign_rows() > 0) ||
      has_signs != (cells.sign_columns() > 0)) {
    return InvalidRegisterJobs(
        "signs of cells that are incomplete or too many", "cell_rows",
        absl::StrCat("sign_rows from 1 up, sign_columns from 1 to ",
                     kMaxSignColumns, " and up to ", kMaxSignMasks,
                     " sign_masks; or none of the three"));
  }
  Cells parsed;
  EK_ASSIGN_OR_RETURN(parsed.rows_multiple, Compile(cells.rows_multiple_expr()),
                      "rows_multiple_expr");
  EK_ASSIGN_OR_RETURN(parsed.columns_multiple,
                      Compile(cells.columns_multiple_expr()),
                      "columns_multiple_expr");
  parsed.described = cells;
  place.cells = std::move(parsed);
  return absl::OkStatus();
}

}  // namespace edgekiln::target
