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

// The program of that compiler, or the one beside it, that this machine does
// not have; empty if all are there.
std::string MissingCompiler(v1::Processor processor, v1::CompilerFamily family);

// Of a built-in target.
absl::StatusOr<v1::Machine> MachineOf(const std::string& target);

struct BuiltFirmware {
  v1::Program program;
  std::string elf;
};

// `graph` is verified; the compiler for the machine's processor is there.
// `edit` may change the files before they are compiled.
absl::StatusOr<BuiltFirmware> BuildFirmware(
    const compiler::Graph& graph, const v1::Machine& machine,
    v1::CRecipe::Kernels kernels,
    const std::function<void(v1::CSourceTree&)>& edit = nullptr,
    v1::CompilerFamily family = v1::GCC);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_C_TARGETS_FIRMWARE_BUILD_H_
