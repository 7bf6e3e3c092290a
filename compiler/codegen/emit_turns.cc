#include "compiler/codegen/emit_turns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/rooms.h"
#include "compiler/codegen/turns.h"
#include "target/memories.h"

namespace edgekiln::compiler {
namespace {

absl::Status Foreign() {
  return absl::InvalidArgumentError(
      "the regions' plans belong to another partition");
}

class TurnEmitter {
 public:
  TurnEmitter(const Graph& graph, const v1::Partition& partition,
              const v1::RegionPlans& plans, const v1::Machine& machine,
              ProgramWriter& writer)
      : graph_(graph),
        partition_(partition),
        plans_(plans),
        machine_(machine),
        writer_(writer),
        maker_(graph),
        codes_(plans.regions_size()),
        running_(machine.engines_size()) {}

  absl::Status Run() {
    EK_ASSIGN_OR_RETURN(works_, WorksOf(graph_, partition_, plans_, machine_));
    EK_ASSIGN_OR_RETURN(turns_,
                        ReplayTurns(works_, plans_.turns(), machine_,
                                    static_cast<int32_t>(graph_.ops.size())));
    EK_RETURN_IF_ERROR(ReadRooms());
    EK_RETURN_IF_ERROR(PlaceTensors());
    FindAliases();
    for (const TurnPlan::Turn& turn : turns_.turns) {
      for (const int32_t engine : turn.polls) SeeEnd(engine);
      EK_RETURN_IF_ERROR(AddTurn(turn));
    }
    for (const int32_t engine : turns_.last_polls) SeeEnd(engine);
    for (int32_t op = 0; op < std::ssize(turns_.layer_cycles); ++op) {
      writer_.AddCycles(turns_.layer_cycles[op], op);
    }
    return absl::OkStatus();
  }

 private:
  // What the host has started and not yet seen to end.
  struct Running {
    int32_t region = 0;
    int32_t step = 0;
  };

  absl::Status ReadRooms() {
    for (const v1::RegionPlan& plan : plans_.regions()) {
      rooms_.emplace_back(plan.buffers_size(), 0);
    }
    ResidentPlaces resident;
    for (const v1::RegionPlans::Room& room : plans_.rooms()) {
      if (room.region() < 0 || room.region() >= std::ssize(rooms_) ||
          room.buffer() < 0 ||
          room.buffer() >= std::ssize(rooms_[room.region()])) {
        return Foreign();
      }
      rooms_[room.region()][room.buffer()] = room.address();
      const v1::RegionPlan::Buffer& buffer =
          plans_.regions(room.region()).buffers(room.buffer());
      const v1::ResolvedMemory& memory = machine_.memories(buffer.memory());
      if (room.address() < memory.base_address()) return Foreign();
      const auto end =
          static_cast<int64_t>(room.address() - memory.base_address()) +
          buffer.bytes();
      if (end > memory.capacity_bytes()) return Foreign();
      writer_.NoteBytes(buffer.memory(), end);
      if (buffer.has_tensor()) {
        resident[buffer.tensor()] = {buffer.memory(), room.address()};
      }
    }
    writer_.SetResident(std::move(resident));
    return absl::OkStatus();
  }

  // System memory for whatever does not stay with the engines, over the turns
  // in which it is used.
  absl::Status PlaceTensors() {
    std::vector<bool> on_host;
    for (const auto& placement : partition_.placements()) {
      const bool reshape = graph_.ops[placement.op()].attributes.has_reshape();
      on_host.push_back(placement.engine() < 0 && !reshape);
    }
    std::vector<bool> in_ram =
        TensorsOfHost(graph_, writer_.storage(), on_host);
    for (const v1::RegionPlan& plan : plans_.regions()) {
      const Region region = maker_.Make({plan.ops().begin(), plan.ops().end()});
      std::vector<TensorId> kept(plan.resident().begin(),
                                 plan.resident().end());
      for (const v1::RegionPlan::Buffer& buffer : plan.buffers()) {
        if (buffer.has_tensor()) kept.push_back(buffer.tensor());
      }
      std::vector<TensorId> borders = OutputsOf(region);
      borders.insert(borders.end(), region.inputs.begin(), region.inputs.end());
      for (const TensorId tensor : borders) {
        if (std::find(kept.begin(), kept.end(), tensor) == kept.end()) {
          in_ram[tensor] = true;
        }
      }
    }
    OpTimes times;
    times.end = static_cast<int64_t>(turns_.turns.size());
    // Reshapes use nothing at any time of their own.
    times.of_op.assign(graph_.ops.size(), {0, -1});
    const auto turn_of = TurnsOfSteps(works_, turns_);
    for (int32_t w = 0; w < std::ssize(works_); ++w) {
      std::pair<int64_t, int64_t> time = {times.end, -1};
      for (int32_t s = 0; s < std::ssize(works_[w].steps); ++s) {
        const TurnSpan span = SpanOf(turns_, w, s, turn_of);
        time = {std::min(time.first, span.begin),
                std::max(time.second, span.end)};
      }
      if (works_[w].region < 0) {
        times.of_op[works_[w].op] = time;
        continue;
      }
      for (const int32_t op : plans_.regions(works_[w].region).ops()) {
        times.of_op[op] = time;
      }
    }
    EK_ASSIGN_OR_RETURN(RamPlan ram,
                        PlanRam(graph_, writer_.storage(), in_ram, times,
                                machine_.memories(writer_.memories().ram)));
    writer_.SetRam(std::move(ram));
    return absl::OkStatus();
  }

  // What other shapes a tensor goes by, by storage.
  void FindAliases() {
    for (const Op& op : graph_.ops) {
      if (!op.attributes.has_reshape()) continue;
      aliases_[writer_.storage()[op.outputs[0]]].push_back(op.outputs[0]);
    }
  }

  absl::Status AddTurn(const TurnPlan::Turn& turn) {
    const Work& work = works_[turn.work];
    if (work.region < 0) {
      writer_.AddHostOp(work.op);
      for (const TensorId output : graph_.ops[work.op].outputs) {
        writer_.TapWhole(output);
        for (const TensorId alias : aliases_[writer_.storage()[output]]) {
          writer_.TapWhole(alias);
        }
      }
      return absl::OkStatus();
    }
    std::optional<RegionCode>& code = codes_[work.region];
    if (!code) {
      EK_ASSIGN_OR_RETURN(code, EmitRegion(work.region));
    }
    if (plans_.regions(work.region).steps().empty()) return Foreign();
    *writer_.program().add_steps() = std::move(code->steps[turn.step]);
    if (work.steps[turn.step].job) {
      running_[work.engine] = Running{work.region, turn.step};
    } else {
      AddTaps(work.region, turn.step);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<RegionCode> EmitRegion(int32_t index) {
    const v1::RegionPlan& plan = plans_.regions(index);
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine_, plan.engine()));
    const RegionMemory memory = {
        .tensors = &writer_.ram().address,
        .ram = writer_.memories().ram,
        .flash = writer_.memories().flash,
        .constants = writer_.flash().Align(ProgramWriter::kConstantAlignment),
        .buffers = rooms_[index]};
    const Region region = maker_.Make({plan.ops().begin(), plan.ops().end()});
    EK_ASSIGN_OR_RETURN(RegionCode code,
                        backend->Emit(region, plan, machine_, memory));
    if (std::ssize(code.steps) != plan.steps_size()) return Foreign();
    writer_.flash().Append(code.constants);
    std::vector<int32_t> layouts;
    for (const v1::Layout& layout : code.layouts) {
      layouts.push_back(writer_.IndexOf(layout));
    }
    for (v1::Program::Tap& tap : code.taps) {
      tap.set_stream(-1);
      tap.set_layout(layouts[tap.layout()]);
    }
    for (v1::Program::Step& step : code.steps) {
      if (!step.has_move()) continue;
      v1::Program::Move& move = *step.mutable_move();
      move.set_from_layout(layouts[move.from_layout()]);
      move.set_to_layout(layouts[move.to_layout()]);
    }
    for (const RegionCode::LayerUse& use : code.layers) {
      v1::Program::Layer& layer = *writer_.program().mutable_layers(use.op);
      layer.set_sram_bytes(use.sram_bytes);
      layer.set_tiles(use.tiles);
    }
    v1::Program& program = writer_.program();
    program.set_sram_peak_bytes(
        std::max(program.sram_peak_bytes(), code.scratchpad_peak_bytes));
    return code;
  }

  // Reads the engine's status until its job has ended.
  void SeeEnd(int32_t engine) {
    const Running job = *std::exchange(running_[engine], std::nullopt);
    const v1::RegisterJobs& jobs = machine_.engines(engine).jobs();
    v1::Program::Poll& poll = *writer_.program().add_steps()->mutable_poll();
    poll.set_engine(engine);
    poll.set_offset(jobs.status_offset());
    poll.set_mask(jobs.status_mask());
    poll.set_value(jobs.status_done());
    poll.set_layer(plans_.regions(job.region).ops(0));
    AddTaps(job.region, job.step);
  }

  // Of what a step of a region has made, visible after the last step so far.
  void AddTaps(int32_t region, int32_t step) {
    for (const v1::Program::Tap& tap : codes_[region]->taps) {
      if (tap.step() != step) continue;
      AddTap(tap, tap.tensor());
      const auto found = aliases_.find(writer_.storage()[tap.tensor()]);
      if (found == aliases_.end()) continue;
      for (const TensorId alias : found->second) {
        if (alias != tap.tensor()) AddTap(tap, alias);
      }
    }
  }

  void AddTap(const v1::Program::Tap& tap, TensorId tensor) {
    v1::Program::Tap& added = *writer_.program().add_taps();
    added = tap;
    added.set_step(writer_.program().steps_size() - 1);
    added.set_tensor(tensor);
    if (tensor == tap.tensor() || tap.box().shape_size() > 0) return;
    const std::vector<int64_t>& shape = graph_.tensors[tap.tensor()].shape;
    added.mutable_box()->mutable_shape()->Add(shape.begin(), shape.end());
  }

  const Graph& graph_;
  const v1::Partition& partition_;
  const v1::RegionPlans& plans_;
  const v1::Machine& machine_;
  ProgramWriter& writer_;
  const RegionMaker maker_;
  std::vector<Work> works_;
  TurnPlan turns_;
  std::vector<std::vector<uint64_t>> rooms_;           // By region and buffer.
  std::map<TensorId, std::vector<TensorId>> aliases_;  // By storage.
  std::vector<std::optional<RegionCode>> codes_;       // By region.
  std::vector<std::optional<Running>> running_;        // By engine.
};

}  // namespace

absl::Status EmitTurns(const Graph& graph, const v1::Partition& partition,
                       const v1::RegionPlans& plans, const v1::Machine& machine,
                       ProgramWriter& writer) {
  return TurnEmitter(graph, partition, plans, machine, writer).Run();
}

}  // namespace edgekiln::compiler
