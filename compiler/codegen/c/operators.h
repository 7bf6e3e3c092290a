#ifndef EK_COMPILER_CODEGEN_C_OPERATORS_H_
#define EK_COMPILER_CODEGEN_C_OPERATORS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/ir/graph.h"

// Ops of a chip's host as C: one function each, of tensors that lie where the
// chip's program has them. The kernels are those of EmitC().
//
// Thread-safe: a pure function.
namespace edgekiln::compiler {

// Where a tensor lies: dense, aligned to its elements.
struct CPlace {
  int32_t memory = 0;  // As the chip's driver numbers them.
  uint64_t address = 0;
};

struct COperators {
  struct Operator {
    std::string function;   // "": there is nothing to do.
    bool can_fail = false;  // It returns an int, not 0 for bad indices.
  };
  std::vector<Operator> operators;  // One per op of the graph.
  // Definitions of the functions and of what they use. They reach tensors by
  // `void *edgekiln_at(int32_t memory, uint64_t address)`.
  std::string text;
  int64_t constant_bytes = 0;  // Of constants that the code has in addition.
  int64_t scratch_bytes = 0;   // Of static memory.
};

// `graph` is verified; ops do not share tensors, and each tensor, constants
// too, has a place. Names begin with `prefix`. `recipe` is kDefault, kSize or
// kPlain. Kernels are chosen for x86-64. Errors as of EmitC().
absl::StatusOr<COperators> EmitCOperators(
    const Graph& graph, const std::map<TensorId, CPlace>& places,
    const std::string& prefix, CRecipe recipe);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_OPERATORS_H_
