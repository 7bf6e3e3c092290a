#ifndef EK_COMPILER_PASSES_OP_HALVES_H_
#define EK_COMPILER_PASSES_OP_HALVES_H_

#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"

// Ops that become two, one behind the other, and the way back.
namespace edgekiln::compiler {

struct OpHalves {
  v1::OpAttributes first;
  Tensor between;  // Without a name.
  v1::OpAttributes second;
};

// What is added to the names of an op and its result.
struct HalfNames {
  absl::string_view between;
  absl::string_view second;
};

// Splits each op with halves, which are by op. All tensors keep their ids,
// those between halves are appended in the order of the ops; each second half
// stands right behind the first, and makes the op's result.
void SplitIntoHalves(Graph& graph, std::vector<std::optional<OpHalves>> halves,
                     const HalfNames& names);

// The inverse, for neighbours for which `joined` gives the op that they were.
// The tensors between them must be the graph's last ones, in the order of the
// ops, read by nothing else and no outputs. They are removed; all other tensors
// keep their ids. Returns for each remaining op whether it was joined.
std::vector<bool> JoinHalves(
    Graph& graph,
    absl::FunctionRef<std::optional<Op>(const Op& first, const Op& second)>
        joined);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_OP_HALVES_H_
