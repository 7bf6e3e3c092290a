#include "target/host_cost.h"

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "google/protobuf/descriptor.h"

namespace edgekiln::target {
namespace {

std::string WhereOf(absl::string_view op) {
  return absl::StrCat("host: costs \"", op, "\"");
}

}  // namespace

absl::StatusOr<HostCosts> HostCosts::Create(const v1::Machine& machine) {
  std::vector<Constant> parameters;
  for (const v1::Setting& parameter : machine.parameters()) {
    parameters.push_back({parameter.name(), parameter.value()});
  }
  HostCosts costs;
  costs.classes_.clear();
  bool has_default = false;
  for (const v1::Machine::HostClass& cost : machine.host_costs()) {
    if (cost.op() == "default") {
      has_default = true;
      costs.default_ = costs.classes_.size();
    }
    EK_ASSIGN_OR_RETURN(
        Expression cycles,
        Expression::Compile(cost.cycles_expr(), parameters, OpVariableNames()),
        absl::StrCat(WhereOf(cost.op()), ": cycles_expr"));
    costs.classes_.push_back({cost.op(), std::move(cycles)});
  }
  if (has_default) return costs;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.reason = "TARGET_INVALID",
                    .what = "the host has no cost for ops without one of "
                            "their own",
                    .where = "host: costs",
                    .fix = "add costs { op: \"default\" .. } to the host"});
}

absl::StatusOr<int64_t> HostCosts::Cycles(absl::string_view op,
                                          const OpVariables& variables) const {
  const Class* found = &classes_[default_];
  for (const Class& candidate : classes_) {
    if (candidate.op == op) found = &candidate;
  }
  const absl::StatusOr<int64_t> cycles =
      found->cycles.Evaluate(variables.values());
  if (!cycles.ok()) {
    return Annotate(cycles.status(), absl::StrCat(WhereOf(found->op), ", op ",
                                                  op, ": cycles_expr"));
  }
  if (*cycles >= 0) return *cycles;
  return MakeError(
      absl::StatusCode::kOutOfRange,
      {.reason = "TARGET_INVALID",
       .what = absl::StrCat("an op ", op, " would take ", *cycles, " cycles"),
       .where = absl::StrCat(WhereOf(found->op), ": cycles_expr \"",
                             found->cycles.text(), "\""),
       .limit = "0 cycles or more",
       .fix = "correct the expression; max(0, ..) bounds it"});
}

absl::StatusOr<int64_t> HostCosts::CopyCycles(int64_t bytes) const {
  const ShapeSpan shape = absl::MakeConstSpan(&bytes, 1);
  EK_ASSIGN_OR_RETURN(const OpVariables variables,
                      VariablesOf(v1::OpAttributes(), {shape}, {shape}));
  return Cycles(kCopyCost, variables);
}

absl::string_view OpAttributesName(const v1::OpAttributes& attributes) {
  const google::protobuf::FieldDescriptor* field =
      v1::OpAttributes::descriptor()->FindFieldByNumber(attributes.op_case());
  return field == nullptr ? absl::string_view()
                          : absl::string_view(field->name());
}

}  // namespace edgekiln::target
