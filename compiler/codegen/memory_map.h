#ifndef EK_COMPILER_CODEGEN_MEMORY_MAP_H_
#define EK_COMPILER_CODEGEN_MEMORY_MAP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

// Who lies where in system memory.
namespace edgekiln::compiler {

// The two kinds of system memory of a machine, as indices into its memories.
struct SystemMemories {
  int32_t flash = -1;
  int32_t ram = -1;
};
// INVALID_ARGUMENT if the machine lacks one.
absl::StatusOr<SystemMemories> SystemMemoriesOf(const v1::Machine& machine);

// Tensors by storage that live in RAM, with the ops between which they do.
struct RamPlan {
  absl::flat_hash_map<TensorId, uint64_t> address;  // In the memory's space.
  int64_t bytes = 0;
};

// Places the tensors of `in_ram` (by storage). A tensor lives from the op that
// produces it (graph inputs: from the start) to its last reader (graph outputs:
// to the end). RESOURCE_EXHAUSTED names the need.
absl::StatusOr<RamPlan> PlanRam(const Graph& graph,
                                const std::vector<TensorId>& storage,
                                const std::vector<bool>& in_ram,
                                const v1::ResolvedMemory& ram);

// Content of flash while it grows.
class FlashImage {
 public:
  explicit FlashImage(const v1::ResolvedMemory& flash) : flash_(flash) {}
  // Address the next Append gets, once aligned.
  uint64_t Align(int64_t alignment_bytes);
  uint64_t Append(absl::string_view bytes);
  const std::string& bytes() const { return bytes_; }
  // RESOURCE_EXHAUSTED if it outgrew the memory.
  absl::Status Check() const;

 private:
  const v1::ResolvedMemory& flash_;
  std::string bytes_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_MEMORY_MAP_H_
