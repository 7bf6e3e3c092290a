#ifndef EK_TESTS_BENCH_ONEDNN_H_
#define EK_TESTS_BENCH_ONEDNN_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "compiler/ir/graph.h"

namespace edgekiln::bench {

// The multiplications of a quantized graph (convolutions, depthwise
// convolutions, fully connected layers) one after the other with oneDNN: u8
// activations, s8 weights per channel, s32 bias, u8 results, in the layouts it
// likes best, on one thread. Everything between them is left out.
class OneDnnLayers {
 public:
  virtual ~OneDnnLayers() = default;
  virtual absl::Status Run() = 0;
};

// UNIMPLEMENTED where this program was built without oneDNN.
absl::StatusOr<std::unique_ptr<OneDnnLayers>> NewOneDnnLayers(
    const compiler::Graph& graph);

// "oneDNN 2.6.3"; empty without it.
std::string OneDnnVersion();

}  // namespace edgekiln::bench

#endif  // EK_TESTS_BENCH_ONEDNN_H_
