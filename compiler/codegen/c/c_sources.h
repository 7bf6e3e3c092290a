#ifndef EK_COMPILER_CODEGEN_C_C_SOURCES_H_
#define EK_COMPILER_CODEGEN_C_C_SOURCES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/firmware.pb.h"

// From a graph to C99 that computes the same, to the bit: no libc, no heap, no
// recursion, one function per layer. docs/c_code.md describes the code.
//
// Thread-safe: a pure function.
namespace edgekiln::compiler {

class KernelLibrary;

// Which kernels layers get.
enum class CRecipe {
  kDefault,  // The cheapest in instructions that fit.
  kSize,     // The least flash: kernels that layers share, where that pays.
  kPlain,    // Plain loops over NHWC.
  kTable,    // As an interpreter: kernels for any shape, called by a table.
  kUma,      // Plain loops over NCHW.
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
  // By how many hundredths code may be larger than estimated; only where a
  // limit decides.
  int64_t code_allowance_percent = 0;
  // What costs are estimated for.
  v1::Processor processor = v1::RV32IMC;
  // Null: KernelLibrary::Builtin(). Must outlive the call.
  const KernelLibrary* kernels = nullptr;
};

struct CFile {
  std::string path;  // Relative, one component.
  std::string text;
};

// A call of a function that is not in the files.
struct CExternalCall {
  std::string function;  // C symbol.
  std::string header;    // That declares it.
};

// One layer, in the order of Graph::ops.
struct CLayer {
  std::string id;        // Of the op.
  std::string function;  // C symbol; "" if there is nothing to do.
  std::string kernel;    // Name in the kernel table.
  int64_t predicted_instructions = 0;
  int64_t code_bytes = 0;      // Estimated.
  int64_t constant_bytes = 0;  // Of arrays that no layer before it reads.
  std::vector<CExternalCall> external_calls = {};
};

// A graph input or output, in the order of the graph.
struct CPort {
  std::string macro;  // Pointer to its first element.
  int64_t size_bytes = 0;
  bool is_state = false;  // Kept by the code, not given by the caller.
  int64_t offset = 0;     // In the arena; dense and row-major.
};

// Where the values of a tensor are.
struct CTensor {
  TensorId id = 0;
  // Index of the layer that computes them: they are there when its function
  // returns, later ones may use the memory. Of a reshape that needs no code,
  // the layer before it. -1: they are there before the first layer.
  int32_t layer = -1;
  int64_t offset = 0;  // In the arena.
  int64_t size_bytes = 0;
  // Of each axis, in elements. Row-major but for kUma.
  std::vector<int64_t> strides;
};

// A layer that has a slower kernel than the fastest, because a limit decides.
struct CGivenUp {
  size_t layer = 0;          // Of CManifest::layers.
  std::string fastest;       // The kernel that it would have.
  int64_t instructions = 0;  // That it takes more, predicted.
};

// Call graphs that compilers write do not have these.
struct CPointerCall {
  std::string caller;  // C symbols.
  std::string callee;
};

struct CManifest {
  std::string name;  // The prefix.
  std::vector<CLayer> layers;
  std::vector<CPort> inputs;
  std::vector<CPort> outputs;
  // By rising id: all that have elements and are not constants.
  std::vector<CTensor> tensors;
  std::vector<CPointerCall> pointer_calls;  // All that there are.
  int64_t arena_bytes = 0;
  int64_t state_bytes = 0;     // Of the arena.
  int64_t constant_bytes = 0;  // Weights, tables, factors.
  int64_t code_bytes = 0;      // Estimated.
  std::vector<CGivenUp> given_up;
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
