#ifndef EK_COMPILER_ENGINES_DLA_SRAM_BUFFERS_H_
#define EK_COMPILER_ENGINES_DLA_SRAM_BUFFERS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "compiler/engines/dla/compute_command.h"
#include "compiler/engines/dla/layer.h"
#include "compiler/engines/dla/schedule.h"
#include "compiler/engines/dla/tiles.h"

namespace edgekiln::compiler::dla {

// A tensor's slice in SRAM, and the bytes that a command touches there.
struct Located {
  Placement place;
  BufferAccess access;
};

// The buffers of a schedule while it is written: resident tensors, and the
// slots that operands of a layer take turns in. Each is added to
// schedule.buffers when it is first asked for. The arguments must outlive it.
class SramBuffers {
 public:
  SramBuffers(const SubgraphPlan& plan, const std::vector<TensorId>& storage,
              const Tiles& made, Schedule& schedule);

  bool IsResident(TensorId tensor) const {
    return plan_.resident.contains(storage_[tensor]);
  }
  bool IsPassedOn(TensorId tensor) const {
    return made_.passed_on.contains(storage_[tensor]);
  }
  // The buffer that a load fills. -1: it has not been claimed.
  int32_t OfLoad(int32_t load) const { return load_buffers_[load]; }
  int32_t ClaimForLoad(int32_t load);
  // Bytes that claiming it adds: none if its slot is in use already.
  int64_t NewBytes(int32_t load) const;

  // Of a tensor that is resident or passed on, once something is written to it.
  int32_t OfWhole(TensorId tensor) const {
    return residents_.at(storage_[tensor]);
  }

  // What a step reads of one input; `load` is the step's for it, or -1.
  Located Input(const Step& step, TensorId tensor, int32_t load,
                const Slice& slice) const;
  // What a step writes: its tile of the output, or its int32 sums.
  Located Output(const Step& step);
  Located Sums(const Step& step, int32_t slot);

 private:
  // Of a part's slots, after those of Operand.
  static constexpr size_t kOutput = 3;
  static constexpr size_t kSums = 4;
  // By operand and slot; -1 until used.
  using PartBuffers = std::array<absl::InlinedVector<int32_t, 2>, kSums + 1>;

  int32_t NewBuffer(int64_t bytes, int64_t alignment);
  int32_t SlotBuffer(int32_t part, size_t operand, int32_t slot);

  const SubgraphPlan& plan_;
  const std::vector<TensorId>& storage_;
  const Tiles& made_;
  Schedule& schedule_;
  std::vector<int32_t> load_buffers_;  // By load.
  std::vector<PartBuffers> slots_;     // By part.
  // By storage; also of what chains pass on.
  absl::flat_hash_map<TensorId, int32_t> residents_;
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_SRAM_BUFFERS_H_
