#include "target/resolve_firmware.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "target/own_kernels.h"
#include "target/parameters.h"

namespace edgekiln::target {

absl::StatusOr<v1::Machine::Firmware> ResolveFirmware(
    const v1::FirmwareDescriptor& firmware,
    const std::vector<Constant>& values) {
  v1::Machine::Firmware resolved;
  resolved.set_processor(firmware.processor());
  for (const auto& cost : firmware.costs()) {
    const std::string where = absl::StrCat("host: firmware: costs \"",
                                           cost.instruction_class(), "\"");
    EK_ASSIGN_OR_RETURN(const int64_t cycles,
                        EvaluateConstant(cost.cycles_expr(), values), where);
    v1::Setting& setting = *resolved.add_costs();
    setting.set_name(cost.instruction_class());
    setting.set_value(cycles);
  }
  std::sort(resolved.mutable_costs()->begin(), resolved.mutable_costs()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  EK_ASSIGN_OR_RETURN(const int64_t stack,
                      EvaluateConstant(firmware.stack_bytes_expr(), values),
                      "host: firmware: stack_bytes_expr");
  resolved.set_stack_bytes(stack);
  return resolved;
}

absl::Status AddOwnKernels(const v1::TargetDescriptor& descriptor,
                           v1::Machine* machine) {
  const KernelRows& rows = descriptor.c_kernels();
  if (rows.empty() && descriptor.c_sources().empty()) return absl::OkStatus();
  if (!machine->has_firmware()) {
    return InvalidTarget({.what = "c_kernels need a target whose host runs C",
                          .where = rows.empty() ? "c_sources" : "c_kernels",
                          .fix = "remove them, or extend a target that runs C: "
                                 "docs/c_targets.md"});
  }
  EK_RETURN_IF_ERROR(CheckOwnKernels(rows, descriptor.c_sources()));
  v1::Machine::Firmware& firmware = *machine->mutable_firmware();
  *firmware.mutable_kernels() = rows;
  for (v1::CKernel& row : *firmware.mutable_kernels()) {
    row.mutable_cost()->clear_provenance();
    if (row.recipes().empty()) {
      row.add_recipes(v1::CRecipe::KERNELS_UNSPECIFIED);
    }
  }
  *firmware.mutable_sources() = descriptor.c_sources();
  std::sort(firmware.mutable_sources()->begin(),
            firmware.mutable_sources()->end(),
            [](const auto& a, const auto& b) { return a.path() < b.path(); });
  return absl::OkStatus();
}

}  // namespace edgekiln::target
