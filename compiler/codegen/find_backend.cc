#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "compiler/codegen/backends.h"

namespace edgekiln::compiler {

absl::StatusOr<const EngineBackend*> FindBackend(const v1::Machine& machine,
                                                 int32_t engine) {
  if (engine < 0 || engine >= machine.engines_size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the machine has no engine ", engine));
  }
  const v1::Machine::Engine& found = machine.engines(engine);
  if (const EngineBackend* const backend = BackendOf(found.model())) {
    return backend;
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "engine ", found.name(), ": nothing compiles for its model"));
}

}  // namespace edgekiln::compiler
