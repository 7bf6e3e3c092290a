#ifndef EK_COMPILER_CODEGEN_C_TESTING_COMPILED_NETWORKS_H_
#define EK_COMPILER_CODEGEN_C_TESTING_COMPILED_NETWORKS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/ir/graph.h"

// Generated C, compiled by the host's gcc and compared with the interpreter.
namespace edgekiln::compiler {

// One graph, its C, and what it is given: per invocation a value for every
// input that is not a state.
struct CNetwork {
  Graph graph;
  CSources sources;
  std::vector<std::vector<std::string>> invocations;
};

struct CCompiler {
  std::string command = "gcc";
  std::string flags = "-O1";
  int networks_per_unit = 50;
};

// Compiles all networks into one program (std=c99 -pedantic, all warnings are
// errors), runs it, and compares every output of every layer in every
// invocation with the interpreter's: same bits, but one NaN for another; where
// and in which order the manifest has them. The names of the networks differ.
// INTERNAL with what differs, or what the compiler says.
absl::Status CompareWithInterpreter(const std::vector<CNetwork>& networks,
                                    const CCompiler& compiler);

// Random values for every input that is not a state: see op_cases.h for the
// names that limit them.
std::vector<std::string> RandomInputs(const Graph& graph, uint64_t seed);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_TESTING_COMPILED_NETWORKS_H_
