#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_CHIP_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_CHIP_H_

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/operation.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/target.pb.h"
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
  // The memory that constants are moved from.
  int32_t flash() const { return flash_; }

  // Position of the kernel among the engine's jobs. INVALID_ARGUMENT if there
  // is none.
  absl::StatusOr<int32_t> JobOf(v1::RegisterJobs::Kernel kernel) const;

  // Host cycles of `writes` register writes.
  int64_t WriteCycles(int64_t writes) const;
  int64_t poll_cycles() const;

  // How the host moves an array: `link`, an index into Machine.links, is the
  // one of its links that takes the fewest host cycles.
  struct Move {
    int32_t link = 0;
    int64_t host_cycles = 0;
  };
  // UNIMPLEMENTED if no link of the host's joins the memories.
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

  const v1::Machine* machine_;
  int32_t engine_;
  target::RegisterJobsView view_;
  int32_t memory_ = -1;
  int32_t flash_ = -1;
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_CHIP_H_
