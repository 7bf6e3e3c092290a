#ifndef EK_COMPILER_CODEGEN_C_C_SOURCES_H_
#define EK_COMPILER_CODEGEN_C_C_SOURCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

// From a graph to C99 that computes the same, to the bit: no libc, no heap, no
// recursion, one function per layer. docs/c_code.md describes the code.
//
// Thread-safe: a pure function.
namespace edgekiln::compiler {

// Which kernels layers get.
enum class CRecipe {
  kDefault,  // The cheapest in instructions that fit.
  kSize,     // The smallest code: kernels that layers share.
  kPlain,    // Plain loops over NHWC.
};

struct COptions {
  // Prefix of all C names and stem of the files; sanitised. Empty: from the
  // name of the graph.
  std::string name = {};
  CRecipe recipe = CRecipe::kDefault;
  // What constants may take in all. C text is about five times as large.
  int64_t max_constant_bytes = int64_t{64} << 20;
  // Limit of constants and estimated code; 0: none. Where the fastest kernels
  // do not fit, smaller ones are taken.
  int64_t flash_limit_bytes = 0;
  // Limit of the arena and the states; 0: none.
  int64_t ram_limit_bytes = 0;
};

struct CFile {
  std::string path;  // Relative, one component.
  std::string text;
};

// One layer, in the order of Graph::ops.
struct CLayer {
  std::string id;        // Of the op.
  std::string function;  // C symbol.
  std::string kernel;    // Name in the kernel table.
  int64_t predicted_instructions = 0;
  int64_t code_bytes = 0;  // Estimated.
};

// A graph input or output, in the order of the graph.
struct CPort {
  std::string macro;  // Pointer to its first element.
  int64_t size_bytes = 0;
  bool is_state = false;  // Kept by the code, not given by the caller.
};

struct CManifest {
  std::string name;  // The prefix.
  std::vector<CLayer> layers;
  std::vector<CPort> inputs;
  std::vector<CPort> outputs;
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;     // Beside the arena.
  int64_t constant_bytes = 0;  // Weights, tables, factors.
  int64_t code_bytes = 0;      // Estimated.
};

struct CSources {
  std::vector<CFile> files;  // The header first.
  CManifest manifest;
};

// `graph` is verified. RESOURCE_EXHAUSTED where a limit does not suffice,
// naming the layer or tensor and what would; UNIMPLEMENTED for an op without C,
// naming it.
absl::StatusOr<CSources> EmitC(const Graph& graph, const COptions& options);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_C_SOURCES_H_
