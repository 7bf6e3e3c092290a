#include "compiler/engines/register_job/emit.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/engines/register_job/constants.h"
#include "compiler/engines/register_job/constants_in_place.h"
#include "compiler/engines/register_job/planner.h"
#include "compiler/engines/register_job/schedule.h"
#include "compiler/engines/register_job/transfer.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler::register_job {
namespace {

using target::JobVariable;
using target::JobVariables;

constexpr int32_t kHostCode = -1;  // Program.Move.link.

class Emitter {
 public:
  Emitter(const Placement& placement, const Schedule& schedule,
          const Constants& constants, const RegionMemory& memory)
      : placement_(placement),
        chip_(*placement.chip),
        schedule_(schedule),
        constants_(constants),
        memory_(memory) {}

  absl::StatusOr<RegionCode> Run() && {
    if (placement_.constants_in_place) {
      EK_ASSIGN_OR_RETURN(whole_, WholeConstantsOf(placement_));
    }
    const std::vector<TileStep>& steps = schedule_.steps();
    for (size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].kind == TileStep::Kind::kJob) {
        EK_RETURN_IF_ERROR(AddJob(steps[s], static_cast<int32_t>(s)),
                           absl::StrCat("step ", s));
      } else {
        EK_RETURN_IF_ERROR(AddMove(steps[s]), absl::StrCat("step ", s));
      }
    }
    code_.constants = constants_.bytes;
    return std::move(code_);
  }

 private:
  int32_t layer() const { return placement_.operation.op_index; }

  int64_t AddressOf(const Place& place) const {
    return static_cast<int64_t>(memory_.buffers[place.buffer]) + place.offset;
  }

  v1::Location InEngine(const Place& place) const {
    v1::Location location;
    location.set_memory(chip_.memory());
    location.set_address(static_cast<uint64_t>(AddressOf(place)));
    return location;
  }

  // Where a step's part of a tensor, or its constants, lie outside the room.
  v1::Location Outside(const TileStep& step, const MoveStep& move) const {
    if (move.operand == nullptr) {
      v1::Location location;
      location.set_memory(memory_.flash);
      location.set_address(memory_.constants +
                           static_cast<uint64_t>(constants_.offsets[step.c]));
      return location;
    }
    if (move.operand->resident) {
      return InEngine(
          {schedule_.BufferOfTensor(move.operand->tensor), move.tensor_offset});
    }
    v1::Location location;
    location.set_memory(move.operand->memory);
    location.set_address(memory_.tensors->at(move.operand->tensor) +
                         static_cast<uint64_t>(move.tensor_offset));
    return location;
  }

  absl::Status AddMove(const TileStep& step) {
    EK_ASSIGN_OR_RETURN(const MoveStep planned, schedule_.MoveOf(step));
    std::vector<v1::Program::Step>& steps = code_.steps.emplace_back();
    const End outside = {Outside(step, planned), IndexOf(planned.tensor)};
    const End room = {InEngine(planned.place), IndexOf(planned.room)};
    const End from = planned.stores ? room : outside;
    const End to = planned.stores ? outside : room;
    if (planned.filler) {
      EK_RETURN_IF_ERROR(AddFiller(planned, room.location, steps));
    }
    if (planned.move.by_row) return AddRows(from, planned, to, steps);
    if (!planned.move.rearranges) {
      AddMove(from, to, planned.move.link, steps);
      return absl::OkStatus();
    }
    if (planned.room.size_bytes() > schedule_.needs().rearranged_bytes) {
      return absl::InternalError("a rearranged tile is larger than its room");
    }
    End between = {RecordLocation(), room.layout};
    between.location.set_address(
        memory_.step_room +
        static_cast<uint64_t>(
            StepRoomOf(chip_, schedule_.needs()).array_offset));
    AddMove(from, between, planned.stores ? planned.move.link : kHostCode,
            steps);
    AddMove(between, to, planned.stores ? kHostCode : planned.move.link, steps);
    return absl::OkStatus();
  }

  struct End {
    v1::Location location;
    int32_t layout = 0;
  };
  void AddMove(const End& from, const End& to, int32_t link,
               std::vector<v1::Program::Step>& steps) const {
    v1::Program::Move& move = *steps.emplace_back().mutable_move();
    *move.mutable_from() = from.location;
    *move.mutable_to() = to.location;
    move.set_from_layout(from.layout);
    move.set_to_layout(to.layout);
    move.set_layer(layer());
    move.set_link(link);
  }

  // The first bytes of the tensor, as often as they are needed.
  absl::Status AddFiller(const MoveStep& planned, v1::Location room,
                         std::vector<v1::Program::Step>& steps) {
    const Filler& filler = *planned.filler;
    v1::Location tensor;
    tensor.set_memory(planned.operand->memory);
    tensor.set_address(memory_.tensors->at(planned.operand->tensor));
    const uint64_t begin = room.address() + static_cast<uint64_t>(filler.begin);
    for (int64_t at = 0; at < filler.bytes; at += filler.run_bytes) {
      const v1::Layout run = target::DenseLayout(
          {std::min(filler.run_bytes, filler.bytes - at)}, 1);
      EK_ASSIGN_OR_RETURN(
          const Chip::Move move,
          chip_.MoveBetween(tensor.memory(), run, chip_.memory(), run));
      room.set_address(begin + static_cast<uint64_t>(at));
      const int32_t layout = IndexOf(run);
      AddMove({tensor, layout}, {room, layout}, move.link, steps);
    }
    return absl::OkStatus();
  }

  // A tile's rows, each a move of its own.
  absl::Status AddRows(const End& from, const MoveStep& planned, const End& to,
                       std::vector<v1::Program::Step>& steps) {
    const v1::Layout& whole = planned.tensor;
    for (int64_t c = 0; c < whole.extents(2); ++c) {
      for (int64_t h = 0; h < whole.extents(0); ++h) {
        const auto there =
            target::PartOf(whole, {h, 0, c}, {1, whole.extents(1), 1});
        const auto here =
            target::PartOf(planned.room, {h, 0, c}, {1, whole.extents(1), 1});
        if (!there || !here) return absl::InternalError("a row without layout");
        const auto part = [&](const End& end, const target::Part& row) {
          End moved = {end.location, IndexOf(row.layout)};
          moved.location.set_address(end.location.address() +
                                     static_cast<uint64_t>(row.offset));
          return moved;
        };
        AddMove(part(from, *there), part(to, *here), planned.move.link, steps);
      }
    }
    return absl::OkStatus();
  }

  v1::Location RecordLocation() const {
    v1::Location location;
    location.set_memory(chip_.ram());
    location.set_address(memory_.step_room);
    return location;
  }

  absl::Status AddJob(const TileStep& step, int32_t index) {
    JobVariables variables = schedule_.VariablesOfJob(step);
    EK_ASSIGN_OR_RETURN(const JobPlaces places, schedule_.PlacesOf(step));
    variables[JobVariable::kInAddr] = AddressOf(places.input);
    variables[JobVariable::kOutAddr] = AddressOf(places.output);
    if (placement_.input2.present()) {
      variables[JobVariable::kIn2Addr] = AddressOf(places.input2);
    }
    if (placement_.constants_in_place) {
      EK_ASSIGN_OR_RETURN(
          const std::optional<int64_t> address,
          AddressOfPart(placement_, *whole_, schedule_.ChannelsOf(step)));
      if (!address) return absl::InternalError("a job without its constants");
      variables[JobVariable::kWeightsAddr] =
          static_cast<int64_t>(memory_.constants) + *address;
    } else if (placement_.has_table()) {
      EK_ASSIGN_OR_RETURN(const ConstantRoom room,
                          schedule_.ConstantRoomOf(step.c));
      const int64_t address = AddressOf(places.constants);
      variables[JobVariable::kWeightsAddr] = address;
      variables[JobVariable::kTableAddr] = address + room.table_offset;
    }
    variables[JobVariable::kRecordAddr] =
        static_cast<int64_t>(memory_.step_room);
    EK_ASSIGN_OR_RETURN(const target::JobCode code,
                        chip_.view().Encode(variables));
    v1::Program::RegisterWrites& job =
        *code_.steps.emplace_back().emplace_back().mutable_register_writes();
    job.set_engine(chip_.engine());
    job.set_layer(layer());
    if (!code.record.empty()) {
      *job.mutable_record()->mutable_location() = RecordLocation();
      job.mutable_record()->mutable_words()->Add(code.record.begin(),
                                                 code.record.end());
    }
    for (const target::RegisterWrite& write : code.writes) {
      v1::Program::RegisterWrites::Write& added = *job.add_writes();
      added.set_offset(write.offset);
      added.set_value(write.value);
    }
    return AddTap(step, index, variables, places.output);
  }

  absl::Status AddTap(const TileStep& step, int32_t index,
                      const JobVariables& variables, const Place& output) {
    const TileSet& tiles = schedule_.tiles();
    const ImagePart part =
        OutputPart(tiles.h->cuts[step.h], tiles.w->cuts[step.w],
                   schedule_.ChannelsOf(step));
    if (part.extents[2] == 0) return absl::OkStatus();
    const Image& out = placement_.operation.out;
    v1::Program::Tap& tap = code_.taps.emplace_back();
    tap.set_step(index);
    tap.set_tensor(placement_.operation.output);
    for (size_t axis = 0; axis < part.begin.size(); ++axis) {
      tap.mutable_box()->add_begin(part.begin[axis]);
      tap.mutable_box()->add_end(part.begin[axis] + part.extents[axis]);
    }
    for (const int64_t extent :
         {out.h, out.w, out.c - placement_.operation.out_padding}) {
      tap.mutable_box()->add_shape(extent);
    }
    EK_ASSIGN_OR_RETURN(
        v1::Layout layout,
        LayoutOf(placement_, target::JobOperand::kOut, variables));
    if (layout.first_byte() > 0) {
      // Without the group that it may end in: the memory may end before.
      EK_ASSIGN_OR_RETURN(const target::Layout places,
                          target::Layout::Create(layout));
      layout.set_size_bytes(places.end_bytes());
    }
    *tap.mutable_location() = InEngine(output);
    tap.mutable_location()->set_address(
        tap.location().address() - static_cast<uint64_t>(layout.first_byte()));
    tap.set_layout(IndexOf(PartInRoom(layout, part.extents)));
    return absl::OkStatus();
  }

  int32_t IndexOf(const v1::Layout& layout) {
    const auto [place, is_new] = layout_index_.try_emplace(
        layout.SerializeAsString(), static_cast<int32_t>(code_.layouts.size()));
    if (is_new) code_.layouts.push_back(layout);
    return place->second;
  }

  const Placement& placement_;
  const Chip& chip_;
  const Schedule& schedule_;
  const Constants& constants_;
  const RegionMemory& memory_;
  std::optional<WholeConstants> whole_;
  RegionCode code_;
  absl::flat_hash_map<std::string, int32_t> layout_index_;
};

}  // namespace

absl::StatusOr<RegionCode> EmitRegion(const Graph& graph,
                                      const Placement& placement,
                                      const v1::RegionPlan& plan,
                                      const RegionMemory& memory) {
  EK_ASSIGN_OR_RETURN(const Decision decision,
                      DecisionOf(placement.operation, plan));
  EK_ASSIGN_OR_RETURN(const Schedule schedule,
                      Schedule::Create(placement, decision));
  const v1::RegionPlan::MemoryNeed* need = nullptr;
  for (const v1::RegionPlan::MemoryNeed& each : plan.needs()) {
    if (each.memory() == placement.chip->memory()) need = &each;
  }
  if (std::ssize(schedule.steps()) != plan.steps_size() ||
      std::ssize(schedule.buffers()) != plan.buffers_size() ||
      std::ssize(memory.buffers) != plan.buffers_size() || need == nullptr) {
    return absl::InvalidArgumentError(
        "the region's plan belongs to another machine");
  }
  for (const Operand* operand :
       {&placement.input, &placement.input2, &placement.output}) {
    if (operand->present() && !operand->resident &&
        !memory.tensors->contains(operand->tensor)) {
      return absl::InvalidArgumentError(
          absl::StrCat("tensor ", graph.tensors[operand->tensor].name,
                       " has no place in system memory"));
    }
  }
  EK_ASSIGN_OR_RETURN(const Constants constants,
                      PackConstants(graph, placement, schedule));
  EK_ASSIGN_OR_RETURN(RegionCode code,
                      Emitter(placement, schedule, constants, memory).Run());
  const int64_t bytes = need->bytes();
  code.layers.push_back({placement.operation.op_index, bytes,
                         static_cast<int32_t>(schedule.tiles().tiles()),
                         plan.predicted_cycles()});
  code.memories = {{need->memory(), bytes}};
  return code;
}

}  // namespace edgekiln::compiler::register_job
