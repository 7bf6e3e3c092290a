#ifndef EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_
#define EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_

// Networks as firmware, without a daemon: what the stages emit_c and
// build_firmware make of them.

#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
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

// `graph` is verified; `machine` is of a RISC-V target.
absl::StatusOr<BuiltFirmware> BuildFirmware(const compiler::Graph& graph,
                                            const v1::Machine& machine,
                                            v1::CRecipe::Kernels kernels);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_
