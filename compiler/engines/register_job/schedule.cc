#include "compiler/engines/register_job/schedule.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/transfer.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobOperand;
using Kind = TileStep::Kind;

}  // namespace

absl::StatusOr<Schedule> Schedule::Create(const Placement& placement,
                                          const Decision& decision) {
  TileCosts costs(placement);
  TileSet tiles = costs.Tiles(decision.tiling);
  EK_ASSIGN_OR_RETURN(auto needs, costs.NeedsOf(tiles));
  if (!needs) {
    return absl::InvalidArgumentError(
        "the op cannot be cut so where its tensors lie");
  }
  EK_ASSIGN_OR_RETURN(needs->rearranged_bytes,
                      costs.RearrangedBytes(tiles, *needs));
  TileSet jobs = JobsOf(placement.operation, tiles, needs->job_channels);
  Schedule schedule(placement, std::move(tiles), std::move(jobs));
  schedule.needs_ = *needs;
  schedule.steps_ = BuildSequence(schedule.tiles_, *needs, decision);
  schedule.AddResidents();
  schedule.AddRooms(decision);
  return schedule;
}

void Schedule::AddResidents() {
  for (const Operand* operand : ResidentsOf(*placement_)) {
    buffers_.push_back({operand->whole.size_bytes(), 0,
                        static_cast<int32_t>(steps_.size()) - 1,
                        operand->tensor, operand->over});
  }
}

// Each room is one buffer, from the first step that uses it to the last.
void Schedule::AddRooms(const Decision& decision) {
  const auto add = [&](int64_t bytes, int32_t count, Rooms& rooms) {
    for (int32_t r = 0; r < count; ++r) {
      rooms[r] = static_cast<int32_t>(buffers_.size());
      buffers_.push_back({bytes, -1, -1});
    }
  };
  if (needs_.constant_bytes > 0) {
    add(needs_.constant_bytes, decision.constant_rooms, constant_rooms_);
  }
  if (needs_.input == Access::kMoved) {
    add(needs_.input_bytes, decision.input_rooms, input_rooms_);
  }
  if (needs_.input2 == Access::kMoved) {
    add(needs_.input_bytes, decision.input_rooms, input2_rooms_);
  }
  if (needs_.output == Access::kMoved) {
    add(needs_.output_bytes, decision.output_rooms, output_rooms_);
  }
  const auto use = [&](int32_t buffer, int32_t step) {
    if (buffer < 0 || buffers_[buffer].tensor != kNoTensor) return;
    if (buffers_[buffer].first_step < 0) buffers_[buffer].first_step = step;
    buffers_[buffer].last_step = step;
  };
  for (size_t s = 0; s < steps_.size(); ++s) {
    const TileStep& step = steps_[s];
    const auto at = static_cast<int32_t>(s);
    switch (step.kind) {
      case Kind::kConstants:
        use(constant_rooms_[step.room], at);
        break;
      case Kind::kInput:
        use(input_rooms_[step.room], at);
        break;
      case Kind::kInput2:
        use(input2_rooms_[step.room], at);
        break;
      case Kind::kOutput:
        use(output_rooms_[step.room], at);
        break;
      case Kind::kJob:
        use(constant_rooms_[step.constants], at);
        use(input_rooms_[step.input], at);
        use(input2_rooms_[step.input2], at);
        use(output_rooms_[step.room], at);
        break;
    }
  }
  // With a single load, the second room stays unused.
  std::vector<int32_t> kept(buffers_.size(), -1);
  std::vector<Buffer> used;
  for (size_t b = 0; b < buffers_.size(); ++b) {
    if (buffers_[b].first_step < 0) continue;
    kept[b] = static_cast<int32_t>(used.size());
    used.push_back(buffers_[b]);
  }
  for (Rooms* rooms :
       {&constant_rooms_, &input_rooms_, &input2_rooms_, &output_rooms_}) {
    for (int32_t& room : *rooms) {
      if (room >= 0) room = kept[room];
    }
  }
  buffers_ = std::move(used);
}

int32_t Schedule::BufferOfTensor(TensorId tensor) const {
  const auto it = std::find_if(
      buffers_.begin(), buffers_.end(),
      [&](const Buffer& buffer) { return buffer.tensor == tensor; });
  return static_cast<int32_t>(it - buffers_.begin());
}

absl::StatusOr<Place> Schedule::PlaceOf(JobOperand role, const Operand& operand,
                                        Access access, const Rooms& rooms,
                                        int32_t room,
                                        const TileStep& step) const {
  if (access == Access::kNone) return Place{};
  const Cut& h = tiles_.h->cuts[step.h];
  const Cut& w = tiles_.w->cuts[step.w];
  const Cut& tile = tiles_.c->cuts[step.c];
  const Cut& job = jobs_.c->cuts[step.job_c];
  const bool output = role == JobOperand::kOut;
  ImagePart part = output ? OutputPart(h, w, job) : InputPart(h, w, job);
  Place place;
  v1::Layout whole = operand.whole;
  if (access == Access::kDirect) {
    place.buffer = BufferOfTensor(operand.tensor);
  } else {
    place.buffer = rooms[room];
    if (job.size() == tile.size()) return place;
    EK_ASSIGN_OR_RETURN(
        whole, LayoutOf(*placement_, role,
                        VariablesOf(placement_->operation, h, w, tile)));
    part.begin = {
        0, 0, output ? job.begin - tile.begin : job.in_begin - tile.in_begin};
    part.extents[2] = output ? job.size() : job.in_size();
  }
  const auto there = target::PartOf(whole, part.begin, part.extents);
  place.offset = there->offset + there->layout.first_byte();
  return place;
}

target::JobVariables Schedule::VariablesOfJob(const TileStep& step) const {
  return VariablesOf(placement_->operation, tiles_.h->cuts[step.h],
                     tiles_.w->cuts[step.w], jobs_.c->cuts[step.job_c]);
}

absl::StatusOr<JobPlaces> Schedule::PlacesOf(const TileStep& step) const {
  JobPlaces places;
  EK_ASSIGN_OR_RETURN(places.input,
                      PlaceOf(JobOperand::kIn, placement_->input, needs_.input,
                              input_rooms_, step.input, step));
  EK_ASSIGN_OR_RETURN(places.input2,
                      PlaceOf(JobOperand::kIn2, placement_->input2,
                              needs_.input2, input2_rooms_, step.input2, step));
  EK_ASSIGN_OR_RETURN(places.output,
                      PlaceOf(JobOperand::kOut, placement_->output,
                              needs_.output, output_rooms_, step.room, step));
  places.constants = {constant_rooms_[step.constants], 0};
  return places;
}

absl::StatusOr<ConstantRoom> Schedule::ConstantRoomOf(int32_t c) const {
  return TileCosts(*placement_).ConstantRoomOf(tiles_.c->cuts[c]);
}

absl::StatusOr<MoveStep> Schedule::MoveOfConstants(const TileStep& step) const {
  EK_ASSIGN_OR_RETURN(const ConstantRoom room, ConstantRoomOf(step.c));
  const Chip& chip = *placement_->chip;
  MoveStep move;
  move.tensor = target::DenseLayout({room.bytes}, 1);
  move.room = move.tensor;
  move.place = {constant_rooms_[step.room], 0};
  EK_ASSIGN_OR_RETURN(move.move, chip.MoveBetween(chip.flash(), move.tensor,
                                                  chip.memory(), move.room));
  return move;
}

absl::StatusOr<MoveStep> Schedule::MoveOf(const TileStep& step) const {
  if (step.kind == Kind::kConstants) return MoveOfConstants(step);
  const Cut& h = tiles_.h->cuts[step.h];
  const Cut& w = tiles_.w->cuts[step.w];
  const Cut& c = tiles_.c->cuts[step.c];
  MoveStep move;
  move.stores = step.kind == Kind::kOutput;
  JobOperand role = JobOperand::kOut;
  const Rooms* rooms = &output_rooms_;
  move.operand = &placement_->output;
  if (step.kind == Kind::kInput) {
    role = JobOperand::kIn;
    rooms = &input_rooms_;
    move.operand = &placement_->input;
  } else if (step.kind == Kind::kInput2) {
    role = JobOperand::kIn2;
    rooms = &input2_rooms_;
    move.operand = &placement_->input2;
  }
  EK_ASSIGN_OR_RETURN(Transfer transfer,
                      TransferOf(*placement_, *move.operand, role, h, w, c));
  move.move = transfer.move;
  move.tensor_offset = transfer.tensor_offset;
  move.tensor = std::move(transfer.tensor);
  move.room = std::move(transfer.room);
  move.filler = transfer.filler;
  move.place = {(*rooms)[step.room], 0};
  return move;
}

}  // namespace edgekiln::compiler::register_job
