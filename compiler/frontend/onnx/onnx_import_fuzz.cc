// Any bytes: an error or a graph that verifies, and that simplification keeps
// valid.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/passes/pipeline.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto graph = edgekiln::compiler::ImportOnnx(bytes);
  if (graph.ok() && !edgekiln::compiler::Simplify(*graph).ok()) std::abort();
  return 0;
}
