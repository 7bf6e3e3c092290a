#ifndef EK_COMPILER_ENGINES_BACKEND_H_
#define EK_COMPILER_ENGINES_BACKEND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"
#include "google/protobuf/any.pb.h"

// The compiler's half of an engine model: what code generation asks for.
namespace edgekiln::compiler {

// Ops of a graph that one engine runs without the host between them.
struct Region {
  const Graph* graph = nullptr;
  std::vector<int32_t> ops;       // Indices into graph->ops, rising.
  std::vector<TensorId> storage;  // StorageOf(*graph).
  // Tensors, by storage, that somebody outside reads, of the whole graph.
  absl::flat_hash_set<TensorId> external;
};
Region RegionOf(const Graph& graph, std::vector<int32_t> ops);

// Where things lie in system memory.
struct RegionMemory {
  // By storage: every activation of the region but what its plan keeps in the
  // engine's own memory alone.
  const absl::flat_hash_map<TensorId, uint64_t>& tensors;
  int32_t ram = 0;  // The memory they are in, as an index of the machine.
  uint64_t constants = 0;  // Address of the region's first constant.
};

// What a region adds to a program.
struct RegionCode {
  std::string code;
  std::string constants;  // Flash content, from RegionMemory::constants on.
  // `stream` is left to the caller, `layout` is an index into `layouts`.
  std::vector<v1::Program::Tap> taps;
  std::vector<v1::Layout> layouts;
  std::vector<v1::Program::CommandRange> ranges;  // Without `stream`, too.
  struct LayerUse {
    int32_t op = 0;
    int64_t sram_bytes = 0;
    int32_t tiles = 0;
  };
  std::vector<LayerUse> layers;
  int64_t sram_peak_bytes = 0;
  int64_t cycles = 0;  // Predicted, of the engine's clock.
};

// Stateless and pure, hence thread-safe: equal arguments, equal bytes. Machines
// are valid (target::ValidateMachine), and `engine` is one of the model's in
// the machine.
class EngineBackend {
 public:
  virtual ~EngineBackend() = default;

  // Whether each of these ops of `graph`, which run on one engine, could be
  // computed in `scratchpad_bytes` if it had them for itself: necessary, not
  // sufficient, and quick. Ops whose quantization does not hold together are
  // skipped. RESOURCE_EXHAUSTED names the op that needs the most, and how much.
  virtual absl::Status CheckSmallest(const Graph& graph,
                                     const std::vector<int32_t>& ops,
                                     int64_t scratchpad_bytes) const = 0;

  // Bytes in flash that the engine adds to the weights of `op`.
  virtual int64_t BytesBesideWeights(const Graph& graph,
                                     const Op& op) const = 0;

  // Decides how the region is computed, for few cycles by the engine's own
  // timing; the caller sets `subgraph` and `engine`. `decisions` are what a
  // recipe has decided for the engine, empty if nothing. RESOURCE_EXHAUSTED
  // names the layer and the smallest sufficient memory.
  virtual absl::StatusOr<v1::TilingPlan::Subgraph> Plan(
      const Region& region, const v1::Machine& machine, int32_t engine,
      const google::protobuf::Any& decisions) const = 0;

  // INVALID_ARGUMENT if `plan` is not about this region on this machine.
  virtual absl::StatusOr<RegionCode> Emit(const Region& region,
                                          const v1::TilingPlan::Subgraph& plan,
                                          const v1::Machine& machine,
                                          const RegionMemory& memory) const = 0;

  // A stream as text. INVALID_ARGUMENT names the word that the engine's
  // instruction set does not have.
  virtual absl::StatusOr<std::string> Disassemble(
      const v1::Machine::Engine& engine, absl::string_view code) const = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_ENGINES_BACKEND_H_
