#ifndef EK_COMPILER_PASSES_ACCUMULATOR_GRAPH_H_
#define EK_COMPILER_PASSES_ACCUMULATOR_GRAPH_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"

namespace edgekiln::compiler {

// The reference of a program with accumulators: the quantized graph that it was
// compiled from, with each accumulator of the program as an additional tensor.
// Accumulators are computed by the quantized graph's own ops, not by what the
// compiler rewrote them to.
class AccumulatorGraph {
 public:
  using Accumulators =
      google::protobuf::RepeatedPtrField<v1::Program::Accumulator>;

  // Empty: no tensors.
  AccumulatorGraph() = default;

  // INVALID_ARGUMENT for a result that no op of the graph gives, or whose op
  // has no accumulator. `graph` has been verified.
  static absl::StatusOr<AccumulatorGraph> Create(
      const Graph& graph, const Accumulators& accumulators);

  // All tensors of the quantized graph keep their ids, and their values.
  const Graph& graph() const { return graph_; }

  // The tensor of graph() that a tap calls `tensor`; kNoTensor if there is
  // none.
  TensorId Find(int32_t tensor) const;

 private:
  Graph graph_;
  int32_t tensors_ = 0;  // Of the quantized graph.
  absl::flat_hash_map<int32_t, TensorId> accumulators_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_ACCUMULATOR_GRAPH_H_
