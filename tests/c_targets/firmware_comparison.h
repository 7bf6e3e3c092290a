#ifndef EK_TESTS_C_TARGETS_FIRMWARE_COMPARISON_H_
#define EK_TESTS_C_TARGETS_FIRMWARE_COMPARISON_H_

#include <string>

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::tests {

// Builds the network for a built-in RISC-V target and runs two samples on the
// simulated core, the first with every check, and on the interpreter: every
// output of every layer must be the same bits, but one NaN for another, and the
// stack must have a bound.
// INTERNAL with what differs.
absl::Status CompareFirmware(const compiler::Graph& graph,
                             const std::string& target,
                             v1::CRecipe::Kernels kernels,
                             v1::CompilerFamily family = v1::GCC);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_C_TARGETS_FIRMWARE_COMPARISON_H_
