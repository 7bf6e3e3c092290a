#ifndef EK_COMPILER_CODEGEN_STEP_ROOMS_H_
#define EK_COMPILER_CODEGEN_STEP_ROOMS_H_

// Room in the first memory of activations that engines need for one step at a
// time: records of their jobs, and what the host's code rearranges for them.

#include <cstdint>
#include <vector>

#include "compiler/codegen/memory_map.h"
#include "edgekiln/v1/target.pb.h"
#include "edgekiln/v1/tiling.pb.h"

namespace edgekiln::compiler {

// One room for each engine, as its steps follow one another: the most that any
// of its regions needs. They lie behind all tensors.
class StepRooms {
 public:
  StepRooms() = default;
  // `ram` is an index into the machine's memories.
  StepRooms(const v1::RegionPlans& plans, const v1::Machine& machine,
            int32_t ram);

  // Of all rooms, with what may be lost by alignment; 0 if there are none.
  int64_t bytes() const { return bytes_; }

  // Puts the rooms behind the tensors of `plan`, which then counts them, too.
  void AddTo(RamPlan& plan);
  // After AddTo(). 0 if the engine has none.
  uint64_t AddressOf(int32_t engine) const { return address_[engine]; }

 private:
  int32_t ram_ = 0;
  uint64_t base_ = 0;
  int64_t bytes_ = 0;
  std::vector<int64_t> sizes_;     // By engine.
  std::vector<uint64_t> address_;  // Alike.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_STEP_ROOMS_H_
