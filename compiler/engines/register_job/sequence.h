#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_SEQUENCE_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_SEQUENCE_H_

#include <cstdint>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "compiler/engines/register_job/chip.h"
#include "compiler/engines/register_job/tile_costs.h"
#include "compiler/engines/register_job/tiles.h"

// What the host does for one op, step by step, and how long that takes.
namespace edgekiln::compiler::register_job {

// Everything that may be chosen for an op.
struct Decision {
  Tiling tiling;
  // Channel tiles are the outer loop; else those of the image.
  bool channels_outer = false;
  // Rooms of each kind, 1 or 2.
  int32_t input_rooms = 1;
  int32_t constant_rooms = 1;
  int32_t output_rooms = 1;
};

struct TileStep {
  enum class Kind { kConstants, kInput, kInput2, kJob, kOutput };
  Kind kind = Kind::kJob;
  // Indices into TileSet's cuts; kConstants has that of c only.
  int32_t h = 0;
  int32_t w = 0;
  int32_t c = 0;
  int32_t job_c = 0;  // Of a job, into those of JobsOf().
  // Which room it fills or empties. Of a job: which rooms it works on.
  int32_t room = 0;
  int32_t constants = 0;
  int32_t input = 0;
  int32_t input2 = 0;
  // Steps of jobs that must have ended before; rising.
  absl::InlinedVector<int32_t, 2> after;
};

// Loads of the next tile come after the start of this tile's job, so that they
// overlap it, if there is a room that no job uses. With two output rooms, the
// next job starts before this one's output is stored.
std::vector<TileStep> BuildSequence(const TileSet& tiles,
                                    const TileNeeds& needs,
                                    const Decision& decision);

// Bytes of all rooms, each aligned; without resident tensors.
int64_t RoomBytes(const TileNeeds& needs, const Decision& decision);

struct StepCost {
  bool is_job = false;
  int64_t host_cycles = 0;
  int64_t job_cycles = 0;  // Of the host's clock, too.
  bool waits = false;      // For all jobs before it.
};
// Cycles of the host's clock from the first step to the end of the last one.
// The host does one step after another, and polls before a step that must wait
// for a job. `after(i)` gives the steps that step i waits for.
class Clock {
 public:
  explicit Clock(const Chip& chip) : poll_cycles_(chip.poll_cycles()) {}
  template <typename After>
  void Step(const StepCost& cost, const After& after) {
    for (const int32_t job : after) WaitFor(job_ends_[job]);
    if (cost.waits) WaitFor(engine_);
    host_ += cost.host_cycles;
    job_ends_.push_back(host_ + cost.job_cycles);
    if (cost.is_job) engine_ = job_ends_.back();
  }
  int64_t End() const { return host_ > engine_ ? host_ : engine_; }

 private:
  void WaitFor(int64_t end);

  int64_t poll_cycles_;
  int64_t host_ = 0;
  int64_t engine_ = 0;
  int64_t seen_ = 0;  // Jobs that ended by then have been seen to end.
  std::vector<int64_t> job_ends_;  // Of each step.
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_SEQUENCE_H_
