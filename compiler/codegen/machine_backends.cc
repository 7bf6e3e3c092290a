#include "compiler/codegen/machine_backends.h"

#include "base/status_macros.h"
#include "compiler/codegen/backends.h"

namespace edgekiln::compiler {

absl::StatusOr<const EngineBackend*> MachineBackends::Find(int32_t engine) {
  EK_ASSIGN_OR_RETURN(const EngineBackend* const common,
                      FindBackend(machine_, engine));
  const auto [own, is_new] =
      own_.try_emplace(machine_.engines(engine).model(), nullptr);
  if (is_new) own->second = common->OnMachine(machine_);
  return own->second != nullptr ? own->second.get() : common;
}

}  // namespace edgekiln::compiler
