#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "compiler/frontend/tflite/tflite_import.h"

// Whatever imports is a valid graph.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto graph = edgekiln::compiler::ImportTflite(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (graph.ok() && !edgekiln::compiler::VerifyGraph(*graph).ok()) abort();
  return 0;
}
