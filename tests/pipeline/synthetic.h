#ifndef EK_TESTS_PIPELINE_SYNTHETIC_H_
#define EK_TESTS_PIPELINE_SYNTHETIC_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

// Networks without their data sets: one seeded random sample stands for it.
// Values mean nothing then, shapes and costs everything.
namespace edgekiln::tests {

// One dense value for each input of the graph.
absl::StatusOr<std::vector<std::string>> SyntheticInputs(
    const compiler::Graph& graph);

// A graph of floats, quantized with the ranges of that sample, for a target
// with these needs.
absl::StatusOr<compiler::Graph> QuantizedBySample(
    const compiler::Graph& graph,
    const v1::QuantizationNeeds& needs =
        v1::QuantizationNeeds::default_instance());

}  // namespace edgekiln::tests

#endif  // EK_TESTS_PIPELINE_SYNTHETIC_H_
