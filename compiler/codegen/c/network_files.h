#ifndef EK_COMPILER_CODEGEN_C_NETWORK_FILES_H_
#define EK_COMPILER_CODEGEN_C_NETWORK_FILES_H_

#include <string>
#include <vector>

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
};

// The header and the source of a network. Adds ports to `manifest`. `walks`: it
// is invoked by a walk over a table of its layers.
std::vector<CFile> NetworkFiles(NetworkWriter& writer,
                                const std::vector<LayerText>& layers,
                                const ArenaPlan& plan, bool walks,
                                CManifest& manifest);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_NETWORK_FILES_H_
