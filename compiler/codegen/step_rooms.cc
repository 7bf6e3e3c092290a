#include "compiler/codegen/step_rooms.h"

#include <algorithm>

#include "base/rounding.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kAlignment = 16;

}  // namespace

StepRooms::StepRooms(const v1::RegionPlans& plans, const v1::Machine& machine,
                     int32_t ram)
    : ram_(ram),
      base_(machine.memories(ram).base_address()),
      sizes_(machine.engines_size(), 0),
      address_(machine.engines_size(), 0) {
  for (const v1::RegionPlan& plan : plans.regions()) {
    if (plan.engine() < 0 || plan.engine() >= machine.engines_size()) continue;
    int64_t& size = sizes_[plan.engine()];
    for (const v1::RegionPlan::MemoryNeed& need : plan.needs()) {
      if (need.memory() == ram) size = std::max(size, need.bytes());
    }
  }
  for (const int64_t size : sizes_) bytes_ += RoundUp(size, kAlignment);
  if (bytes_ > 0) bytes_ += kAlignment;
}

void StepRooms::AddTo(RamPlan& plan) {
  if (bytes_ == 0) return;
  int64_t offset = plan.bytes[ram_];
  for (size_t engine = 0; engine < sizes_.size(); ++engine) {
    if (sizes_[engine] == 0) continue;
    offset = RoundUp(offset, kAlignment);
    address_[engine] = base_ + static_cast<uint64_t>(offset);
    offset += sizes_[engine];
  }
  plan.bytes[ram_] = offset;
}

}  // namespace edgekiln::compiler
