#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/checked_math.h"
#include "base/error.h"
#include "base/rounding.h"
#include "base/status_macros.h"
#include "target/layout.h"
#include "target/register_jobs.h"

// Where operands lie, and which jobs a descriptor allows.
namespace edgekiln::target {
namespace {

using Kernel = v1::RegisterJobs;
using V = JobVariable;

// Of a word of cells.
constexpr int64_t kCellColumns = 32;

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

// The variable that is an operand's address where nothing else is said.
V AddressVariable(JobOperand operand) {
  switch (operand) {
    case JobOperand::kIn:
      return V::kInAddr;
    case JobOperand::kIn2:
      return V::kIn2Addr;
    case JobOperand::kWeights:
    case JobOperand::kBias:
    case JobOperand::kAffine:
      return V::kWeightsAddr;
    case JobOperand::kOut:
      break;
  }
  return V::kOutAddr;
}

}  // namespace

std::vector<JobOperand> RegisterJobsView::OperandsOf(int32_t job) const {
  return OperandsOfKernel(jobs_.jobs(job).kernel(), jobs_.jobs(job).results());
}

bool RegisterJobsView::HasTable(int32_t job) const {
  return HasJobTable(jobs_.jobs(job).kernel(), jobs_.jobs(job).results());
}

int32_t RegisterJobsView::MemoryOf(int32_t job, JobOperand which) const {
  return operand(job, which).memory;
}

absl::StatusOr<int64_t> RegisterJobsView::AddressOf(
    int32_t job, JobOperand which, const JobVariables& variables) const {
  const std::optional<Expression>& expression = operand(job, which).address;
  int64_t address = variables[AddressVariable(which)];
  if (expression) {
    EK_ASSIGN_OR_RETURN(
        address, EvaluateOperand(*expression, jobs_.jobs(job).kernel(), which,
                                 "address_expr", variables));
  }
  if (address >= 0 && address <= kMaxJobAddress) return address;
  return MakeError(absl::StatusCode::kOutOfRange,
                   {.reason = "TARGET_INVALID",
                    .what = absl::StrCat("the address is ", address),
                    .where = absl::StrCat(
                        "job ", Kernel::Kernel_Name(jobs_.jobs(job).kernel()),
                        ", operand ", JobOperandName(which)),
                    .limit = absl::StrCat("0 to ", kMaxJobAddress),
                    .fix = "correct its address_expr in the target file"});
}

int32_t RegisterJobsView::FailedCondition(int32_t job,
                                          const JobVariables& variables) const {
  const std::vector<Condition>& conditions = parsed_[job].conditions;
  for (size_t i = 0; i < conditions.size(); ++i) {
    const auto value = conditions[i].expression.Evaluate(variables.values());
    if (!value.ok() || *value == 0) return static_cast<int32_t>(i);
  }
  return -1;
}

std::vector<JobVariable> RegisterJobsView::VariablesOfCondition(
    int32_t job, int32_t condition) const {
  std::vector<JobVariable> used;
  const Expression& expression = parsed_[job].conditions[condition].expression;
  for (const int32_t slot : expression.UsedVariables()) {
    used.push_back(static_cast<JobVariable>(slot));
  }
  return used;
}

absl::Status RegisterJobsView::CheckJob(int32_t job,
                                        const JobVariables& variables) const {
  const int32_t failed = FailedCondition(job, variables);
  if (failed < 0) return CheckStages(job, variables);
  const std::string& need = parsed_[job].conditions[failed].need;
  std::vector<std::string> here;
  for (const JobVariable variable : VariablesOfCondition(job, failed)) {
    here.push_back(
        absl::StrCat(JobVariableName(variable), " ", variables[variable]));
  }
  return MakeError(absl::StatusCode::kOutOfRange,
                   {.reason = "JOB_REFUSED",
                    .what = absl::StrCat("the engine needs ", need, " (here ",
                                         absl::StrJoin(here, ", "), ")"),
                    .where = absl::StrCat(
                        "job ", Kernel::Kernel_Name(jobs_.jobs(job).kernel())),
                    .need = need});
}

absl::Status InvalidConstantPlaces(const RegisterJobsView& view, int32_t job,
                                   std::string what) {
  std::string where =
      absl::StrCat("job ", Kernel::Kernel_Name(view.jobs().jobs(job).kernel()),
                   ": operands weights");
  for (const JobOperand operand : view.OperandsOf(job)) {
    if (IsOfChannels(operand)) {
      absl::StrAppend(&where, ", ", JobOperandName(operand));
    }
  }
  return InvalidRegisterJobs(
      std::move(what), std::move(where),
      "correct their address_expr and stride_bytes_expr: each byte belongs to "
      "one element of one operand");
}

absl::Status RegisterJobsView::CheckStages(
    int32_t job, const JobVariables& variables) const {
  std::map<int32_t, int64_t> bytes;  // By memory.
  const Kernel::Kernel kernel = jobs_.jobs(job).kernel();
  for (const JobOperand which : OperandsOf(job)) {
    const Operand& staged = operand(job, which);
    if (staged.staged_in < 0) continue;
    EK_ASSIGN_OR_RETURN(const int64_t size, SizeOf(job, which, variables));
    int64_t& sum = bytes[staged.staged_in];
    sum = CheckedAdd(sum, std::max<int64_t>(size, 0)).value_or(INT64_MAX);
  }
  for (const auto& [memory, need] : bytes) {
    const Stage& stage = stages_[memory];
    if (need <= stage.capacity_bytes) continue;
    return MakeError(
        absl::StatusCode::kOutOfRange,
        {.reason = "STAGED_TOO_LARGE",
         .what = absl::StrCat("memory ", stage.name,
                              " does not hold what the job stages in it"),
         .where = absl::StrCat("job ", Kernel::Kernel_Name(kernel)),
         .limit = absl::StrCat(stage.capacity_bytes, " bytes"),
         .need = absl::StrCat(need, " bytes"),
         .fix = "a larger memory, or jobs of fewer output channels"});
  }
  return absl::OkStatus();
}

bool RegisterJobsView::HasCells(int32_t job) const {
  return operand(job, JobOperand::kWeights).cells.has_value();
}

absl::StatusOr<CellRows> RegisterJobsView::CellsOf(
    int32_t job, const JobVariables& variables) const {
  const Cells& cells = *operand(job, JobOperand::kWeights).cells;
  const Kernel::Kernel kernel = jobs_.jobs(job).kernel();
  CellRows rows;
  rows.out_c = variables[V::kOutC];
  rows.kernel_h = variables[V::kKernelH];
  rows.kernel_w = variables[V::kKernelW];
  rows.in_c = variables[V::kInC];
  rows.last_row_first = cells.described.last_row_first();
  rows.sign_rows = cells.described.sign_rows();
  rows.sign_columns = cells.described.sign_columns();
  rows.sign_masks.assign(cells.described.sign_masks().begin(),
                         cells.described.sign_masks().end());
  const auto multiple = [&](const Expression& expression,
                            absl::string_view field) {
    return EvaluateOperand(expression, kernel, JobOperand::kWeights, field,
                           variables);
  };
  EK_ASSIGN_OR_RETURN(const int64_t row_grain,
                      multiple(cells.rows_multiple, "rows_multiple_expr"));
  EK_ASSIGN_OR_RETURN(
      const int64_t column_grain,
      multiple(cells.columns_multiple, "columns_multiple_expr"));
  const auto taps = CheckedMul(rows.kernel_h, rows.kernel_w);
  const auto inputs = taps ? CheckedMul(*taps, rows.in_c) : std::nullopt;
  const bool legal = inputs && *inputs > 0 && *inputs < kMaxLayoutBytes &&
                     rows.out_c > 0 && rows.out_c <= kMaxJobExtent &&
                     row_grain > 0 && row_grain <= kMaxJobExtent &&
                     column_grain > 0 && column_grain <= kMaxJobExtent &&
                     column_grain % kCellColumns == 0;
  if (legal) {
    rows.rows = RoundUp(*inputs, row_grain);
    rows.columns = RoundUp(rows.out_c, column_grain);
    if (rows.rows <= kMaxLayoutBytes / rows.columns) return rows;
  }
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TARGET_INVALID",
       .what = "the cells of the weights have no size",
       .where = absl::StrCat("job ", Kernel::Kernel_Name(kernel),
                             ", operand weights, cell_rows"),
       .limit = absl::StrCat("multiples from 1 to ", kMaxJobExtent,
                             ", columns in whole ", kCellColumns),
       .fix = "correct rows_multiple_expr or columns_multiple_expr in the "
              "target file"});
}

absl::StatusOr<int64_t> RegisterJobsView::SizeOf(
    int32_t job, JobOperand which, const JobVariables& variables) const {
  const Operand& parsed = operand(job, which);
  if (!parsed.cells) {
    return EvaluateOperand(parsed.size, jobs_.jobs(job).kernel(), which,
                           "size_bytes_expr", variables);
  }
  EK_ASSIGN_OR_RETURN(const CellRows cells, CellsOf(job, variables));
  return cells.bytes();
}

absl::StatusOr<v1::Layout> RegisterJobsView::OperandLayout(
    int32_t job, JobOperand operand, const JobVariables& variables) const {
  const Operand& parsed = this->operand(job, operand);
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
  if (parsed.cells) {
    EK_ASSIGN_OR_RETURN(const int64_t bytes, SizeOf(job, operand, variables));
    layout.add_extents(bytes);
    layout.add_terms()->set_stride_bytes(1);
  } else if (IsOfChannels(operand)) {
    extents({V::kOutC});
    layout.add_extents(kJobChannelBytes);
  } else if (operand == JobOperand::kWeights) {
    extents({V::kOutC, V::kKernelH, V::kKernelW});
    if (kernel == Kernel::CONVOLUTION) extents({V::kInC});
  } else if (operand == JobOperand::kOut || same_shape) {
    extents({V::kOutH, V::kOutW, V::kOutC});
    const bool convolves = kernel == Kernel::CONVOLUTION ||
                           kernel == Kernel::DEPTHWISE_CONVOLUTION;
    const bool may_sum =
        convolves && jobs_.jobs(job).results() == Kernel::BY_TABLE;
    const bool sums = operand == JobOperand::kOut
                          ? may_sum && variables[V::kOutInt32] != 0
                          : kernel == Kernel::REQUANTIZATION;
    if (sums) bits = 32;
  } else {
    const bool pools =
        kernel == Kernel::AVERAGE_POOLING || kernel == Kernel::MAXIMUM_POOLING;
    extents({V::kInH, V::kInW});
    layout.add_extents(variables[pools ? V::kOutC : V::kInC]);
  }
  layout.set_element_bits(bits);
  layout.set_reversed_bytes(parsed.reversed_bytes);
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
  EK_ASSIGN_OR_RETURN(const int64_t size, SizeOf(job, operand, variables));
  layout.set_size_bytes(size);
  if (parsed.reversed_bytes > 0) {
    EK_ASSIGN_OR_RETURN(const int64_t address,
                        AddressOf(job, operand, variables));
    layout.set_first_byte(
        static_cast<int32_t>(address % parsed.reversed_bytes));
    // Other sizes are illegal, and stay so.
    if (size > 0 && size < kMaxLayoutBytes &&
        size % parsed.reversed_bytes == 0 && layout.first_byte() > 0) {
      layout.set_size_bytes(size + parsed.reversed_bytes);
    }
  }
  return layout;
}

}  // namespace edgekiln::target
