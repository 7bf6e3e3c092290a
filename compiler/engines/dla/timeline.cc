#include "compiler/engines/dla/timeline.h"

#include <algorithm>

namespace edgekiln::compiler::dla {

int64_t Timeline::Issue(DlaCommand command, bool dma, int64_t wait,
                        int64_t occupancy) {
  Unit& unit = units_[dma ? 1 : 0];
  const Unit& other = units_[dma ? 0 : 1];
  front_end_ += chip_.IssueCycles(command);
  // A full queue holds the front end until its oldest command starts.
  const auto depth = static_cast<size_t>(chip_.queue_depth());
  if (unit.starts.size() >= depth) {
    front_end_ = std::max(front_end_, unit.starts[unit.starts.size() - depth]);
  }
  int64_t start = std::max(front_end_, unit.free());
  if (wait > 0) start = std::max(start, other.completions[wait - 1]);
  if (chip_.blocking_dma()) start = std::max(start, other.free());
  unit.starts.push_back(start);
  const int64_t own = dma ? 0 : start + occupancy - unit.free();
  unit.completions.push_back(start + occupancy);
  return own;
}

int64_t Timeline::End() {
  front_end_ += chip_.IssueCycles(DlaCommand::kEnd);
  return std::max({front_end_, units_[0].free(), units_[1].free()});
}

}  // namespace edgekiln::compiler::dla
