#include "target/models/register_job/conditions.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "target/expression.h"
#include "target/need_text.h"
#include "target/register_jobs.h"

namespace edgekiln::target {
namespace {

using Jobs = v1::RegisterJobs;
using Condition = v1::OpPattern::Condition;

bool HasWindow(absl::string_view op) {
  return op == "conv2d" || op == "depthwise_conv2d" || op == "average_pool2d" ||
         op == "max_pool2d";
}

// The variable's value in the op's first job, as an expression over the op's
// variables; nothing if it depends on how the op is cut. Extents do: rows,
// columns and channels of the output are cut, and with them the input's, except
// for the channels that a convolution adds up. Paddings are those of the first
// job.
std::optional<std::string> UncutValue(absl::string_view variable,
                                      Jobs::Kernel kernel,
                                      absl::string_view op) {
  const std::string name(variable);
  if (name == "in_c") {
    if (kernel == Jobs::CONVOLUTION) return name;
    return std::nullopt;
  }
  if (name == "depth_multiplier") {
    return kernel == Jobs::DEPTHWISE_CONVOLUTION ? name : "1";
  }
  static constexpr absl::string_view kWindow[] = {
      "kernel_h",   "kernel_w",   "stride_h", "stride_w",
      "dilation_h", "dilation_w", "pad_top",  "pad_left"};
  if (!absl::c_linear_search(kWindow, variable)) return std::nullopt;
  if (HasWindow(op)) return name;
  return variable == "pad_top" || variable == "pad_left" ? "0" : "1";
}

void Add(std::string expr, std::string need,
         std::vector<Condition>& conditions) {
  Condition& condition = conditions.emplace_back();
  condition.set_expr(std::move(expr));
  condition.set_need(std::move(need));
}

// An expression over a job's variables as one over the op's.
struct OverOp {
  std::string text;     // Extents that are cut are 1.
  bool cut = false;     // Has such extents.
  bool varies = false;  // Has variables of the op.
};

absl::StatusOr<OverOp> ExpressionOverOp(const v1::Machine& machine,
                                        absl::string_view expression,
                                        const Jobs::Job& job,
                                        absl::string_view op) {
  OverOp over;
  EK_ASSIGN_OR_RETURN(
      over.text,
      ReplaceNames(expression,
                   [&](absl::string_view name) -> std::optional<std::string> {
                     for (const v1::Setting& parameter : machine.parameters()) {
                       if (parameter.name() == name)
                         return ValueText(parameter.value());
                     }
                     if (name == "kernel") return ValueText(job.code());
                     const auto uncut = UncutValue(name, job.kernel(), op);
                     if (!uncut) {
                       over.cut = true;
                       return "1";
                     }
                     over.varies = over.varies || *uncut == name;
                     return *uncut;
                   }));
  return over;
}

// Empty if its value depends on how the op is cut, or is the same for all.
absl::StatusOr<std::string> UncutExpression(const v1::Machine& machine,
                                            absl::string_view expression,
                                            const Jobs::Job& job,
                                            absl::string_view op) {
  EK_ASSIGN_OR_RETURN(OverOp over,
                      ExpressionOverOp(machine, expression, job, op));
  return over.cut || !over.varies ? std::string() : std::move(over.text);
}

absl::Status AddRegisters(const v1::Machine& machine, const Jobs& jobs,
                          const Jobs::Job& job, absl::string_view op,
                          std::vector<Condition>& conditions) {
  for (const Jobs::Register& reg : jobs.registers()) {
    if (reg.value_expr().empty()) continue;  // No job writes it.
    EK_ASSIGN_OR_RETURN(const std::string value,
                        UncutExpression(machine, reg.value_expr(), job, op));
    if (value.empty()) continue;
    const int64_t most = MostHeld(reg);
    Add(absl::StrCat("(", value, ") <= ", most),
        absl::StrCat("at most ", most, " in register ", reg.name()),
        conditions);
    // Variables of ops are never negative.
    if (!absl::StrContains(value, "-")) continue;
    const int64_t least = LeastHeld(reg);
    Add(absl::StrCat("(", value, ") >= ", ValueText(least)),
        absl::StrCat("at least ", least, " in register ", reg.name()),
        conditions);
  }
  return absl::OkStatus();
}

// What the descriptor demands of every job, as far as it does not depend on how
// the op is cut.
absl::Status AddWhere(const v1::Machine& machine, const Jobs::Job& job,
                      absl::string_view op,
                      std::vector<Condition>& conditions) {
  std::vector<Constant> parameters;
  for (const v1::Setting& setting : machine.parameters()) {
    parameters.push_back({setting.name(), setting.value()});
  }
  for (const Condition& condition : job.where()) {
    EK_ASSIGN_OR_RETURN(std::string expr,
                        UncutExpression(machine, condition.expr(), job, op));
    if (expr.empty()) continue;
    EK_ASSIGN_OR_RETURN(std::string need,
                        NeedText(
                            condition.need(),
                            [&](absl::string_view expression) {
                              return EvaluateConstant(expression, parameters);
                            },
                            "where: need"));
    Add(std::move(expr), std::move(need), conditions);
  }
  return absl::OkStatus();
}

// Bytes of the operand of a job with one output channel, over the op's
// variables.
absl::StatusOr<OverOp> LeastBytes(const v1::Machine& machine,
                                  const Jobs::Operand& operand,
                                  const Jobs::Job& job, absl::string_view op) {
  if (!operand.has_cell_rows()) {
    return ExpressionOverOp(machine, operand.size_bytes_expr(), job, op);
  }
  const std::string rows =
      absl::StrCat("(", operand.cell_rows().rows_multiple_expr(), ")");
  // Two bits a cell.
  return ExpressionOverOp(
      machine,
      absl::StrCat("ceildiv(", rows, " * ceildiv(in_c * kernel_h * kernel_w, ",
                   rows, ") * (", operand.cell_rows().columns_multiple_expr(),
                   "), 4)"),
      job, op);
}

// What one job stages in a memory has room there, with one output channel: the
// channels that a convolution adds up are never cut.
absl::Status AddStages(const v1::Machine& machine, const Jobs::Job& job,
                       absl::string_view op,
                       std::vector<Condition>& conditions) {
  for (const v1::ResolvedMemory& memory : machine.memories()) {
    std::string sum;
    bool varies = false;
    for (const Jobs::Operand& operand : job.operands()) {
      if (operand.staged_in() != memory.name()) continue;
      EK_ASSIGN_OR_RETURN(const OverOp bytes,
                          LeastBytes(machine, operand, job, op));
      absl::StrAppend(&sum, sum.empty() ? "" : " + ", "(", bytes.text, ")");
      varies = varies || bytes.varies;
    }
    if (!varies) continue;
    Add(absl::StrCat(sum, " <= ", memory.capacity_bytes()),
        absl::StrCat("constants of an output channel in at most ",
                     memory.capacity_bytes(), " bytes of ", memory.name()),
        conditions);
  }
  return absl::OkStatus();
}

}  // namespace

Jobs::Kernel JobKernelOf(absl::string_view op) {
  if (op == "conv2d" || op == "fully_connected") return Jobs::CONVOLUTION;
  if (op == "depthwise_conv2d") return Jobs::DEPTHWISE_CONVOLUTION;
  if (op == "add") return Jobs::ADDITION;
  if (op == "average_pool2d") return Jobs::AVERAGE_POOLING;
  if (op == "max_pool2d") return Jobs::MAXIMUM_POOLING;
  if (op == "requantize") return Jobs::REQUANTIZATION;
  return Jobs::KERNEL_UNSPECIFIED;
}

absl::StatusOr<std::vector<Condition>> JobConditions(const v1::Machine& machine,
                                                     int32_t engine,
                                                     absl::string_view op) {
  std::vector<Condition> conditions;
  const Jobs& jobs = machine.engines(engine).jobs();
  const Jobs::Kernel kernel = JobKernelOf(op);
  // Of several jobs, the last takes what those before it do not.
  const Jobs::Job* job = nullptr;
  for (const Jobs::Job& each : jobs.jobs()) {
    if (each.kernel() == kernel) job = &each;
  }
  if (job == nullptr) return conditions;
  EK_RETURN_IF_ERROR(AddWhere(machine, *job, op, conditions));
  EK_RETURN_IF_ERROR(AddRegisters(machine, jobs, *job, op, conditions));
  EK_RETURN_IF_ERROR(AddStages(machine, *job, op, conditions));
  // Without a window, batch counts as rows.
  if (HasWindow(op)) Add("batch == 1", "batch 1", conditions);
  if (op == "conv2d") {
    Add("groups == 1", "convolutions without groups", conditions);
  }
  if (job->results() == Jobs::BY_CONVERTER) {
    Add("biased == 0", "layers without a bias", conditions);
  }
  if (op == "add") Add("one_shape", "operands of one shape", conditions);
  if (kernel == Jobs::AVERAGE_POOLING || kernel == Jobs::MAXIMUM_POOLING) {
    Add("max(dilation_h, dilation_w) == 1", "pools without dilation",
        conditions);
  }
  const auto up_to = [&](absl::string_view value, absl::string_view what) {
    Add(absl::StrCat(value, " <= ", kMaxJobExtent),
        absl::StrCat(what, " up to ", kMaxJobExtent), conditions);
  };
  if (HasWindow(op)) {
    up_to("max(kernel_h, kernel_w)", "kernels");
    up_to("max(stride_h, stride_w)", "strides");
    up_to("max(dilation_h, dilation_w)", "dilations");
    up_to("max(pad_top, pad_left)", "paddings");
  }
  if (kernel == Jobs::CONVOLUTION) up_to("in_c", "input channels");
  return conditions;
}

}  // namespace edgekiln::target
