#ifndef EK_COMPILER_CODEGEN_MEMORY_MAP_H_
#define EK_COMPILER_CODEGEN_MEMORY_MAP_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"
#include "compiler/planning/offset_allocator.h"
#include "edgekiln/v1/target.pb.h"

// Address assignment in system memory.
namespace edgekiln::compiler {

// The two kinds of system memory of a machine, as indices into its memories.
struct SystemMemories {
  // Of constants and command streams: a read-only one, else the first of `rams`
  // that holds CONSTANTS.
  int32_t flash = -1;
  std::vector<int32_t> rams;  // One at least; rising.
};
// INVALID_ARGUMENT if the machine lacks one.
absl::StatusOr<SystemMemories> SystemMemoriesOf(const v1::Machine& machine);

// The one of `memories` that contains `address`; -1 if none does. Memories that
// the host reaches share one address space.
int32_t MemoryAt(const v1::Machine& machine,
                 const std::vector<int32_t>& memories, uint64_t address);

// Several memories as one, for error messages: names joined, capacities added
// up.
v1::ResolvedMemory Together(const v1::Machine& machine,
                            const std::vector<int32_t>& memories);

// RESOURCE_EXHAUSTED: "the model's `what` do not fit" `memory`. `need` is in
// words; `largest` names what takes the most (Largest()).
absl::Status MemoryTooSmall(const v1::ResolvedMemory& memory,
                            absl::string_view what, absl::string_view need,
                            absl::string_view largest);

// "largest: 'a' (9 bytes), 'b' (7 bytes)", of at most three tensors.
std::string Largest(const Graph& graph, std::vector<TensorId> tensors);

// Tensors, by storage, that lie in RAM whatever engines keep in memories of
// their own: graph inputs and outputs, and all that ops on the host read and
// make.
std::vector<bool> TensorsOfHost(const Graph& graph,
                                const std::vector<TensorId>& storage,
                                const std::vector<bool>& on_host);

// When ops run, in instants from 0 up to, not including, `end`.
struct OpTimes {
  // First and last instant; of ops that never run, the last before the first.
  std::vector<std::pair<int64_t, int64_t>> of_op;
  int64_t end = 0;
};
// One op after another: instants are their indices.
OpTimes InOrder(int64_t ops);

// The lives of the tensors of `in_ram` (by storage). A tensor lives from the
// begin of the op that produces it (graph inputs: -1) to the end of its last
// reader (graph outputs: times.end).
struct TensorLives {
  std::vector<TensorId> tensors;  // Ascending, by storage.
  std::vector<BufferLife> lives;  // One per tensor.
};
// Those of `bytes` take so many, not those of their elements.
using BytesOfTensor = absl::flat_hash_map<TensorId, int64_t>;  // By storage.
TensorLives LivesOf(const Graph& graph, const std::vector<TensorId>& storage,
                    const std::vector<bool>& in_ram, const OpTimes& times,
                    const BytesOfTensor& bytes = {});

// Bytes alive at the instants -1 to `end`; the first entry is that of -1.
// Saturates.
std::vector<int64_t> AliveBytes(const TensorLives& all, int64_t end);
// The tensors alive at `instant`.
std::vector<TensorId> AliveAt(const TensorLives& all, int64_t instant);

int64_t BytesOf(const Tensor& tensor);

// Tensors by storage that live in RAM.
struct RamPlan {
  absl::flat_hash_map<TensorId, uint64_t> address;  // In the host's space.
  std::vector<int64_t> bytes;  // By memory of the machine: the peak.
};
using RamOfTensor = absl::flat_hash_map<TensorId, int32_t>;  // By storage.

// Places the tensors of `in_ram` (by storage) for their lives, in the first of
// `rams` if that holds all. Else the largest come first, each in the first
// memory with room for it. With `ram_of`, each tensor goes to the memory named
// there, or to the first if it is not named. The last `kept_bytes` of the first
// memory stay free. RESOURCE_EXHAUSTED names the bytes needed, those kept
// included.
absl::StatusOr<RamPlan> PlanRam(
    const Graph& graph, const std::vector<TensorId>& storage,
    const std::vector<bool>& in_ram, const OpTimes& times,
    const v1::Machine& machine, const std::vector<int32_t>& rams,
    const RamOfTensor* ram_of = nullptr, const BytesOfTensor& bytes = {},
    int64_t kept_bytes = 0);

// Content of flash while it grows.
class FlashImage {
 public:
  explicit FlashImage(const v1::ResolvedMemory& flash) : flash_(flash) {}
  // It begins behind so many bytes of the memory, which others have. Before
  // anything else.
  void StartAt(int64_t offset) { begin_ = offset; }
  int64_t begin() const { return begin_; }
  // Address the next Append gets, once aligned.
  uint64_t Align(int64_t alignment_bytes);
  uint64_t Append(absl::string_view bytes);
  // The same for bytes that it may keep as they are.
  uint64_t Adopt(std::string bytes);
  const std::string& bytes() const { return bytes_; }
  // All of it; nothing is left.
  std::string Take() { return std::move(bytes_); }
  // RESOURCE_EXHAUSTED if it outgrew the memory, together with `code_bytes` of
  // command streams; names constants of `graph`.
  absl::Status Check(const Graph& graph, int64_t code_bytes) const;

 private:
  const v1::ResolvedMemory& flash_;
  int64_t begin_ = 0;
  std::string bytes_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_MEMORY_MAP_H_
