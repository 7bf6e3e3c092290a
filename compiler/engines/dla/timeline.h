#ifndef EK_COMPILER_ENGINES_DLA_TIMELINE_H_
#define EK_COMPILER_ENGINES_DLA_TIMELINE_H_

#include <array>
#include <cstdint>
#include <vector>

#include "compiler/engines/dla/chip.h"

namespace edgekiln::compiler::dla {

// Predicts when the commands of one stream run: docs/targets/dla.md section 7,
// evaluated while the stream is written.
class Timeline {
 public:
  explicit Timeline(const Chip& chip) : chip_(chip) {}

  void RegisterWrite() {
    front_end_ += chip_.IssueCycles(DlaCommand::kRegWrite);
  }
  // `wait` counts completed commands of the other unit. Returns the cycles that
  // are the command's own: of a compute command, from the end of the one before
  // to its own.
  int64_t Issue(DlaCommand command, bool dma, int64_t wait, int64_t occupancy);
  // Decodes OP_END; returns the cycles of the whole stream.
  int64_t End();
  // Cycles until the last compute command ends.
  int64_t compute_end() const { return units_[0].free(); }

 private:
  struct Unit {
    std::vector<int64_t> starts;
    std::vector<int64_t> completions;
    int64_t free() const {
      return completions.empty() ? 0 : completions.back();
    }
  };
  const Chip& chip_;
  std::array<Unit, 2> units_;  // Compute, DMA.
  int64_t front_end_ = 0;
};

}  // namespace edgekiln::compiler::dla

#endif  // EK_COMPILER_ENGINES_DLA_TIMELINE_H_
