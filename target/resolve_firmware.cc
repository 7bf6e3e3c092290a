#include "target/resolve_firmware.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
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

}  // namespace edgekiln::target
