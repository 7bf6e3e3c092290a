#include "compiler/codegen/firmware/emit_firmware.h"

namespace edgekiln::compiler {

absl::StatusOr<FirmwareSources> EmitFirmware(const Graph& graph,
                                             const v1::Machine& machine,
                                             const v1::CRecipe& recipe) {
  (void)graph, (void)machine, (void)recipe;
  return absl::UnimplementedError("");
}

}  // namespace edgekiln::compiler
