#include "simfarm/simulators/rv32/call_tracker.h"

namespace edgekiln::simfarm::rv32 {

void CallTracker::Observe(const std::vector<uint32_t>& entries) {
  functions_.clear();
  open_.clear();
  int index = 0;
  for (const uint32_t entry : entries) functions_.emplace(entry, index++);
}

std::optional<int> CallTracker::FunctionAt(uint32_t pc) const {
  const auto found = functions_.find(pc);
  if (found == functions_.end()) return std::nullopt;
  return found->second;
}

void CallTracker::Enter(int function, uint32_t return_address, uint32_t sp) {
  open_.push_back({function, return_address, sp});
}

std::optional<int> CallTracker::Return(uint32_t pc, uint32_t sp) {
  for (size_t i = open_.size(); i-- > 0;) {
    if (open_[i].return_address != pc || open_[i].sp != sp) continue;
    const int function = open_[i].function;
    open_.resize(i);
    return function;
  }
  return std::nullopt;
}

}  // namespace edgekiln::simfarm::rv32
