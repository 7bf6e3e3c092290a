#ifndef EK_COMPILER_CODEGEN_MACHINE_BACKENDS_H_
#define EK_COMPILER_CODEGEN_MACHINE_BACKENDS_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/engines/backend.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// The back ends of one machine's engines, for many calls about it: they read
// it once where they can (EngineBackend::OnMachine()). Not thread-safe. The
// machine must outlive it and stay as it is.
class MachineBackends {
 public:
  explicit MachineBackends(const v1::Machine& machine) : machine_(machine) {}

  // As FindBackend(). It lives as long as this object.
  absl::StatusOr<const EngineBackend*> Find(int32_t engine);

 private:
  const v1::Machine& machine_;
  // By model; null where the common one serves.
  absl::flat_hash_map<int, std::unique_ptr<const EngineBackend>> own_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_MACHINE_BACKENDS_H_
