#ifndef EK_COMPILER_ENGINES_REGISTER_JOB_SCHEDULE_H_
#define EK_COMPILER_ENGINES_REGISTER_JOB_SCHEDULE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "compiler/engines/register_job/padded_channels.h"
#include "compiler/engines/register_job/placement.h"
#include "compiler/engines/register_job/sequence.h"
#include "compiler/engines/register_job/tiles.h"

// The steps that follow from a decision, with the places they work on. Planning
// and emitting a region use the same schedule.
namespace edgekiln::compiler::register_job {

struct Buffer {
  int64_t bytes = 0;
  int32_t first_step = 0;
  int32_t last_step = 0;
  TensorId tensor = kNoTensor;  // By storage, of a resident one.
  TensorId over = kNoTensor;    // The resident tensor that this one overwrites.
};

// An operand's place: `offset` bytes from the start of a buffer.
struct Place {
  int32_t buffer = -1;
  int64_t offset = 0;
};

// Places of a kJob step; buffer -1 for an operand that the job does not have.
struct JobPlaces {
  Place input;
  Place input2;
  Place constants;
  Place output;
};

// Any step but kJob.
struct MoveStep {
  // The tensor to move, from byte `tensor_offset` on.
  const Operand* operand = nullptr;  // Null: constants.
  int64_t tensor_offset = 0;
  bool stores = false;  // Room to tensor; else tensor to room.
  v1::Layout tensor;    // Of the part there.
  v1::Layout room;
  Place place;
  Chip::Move move;
  std::optional<Filler> filler;  // Written into the room before.
};

class Schedule {
 public:
  // The placement must outlive it. INVALID_ARGUMENT if the op cannot be cut so.
  static absl::StatusOr<Schedule> Create(const Placement& placement,
                                         const Decision& decision);

  const TileSet& tiles() const { return tiles_; }
  const TileSet& jobs() const { return jobs_; }
  const TileNeeds& needs() const { return needs_; }
  const std::vector<TileStep>& steps() const { return steps_; }
  // Of resident tensors, then the region's own.
  const std::vector<Buffer>& buffers() const { return buffers_; }

  // Of a resident tensor.
  int32_t BufferOfTensor(TensorId tensor) const;

  absl::StatusOr<MoveStep> MoveOf(const TileStep& step) const;
  // Of a kJob step; its addresses are not set.
  target::JobVariables VariablesOfJob(const TileStep& step) const;
  // Output channels of a kJob step.
  const Cut& ChannelsOf(const TileStep& step) const {
    return jobs_.c->cuts[step.job_c];
  }
  absl::StatusOr<JobPlaces> PlacesOf(const TileStep& step) const;
  absl::StatusOr<ConstantRoom> ConstantRoomOf(int32_t c) const;

 private:
  using Rooms = std::array<int32_t, 2>;  // Indices into buffers_.
  Schedule(const Placement& placement, TileSet tiles, TileSet jobs)
      : placement_(&placement),
        tiles_(std::move(tiles)),
        jobs_(std::move(jobs)) {}

  void AddResidents();
  void AddRooms(const Decision& decision);
  absl::StatusOr<Place> PlaceOf(target::JobOperand role, const Operand& operand,
                                Access access, const Rooms& rooms, int32_t room,
                                const TileStep& step) const;
  absl::StatusOr<MoveStep> MoveOfConstants(const TileStep& step) const;

  const Placement* placement_;
  TileSet tiles_;
  TileSet jobs_;
  TileNeeds needs_;
  std::vector<TileStep> steps_;
  std::vector<Buffer> buffers_;
  Rooms input_rooms_ = {-1, -1};
  Rooms input2_rooms_ = {-1, -1};
  Rooms constant_rooms_ = {-1, -1};
  Rooms output_rooms_ = {-1, -1};
};

}  // namespace edgekiln::compiler::register_job

#endif  // EK_COMPILER_ENGINES_REGISTER_JOB_SCHEDULE_H_
