#include "compiler/codegen/emit_turns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/host_orders.h"
#include "compiler/codegen/host_pools.h"
#include "compiler/codegen/machine_backends.h"
#include "compiler/codegen/plane_sums.h"
#include "compiler/codegen/step_rooms.h"
#include "compiler/codegen/system_rooms.h"
#include "compiler/codegen/turns.h"
#include "compiler/codegen/views.h"
#include "target/layout.h"
#include "target/layout_parts.h"
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
              Views views, ProgramWriter& writer)
      : graph_(graph),
        partition_(partition),
        plans_(plans),
        machine_(machine),
        backends_(machine),
        views_(std::move(views)),
        writer_(writer),
        maker_(graph),
        orders_(HostOrders(graph, partition, views_)),
        codes_(plans.regions_size()),
        taps_(plans.regions_size()),
        running_(machine.engines_size()) {}

  absl::Status Run() {
    EK_ASSIGN_OR_RETURN(works_,
                        WorksOf(graph_, views_, partition_, plans_, machine_));
    EK_ASSIGN_OR_RETURN(turns_,
                        ReplayTurns(works_, plans_.turns(), machine_,
                                    static_cast<int32_t>(graph_.ops.size())));
    EK_RETURN_IF_ERROR(ReadRooms());
    EK_RETURN_IF_ERROR(PlaceTensors());
    FindAliases();
    for (const TurnPlan::Turn& turn : turns_.turns) {
      for (const int32_t engine : turn.polls) {
        EK_RETURN_IF_ERROR(SeeEnd(engine));
      }
      EK_RETURN_IF_ERROR(AddTurn(turn));
      if (&turn != &turns_.turns.front()) continue;
      for (const TensorId input : graph_.inputs) {
        EK_RETURN_IF_ERROR(TapViews(writer_.storage()[input]));
      }
    }
    for (const int32_t engine : turns_.last_polls) {
      EK_RETURN_IF_ERROR(SeeEnd(engine));
    }
    for (int32_t op = 0; op < std::ssize(turns_.layer_cycles); ++op) {
      writer_.AddCycles(turns_.layer_cycles[op], op);
    }
    return absl::OkStatus();
  }

 private:
  // A job that the host has started and not yet seen to end.
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
        if (buffer.tensor() < 0 ||
            buffer.tensor() >= std::ssize(graph_.tensors)) {
          return Foreign();
        }
        resident[views_.places()[buffer.tensor()]] = {buffer.memory(),
                                                      room.address()};
      }
    }
    resident_ = resident;
    writer_.SetResident(std::move(resident));
    return absl::OkStatus();
  }

  absl::Status PlaceTensors() {
    EK_ASSIGN_OR_RETURN(RamPlan ram,
                        ReadSystemRooms(graph_, views_, partition_, plans_,
                                        machine_, writer_.memories().rams));
    in_ram_ = ram.address;
    step_rooms_ = StepRooms(plans_, machine_, writer_.memories().rams[0]);
    step_rooms_.AddTo(ram);
    for (size_t t = 0; t < graph_.tensors.size(); ++t) {
      const auto found = ram.address.find(views_.places()[t]);
      if (found == ram.address.end()) continue;
      in_ram_[static_cast<TensorId>(t)] = found->second;
    }
    EK_ASSIGN_OR_RETURN(
        arranged_, ArrangedPlaces(graph_, orders_, views_, plans_, machine_));
    writer_.SetRam(std::move(ram));
    writer_.SetPlaces(views_.places());
    return absl::OkStatus();
  }

  // Finds the outputs of reshapes, by storage.
  void FindAliases() {
    for (const Op& op : graph_.ops) {
      if (!op.attributes.has_reshape()) continue;
      aliases_[writer_.storage()[op.outputs[0]]].push_back(op.outputs[0]);
    }
  }

  absl::Status AddTurn(const TurnPlan::Turn& turn) {
    const Work& work = works_[turn.work];
    if (work.region < 0) {
      AddHostOp(work.op);
      for (const TensorId output : graph_.ops[work.op].outputs) {
        EK_RETURN_IF_ERROR(TapHostOutput(output));
      }
      return absl::OkStatus();
    }
    std::optional<RegionCode>& code = codes_[work.region];
    if (!code) {
      EK_ASSIGN_OR_RETURN(code, EmitRegion(work.region));
    }
    if (plans_.regions(work.region).steps().empty()) return Foreign();
    for (v1::Program::Step& step : code->steps[turn.step]) {
      *writer_.program().add_steps() = std::move(step);
    }
    if (work.steps[turn.step].job) {
      running_[work.engine] = Running{work.region, turn.step};
      return absl::OkStatus();
    }
    return AddTaps(work.region, turn.step);
  }

  absl::Status TapHostOutput(TensorId output) {
    const std::vector<TensorId>& aliases = aliases_[writer_.storage()[output]];
    const auto arranged = arranged_.find(views_.places()[output]);
    if (arranged == arranged_.end()) {
      writer_.TapWhole(output);
      for (const TensorId alias : aliases) writer_.TapWhole(alias);
      return TapViews(output);
    }
    writer_.TapWhole(output, writer_.LocationOf(output), arranged->second);
    const v1::Program::Tap tap = *writer_.program().taps().rbegin();
    for (const TensorId alias : aliases) AddTap(tap, alias);
    return absl::OkStatus();
  }

  // Places that driven ops and host ops share may lie as the engine has them.
  void AddHostOp(int32_t index) {
    const v1::Layout* const planes = PlanesOfInput(
        graph_, graph_.ops[index], writer_.storage(), plans_, machine_);
    if (planes != nullptr) {
      writer_.AddPlaneSum(index, *planes);
      return;
    }
    const std::optional<PoolRun> pool =
        PoolRunAt(graph_, index, orders_, arranged_);
    if (pool && pool->form) {
      writer_.AddForm(index, *pool->form);
    } else {
      writer_.AddHostOp(index);
    }
    if (pool && pool->left) writer_.RestoreOrder(index, *pool->left);
  }

  // Adds taps of the tensor's views, which are complete when it is.
  absl::Status TapViews(TensorId tensor) {
    const TensorId place = views_.places()[tensor];
    if (views_.OthersOf(place).empty()) return absl::OkStatus();
    v1::Location location;
    std::optional<v1::Layout> layout;
    const auto resident = resident_.find(place);
    if (resident != resident_.end()) {
      location.set_memory(resident->second.first);
      location.set_address(resident->second.second);
      layout = ResidentLayoutOf(tensor);
    } else if (const auto ram = in_ram_.find(place); ram != in_ram_.end()) {
      location.set_memory(writer_.RamAt(ram->second));
      location.set_address(ram->second);
      layout = views_.InDensePlace(tensor);
    }
    if (!layout) return Foreign();
    std::vector<TensorId> all(views_.OthersOf(place).begin(),
                              views_.OthersOf(place).end());
    all.push_back(place);
    for (const TensorId other : all) {
      if (other == tensor) continue;
      const auto there = views_.Between(tensor, *layout, other);
      if (!there) return Foreign();
      writer_.TapWhole(other, location, *there);
      for (const TensorId alias : aliases_[other]) {
        const auto shaped =
            target::InShape(*there, graph_.tensors[alias].shape);
        if (shaped) writer_.TapWhole(alias, location, *shaped);
      }
    }
    return absl::OkStatus();
  }

  // The layout of a resident output of a region.
  std::optional<v1::Layout> ResidentLayoutOf(TensorId tensor) const {
    for (const v1::RegionPlan& plan : plans_.regions()) {
      for (const v1::RegionPlan::Border& border : plan.borders()) {
        if (border.tensor() == tensor) return border.layout();
      }
    }
    return std::nullopt;
  }

  absl::StatusOr<RegionCode> EmitRegion(int32_t index) {
    const v1::RegionPlan& plan = plans_.regions(index);
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        backends_.Find(plan.engine()));
    const RegionMemory memory = {
        .tensors = &in_ram_,
        .ram = writer_.memories().rams[0],
        .flash = writer_.memories().flash,
        .constants = writer_.flash().Align(ProgramWriter::kConstantAlignment),
        .buffers = rooms_[index],
        .step_room = step_rooms_.AddressOf(plan.engine())};
    const Region region = maker_.Make({plan.ops().begin(), plan.ops().end()});
    EK_ASSIGN_OR_RETURN(RegionCode code,
                        backend->Emit(region, plan, machine_, memory));
    if (std::ssize(code.steps) != plan.steps_size()) return Foreign();
    writer_.flash().Adopt(std::move(code.constants));
    std::vector<int32_t> layouts;
    for (const v1::Layout& layout : code.layouts) {
      layouts.push_back(writer_.IndexOf(layout));
    }
    taps_[index].resize(code.steps.size());
    for (v1::Program::Tap& tap : code.taps) {
      if (tap.step() < 0 || tap.step() >= std::ssize(code.steps)) {
        return Foreign();
      }
      tap.set_stream(-1);
      tap.set_layout(layouts[tap.layout()]);
      taps_[index][tap.step()].push_back(std::move(tap));
    }
    for (std::vector<v1::Program::Step>& steps : code.steps) {
      for (v1::Program::Step& step : steps) {
        if (!step.has_move()) continue;
        v1::Program::Move& move = *step.mutable_move();
        move.set_from_layout(layouts[move.from_layout()]);
        move.set_to_layout(layouts[move.to_layout()]);
      }
    }
    for (const RegionCode::LayerUse& use : code.layers) {
      v1::Program::Layer& layer = *writer_.program().mutable_layers(use.op);
      layer.set_sram_bytes(use.sram_bytes);
      layer.set_tiles(use.tiles);
    }
    v1::Program& program = writer_.program();
    for (const RegionCode::MemoryUse& used : code.memories) {
      program.set_sram_peak_bytes(
          std::max(program.sram_peak_bytes(), used.bytes));
    }
    return code;
  }

  // Reads the engine's status until its job has ended.
  absl::Status SeeEnd(int32_t engine) {
    const Running job = *std::exchange(running_[engine], std::nullopt);
    const v1::RegisterJobs& jobs = machine_.engines(engine).jobs();
    v1::Program::Poll& poll = *writer_.program().add_steps()->mutable_poll();
    poll.set_engine(engine);
    poll.set_offset(jobs.status_offset());
    poll.set_mask(jobs.status_mask());
    poll.set_value(jobs.status_done());
    poll.set_layer(plans_.regions(job.region).ops(0));
    return AddTaps(job.region, job.step);
  }

  // Adds the taps of a region's step, at the last step added so far.
  absl::Status AddTaps(int32_t region, int32_t step) {
    for (const v1::Program::Tap& tap : taps_[region][step]) {
      AddTap(tap, tap.tensor());
      const auto found = aliases_.find(writer_.storage()[tap.tensor()]);
      if (found == aliases_.end()) continue;
      for (const TensorId alias : found->second) {
        if (alias != tap.tensor()) AddTap(tap, alias);
      }
    }
    const v1::RegionPlan& plan = plans_.regions(region);
    if (step + 1 < plan.steps_size()) return absl::OkStatus();
    for (const int32_t op : plan.ops()) {
      for (const TensorId output : graph_.ops[op].outputs) {
        EK_RETURN_IF_ERROR(TapViews(writer_.storage()[output]));
      }
    }
    return absl::OkStatus();
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
  MachineBackends backends_;
  const Views views_;
  ProgramWriter& writer_;
  const RegionMaker maker_;
  const std::vector<HostOrder> orders_;
  std::vector<Work> works_;
  TurnPlan turns_;
  std::vector<std::vector<uint64_t>> rooms_;        // By region and buffer.
  ResidentPlaces resident_;                         // By place.
  absl::flat_hash_map<TensorId, uint64_t> in_ram_;  // By storage.
  // By place: layouts that are not dense, where the host reaches them.
  HostLayouts arranged_;
  StepRooms step_rooms_;
  std::map<TensorId, std::vector<TensorId>> aliases_;  // By storage.
  std::vector<std::optional<RegionCode>> codes_;       // By region.
  // By region and step of its plan.
  std::vector<std::vector<std::vector<v1::Program::Tap>>> taps_;
  std::vector<std::optional<Running>> running_;  // By engine.
};

}  // namespace

absl::Status EmitTurns(const Graph& graph, const v1::Partition& partition,
                       const v1::RegionPlans& plans, const v1::Machine& machine,
                       ProgramWriter& writer) {
  const std::vector<int32_t> folded(plans.folded().begin(),
                                    plans.folded().end());
  EK_ASSIGN_OR_RETURN(Views views, Views::Create(graph, partition, folded));
  return TurnEmitter(graph, partition, plans, machine, std::move(views), writer)
      .Run();
}

}  // namespace edgekiln::compiler
