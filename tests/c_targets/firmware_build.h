#ifndef EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_
#define EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_

// Networks as firmware, without a daemon: what the stages emit_c and
// build_firmware make of them.

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::tests {

// Where Debian has the compiler of RV32 firmware.
inline constexpr char kRiscvGcc[] = "/usr/bin/riscv64-unknown-elf-gcc";

// Of a built-in target.
absl::StatusOr<v1::Machine> MachineOf(const std::string& target);

struct BuiltFirmware {
  v1::Program program;
  std::string elf;
};

// `graph` is verified; gcc for the machine's processor is there. `edit` may
// change the files before they are compiled.
absl::StatusOr<BuiltFirmware> BuildFirmware(
    const compiler::Graph& graph, const v1::Machine& machine,
    v1::CRecipe::Kernels kernels,
    const std::function<void(v1::CSourceTree&)>& edit = nullptr);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_
