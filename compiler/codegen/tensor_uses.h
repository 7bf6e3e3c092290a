#ifndef EK_COMPILER_CODEGEN_TENSOR_USES_H_
#define EK_COMPILER_CODEGEN_TENSOR_USES_H_

// Where tensors lie and when, for the report.

#include <cstdint>
#include <map>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Where tensors lie in system memory, by storage.
struct TensorPlaces {
  SystemMemories memories;
  const absl::flat_hash_map<TensorId, uint64_t>& ram;
  const std::map<TensorId, uint64_t>& flash;
};

// Fills program->tensors: tensors of system memory, and those that stay in a
// scratchpad, which the program's taps show. Constants that an engine reads in
// a form of its own are no tensors any more.
void AddTensorUses(const Graph& graph, const std::vector<TensorId>& storage,
                   const v1::Machine& machine, const TensorPlaces& places,
                   v1::Program* program);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_TENSOR_USES_H_
