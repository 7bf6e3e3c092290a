#ifndef EK_COMPILER_CODEGEN_C_NETWORK_FILES_H_
#define EK_COMPILER_CODEGEN_C_NETWORK_FILES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/codegen/c/arena.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/codegen/c/network_writer.h"

namespace edgekiln::compiler {

// One layer as C, before it has a place in a file.
struct LayerText {
  CLayer layer;
  std::vector<TensorId> outputs;
  std::string body;  // Blocks; empty where nothing is to be done.
  bool can_fail = false;
  std::vector<std::string> called;  // Functions that it calls by pointers.
};

// The header and the source of a network. Adds ports to `manifest`. `walks`: it
// is invoked by a walk over a table of its layers.
std::vector<CFile> NetworkFiles(NetworkWriter& writer,
                                const std::vector<LayerText>& layers,
                                const ArenaPlan& plan, bool walks,
                                CManifest& manifest);

// Definitions of PREFIX_LAYER, how a layer's function is declared, and of
// PREFIX_at(), the memory at an offset of PREFIX_arena.
std::string LayerAttribute(absl::string_view prefix);
std::string AddressFunction(absl::string_view prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_NETWORK_FILES_H_
