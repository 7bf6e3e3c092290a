#include "tests/bench/onednn.h"

namespace edgekiln::bench {

absl::StatusOr<std::unique_ptr<OneDnnLayers>> NewOneDnnLayers(
    const compiler::Graph&) {
  return absl::UnimplementedError("built without oneDNN (libdnnl-dev)");
}

std::string OneDnnVersion() { return ""; }

}  // namespace edgekiln::bench
