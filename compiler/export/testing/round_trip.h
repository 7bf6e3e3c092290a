#ifndef EK_COMPILER_EXPORT_TESTING_ROUND_TRIP_H_
#define EK_COMPILER_EXPORT_TESTING_ROUND_TRIP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// The export of the graph, imported and simplified.
absl::StatusOr<Graph> ExportedAndImported(const Graph& graph);

// What the second graph has other than the first, a line each: layers with a
// quantized result, by id, and of each the kind and attributes, the element
// type, shape and quantization of operands and results, and the bytes of
// constants. Roundings, clamps that change no integer, one scale stated once or
// per channel, and leading extents of 1 of constants are no difference. Ids are
// compared as far as the importer keeps the names of nodes.

std::vector<std::string> IntegerDifferences(const Graph& before,
                                            const Graph& after);

// `after` with the roundings that layers of the same id have in `before`.
Graph WithRoundingsOf(const Graph& before, Graph after);

// Bytes of the outputs, one after the other, for one sample.
absl::StatusOr<std::string> OutputsOf(const Graph& graph,
                                      const std::vector<std::string>& inputs);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_EXPORT_TESTING_ROUND_TRIP_H_
