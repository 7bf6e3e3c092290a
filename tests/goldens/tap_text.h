#ifndef EK_TESTS_GOLDENS_TAP_TEXT_H_
#define EK_TESTS_GOLDENS_TAP_TEXT_H_

#include <string>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::tests {

// When a tap shows what, and where each element of it lies: a line with the
// digest of the list of runs, each "so many elements from this one (its index
// in the dense tensor) on, one behind the other from this address on".
absl::StatusOr<std::string> TapText(const compiler::Graph& graph,
                                    const v1::Program& program,
                                    const v1::Program::Tap& tap);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_GOLDENS_TAP_TEXT_H_
