#ifndef EK_TESTS_GOLDENS_RUN_FACTS_H_
#define EK_TESTS_GOLDENS_RUN_FACTS_H_

// What a compiled network and its simulation amount to, as text that does not
// depend on how messages are spelt: goldens made of it outlive a change of
// representation, and two builds can be compared with `diff`.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::tests {

// One aspect, one fact per line.
struct Aspect {
  std::string name;  // "code", "constants", "steps", "layers", "taps", ...
  std::string text;
};

struct RunFacts {
  std::string figures;  // Cycles and bytes in one line, for people.
  std::vector<Aspect> aspects;
};

// A network as it is handed to targets, and the values it is run with.
struct GoldenNetwork {
  compiler::Graph graph;
  std::vector<std::string> inputs;  // One dense value per graph input.
};

// Reads, simplifies and, if it computes in floats, quantizes the model with
// ranges of one seeded random sample; integer inputs and outputs. `model` holds
// the bytes of the file.
absl::StatusOr<GoldenNetwork> LoadGoldenNetwork(absl::string_view model);

// Compiles and runs, checked and for cycles alone. A refusal of the compiler is
// a fact like any other; an error of the simulator, or cycles that depend on
// how they are counted, is an error here.
absl::StatusOr<RunFacts> FactsOf(const GoldenNetwork& network,
                                 const v1::ResolvedTarget& target);

// Two lines: the figures, and a short digest of each aspect.
std::string Summary(const RunFacts& facts);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_GOLDENS_RUN_FACTS_H_
