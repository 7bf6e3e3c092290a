#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CHIP_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CHIP_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/operation.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "target/host_cost.h"
#include "target/register_jobs.h"

// The machine as the backend needs it: one engine, its memory, and what moves
// and jobs cost.
namespace edgekiln::compiler::register_job {

// Immutable, thread-safe. The machine must outlive it.
class Chip {
 public:
  // INVALID_ARGUMENT if the engine is not one of the model's.
  static absl::StatusOr<Chip> Create(const v1::Machine& machine,
                                     int32_t engine);

  const v1::Machine& machine() const { return *machine_; }
  int32_t engine() const { return engine_; }
  const target::RegisterJobsView& view() const { return view_; }
  // The memory that jobs work in.
  int32_t memory() const { return memory_; }
  int64_t alignment_bytes() const;
  // The memory that constants lie in.
  int32_t flash() const { return flash_; }
  // System memory: where records of jobs lie, and what the host rearranges.
  int32_t ram() const { return ram_; }

  // Whether moves pass through system memory, see Move.
  bool rearranges() const { return copy_costs_.has_value(); }

  // Host cycles until a job has been started.
  int64_t JobCycles(const target::JobCode& code) const;
  int64_t poll_cycles() const;

  // How the host moves an array: `link`, an index into Machine.links, is the
  // one of its links that takes the fewest host cycles.
  struct Move {
    int32_t link = 0;
    int64_t host_cycles = 0;
    // The host's code brings the array into the engine's layout, or out of it,
    // in system memory, and the link moves it as it lies. Only where the link
    // counts nothing but bytes, or the layouts do not reverse bytes alike.
    bool rearranges = false;
    int32_t window = -1;  // The link's, an engine.
    bool by_row = false;  // See MoveByRow().
  };
  // Links in the window of another engine are that engine's. UNIMPLEMENTED if
  // no link of the host's joins the memories.
  absl::StatusOr<Move> MoveBetween(int32_t from, const v1::Layout& from_layout,
                                   int32_t to,
                                   const v1::Layout& to_layout) const;

  // Conversion between the clocks, rounded up.
  int64_t HostCycles(int64_t engine_cycles) const;
  int64_t EngineCycles(int64_t host_cycles) const;

  // `bytes` rounded up to the memory's alignment.
  int64_t Aligned(int64_t bytes) const;

 private:
  Chip(const v1::Machine& machine, int32_t engine,
       target::RegisterJobsView view)
      : machine_(&machine), engine_(engine), view_(std::move(view)) {}

  // Whether the link is one that the host moves for this engine.
  bool Uses(const v1::ResolvedLink& link) const;
  absl::StatusOr<std::optional<Move>> Rearranged(
      const v1::ResolvedLink& link, int32_t from, const v1::Layout& from_layout,
      int32_t to, const v1::Layout& to_layout) const;

  const v1::Machine* machine_;
  int32_t engine_;
  target::RegisterJobsView view_;
  int32_t memory_ = -1;
  int32_t flash_ = -1;
  int32_t ram_ = -1;
  std::optional<target::HostCosts> copy_costs_;
};

// The move as one of each row of each channel, if the link can do that with
// arrays of {h, w, c} in these layouts and it is none that rearranges: else
// `whole`, that of all at once.
absl::StatusOr<Chip::Move> MoveByRow(const Chip& chip, int32_t from,
                                     const v1::Layout& from_layout,
                                     const v1::Layout& to_layout,
                                     const Chip::Move& whole);

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CHIP_H_
