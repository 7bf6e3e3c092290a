#ifndef EK_COMPILER_PASSES_ACCUMULATOR_GRAPH_H_
#define EK_COMPILER_PASSES_ACCUMULATOR_GRAPH_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// A tensor that a program has and the quantized graph has not: what the first
// half of an op gives.
struct Intermediate {
  int32_t tensor = 0;  // As taps name it.
  int32_t result = 0;  // The quantized graph's tensor that is made of it.
  // The op's int32 sums (split_requantization.h); else its result with plain
  // limits (split_clamp.h).
  bool sums = true;
};

// Those of program.accumulators. Taps tell which are sums: by the elements of
// their layouts.
std::vector<Intermediate> IntermediatesOf(const v1::Program& program);

// The reference of a program with intermediates: the quantized graph that it
// was compiled from, with each of them as an additional tensor. They are
// computed by the quantized graph's own ops, not by what the compiler rewrote
// them to.
class AccumulatorGraph {
 public:
  // Empty: no tensors.
  AccumulatorGraph() = default;

  // INVALID_ARGUMENT for a result that no op of the graph gives, or whose op
  // has no such half. `graph` has been verified.
  static absl::StatusOr<AccumulatorGraph> Create(
      const Graph& graph, absl::Span<const Intermediate> intermediates);

  // All tensors of the quantized graph keep their ids, and their values.
  const Graph& graph() const { return graph_; }

  // The tensor of graph() that a tap calls `tensor`; kNoTensor if there is
  // none.
  TensorId Find(int32_t tensor) const;

 private:
  Graph graph_;
  int32_t tensors_ = 0;  // Of the quantized graph.
  absl::flat_hash_map<int32_t, TensorId> intermediates_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_ACCUMULATOR_GRAPH_H_
