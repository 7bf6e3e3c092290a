#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "compiler/ir/text.h"

// What parses prints, and what was printed parses to the same text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using edgekiln::compiler::ParseGraph;
  using edgekiln::compiler::PrintGraph;
  const auto graph =
      ParseGraph(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph.ok()) return 0;
  const std::string printed = PrintGraph(*graph);
  const auto again = ParseGraph(printed);
  if (!again.ok() || PrintGraph(*again) != printed) abort();
  return 0;
}
