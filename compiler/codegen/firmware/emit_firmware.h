#ifndef EK_COMPILER_CODEGEN_FIRMWARE_EMIT_FIRMWARE_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_EMIT_FIRMWARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

struct FirmwareSources {
  // All but firmware.elf and its sections, which only a compiler knows.
  v1::Program program;
  // The network and what makes a firmware of it; docs/c_code.md has the list.
  v1::CSourceTree sources;
  // Estimated, by memory of the machine.
  std::vector<int64_t> memory_bytes;
  // What memory that is too small costs.
  std::vector<std::string> warnings;
  int64_t io_conversion_cycles = 0;  // Of io_estimate.h, in cycles.
};

// The whole of `graph`, which is verified, as C for `machine`, which has
// firmware. `refused_flash_bytes`: the estimates of programs of the same
// arguments that a compiler found too large; with each, code is assumed to be a
// twenty-fifth larger than estimated, and the next program's estimate is below
// all of them. Errors as of EmitC(); FAILED_PRECONDITION if the machine has no
// memory for code, constants or activations.
absl::StatusOr<FirmwareSources> EmitFirmware(
    const Graph& graph, const v1::Machine& machine, const v1::CRecipe& recipe,
    absl::Span<const int64_t> refused_flash_bytes = {});

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_EMIT_FIRMWARE_H_
