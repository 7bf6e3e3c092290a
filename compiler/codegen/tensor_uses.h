#ifndef EK_COMPILER_CODEGEN_TENSOR_USES_H_
#define EK_COMPILER_CODEGEN_TENSOR_USES_H_

// Where tensors lie and when, for the report.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "compiler/codegen/memory_map.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Memory and address of tensors that stay in memory that engines share.
using ResidentPlaces = std::map<TensorId, std::pair<int32_t, uint64_t>>;

// Where tensors lie, by storage.
struct TensorPlaces {
  SystemMemories memories;
  const absl::flat_hash_map<TensorId, uint64_t>& ram;
  const std::map<TensorId, uint64_t>& flash;
  const ResidentPlaces& resident;
};

// `storage`: by tensor, whose bytes it shares. Fills program->tensors: tensors
// that have a place, and those that stay in the scratchpad of an engine with
// streams, which their taps show. Constants that an engine reads in a form of
// its own are left out.
void AddTensorUses(const Graph& graph, const std::vector<TensorId>& storage,
                   const v1::Machine& machine, const TensorPlaces& places,
                   v1::Program* program);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_TENSOR_USES_H_
