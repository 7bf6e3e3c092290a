#ifndef EK_SERVER_WORKER_STAGES_GRAPH_INPUT_H_
#define EK_SERVER_WORKER_STAGES_GRAPH_INPUT_H_

// Graphs on their way between stages.

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/interpreter.h"
#include "edgekiln/v1/graph.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {

// Reads and verifies the input "graph". Only stages write graphs, so that a bad
// one is a bug of ours: INTERNAL. Never null.
absl::StatusOr<std::shared_ptr<const compiler::Graph>> GraphInput(
    const StageInputs& inputs);

// The same of what was read. INTERNAL for a bad graph.
absl::StatusOr<compiler::Graph> GraphOf(const v1::Graph& stored);

// An interpreter of `graph`, which is the input "graph" or derived from it;
// `form` tells different derivations apart in the cache.
absl::StatusOr<std::shared_ptr<compiler::Interpreter>> ReferenceOf(
    const StageInputs& inputs, const compiler::Graph& graph,
    compiler::InterpreterOptions::Keep keep, absl::string_view form = "");

// The stored forms of tensors' types.
std::vector<v1::TensorType> TypesOf(
    const compiler::Graph& graph,
    const std::vector<compiler::TensorId>& tensors);

// Whether the model came with integer activations: some activation is
// quantized, its multiplications read integers, or it has no floats at all.
bool IsQuantized(const compiler::Graph& graph);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_GRAPH_INPUT_H_
