#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "google/protobuf/repeated_field.h"
#include "simfarm/session/load_devices.h"
#include "simfarm/session/loaded_program.h"
#include "target/host_cost.h"
#include "target/memories.h"
#include "target/move_cost.h"

namespace edgekiln::simfarm {
namespace {

// Walks the schedule once, as the host would.
class StepLoader {
 public:
  StepLoader(LoadedProgram* loaded, SimulatorMaker new_simulator)
      : loaded_(loaded),
        running_(loaded->machine.engines_size(), -1),
        devices_(loaded, new_simulator) {}

  absl::Status Load() {
    EK_ASSIGN_OR_RETURN(costs_, target::HostCosts::Create(loaded_->machine));
    for (int i = 0; i < loaded_->program.steps_size(); ++i) {
      EK_RETURN_IF_ERROR(
          LoadStep(loaded_->program.steps(i), &loaded_->steps[i]),
          absl::StrCat("step ", i));
    }
    devices_.Finish();
    for (int32_t e = 0; e < loaded_->machine.engines_size(); ++e) {
      const std::string engine =
          absl::StrCat("engine ", loaded_->machine.engines(e).name());
      if (running_[e] >= 0) {
        return InvalidProgram(
            "a launched stream is never awaited",
            absl::StrCat(engine, ", ", loaded_->streams[running_[e]].name));
      }
      if (devices_.IsBusy(e)) {
        return InvalidProgram("no poll sees the end of the last job", engine);
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status LoadStep(const v1::Program::Step& step, LoadedStep* loaded) {
    if (!step.has_wait() && !step.has_poll() && IsRunning()) {
      loaded_->concurrent = true;
    }
    switch (step.step_case()) {
      case v1::Program::Step::kHostOp:
        EK_RETURN_IF_ERROR(LoadHostOp(step.host_op(), loaded));
        break;
      case v1::Program::Step::kLaunch:
        EK_RETURN_IF_ERROR(Launch(loaded->stream));
        break;
      case v1::Program::Step::kWait:
        EK_RETURN_IF_ERROR(Wait(step.wait().engine()));
        break;
      case v1::Program::Step::kMove:
        EK_RETURN_IF_ERROR(LoadMove(step.move(), loaded));
        break;
      case v1::Program::Step::kRegisterWrites: {
        const v1::Program::RegisterWrites& writes = step.register_writes();
        EK_RETURN_IF_ERROR(CheckLayer(writes.layer()));
        EK_RETURN_IF_ERROR(
            devices_.Write(writes, loaded),
            loaded_->NameRegisters(writes.engine(), writes.layer()));
        break;
      }
      case v1::Program::Step::kPoll:
        EK_RETURN_IF_ERROR(CheckLayer(step.poll().layer()));
        EK_RETURN_IF_ERROR(
            devices_.Poll(step.poll(), loaded),
            loaded_->NameRegisters(step.poll().engine(), step.poll().layer()));
        break;
      default:
        return InvalidProgram("an unknown kind of step", "");
    }
    if (!loaded->taps.empty() && IsRunning()) loaded_->concurrent = true;
    return absl::OkStatus();
  }

  absl::Status CheckLayer(int32_t layer) {
    if (layer >= 0 && layer < loaded_->program.layers_size()) {
      return absl::OkStatus();
    }
    return InvalidProgram(absl::StrCat("no layer ", layer), "");
  }

  absl::Status LoadHostOp(const v1::Program::HostOp& op, LoadedStep* loaded) {
    EK_RETURN_IF_ERROR(CheckLayer(op.layer()));
    for (const auto& operand : op.inputs()) {
      if (!operand.absent()) {
        EK_RETURN_IF_ERROR(CheckOperand(operand, /*written=*/false));
      }
    }
    for (const auto& operand : op.outputs()) {
      EK_RETURN_IF_ERROR(CheckOperand(operand, /*written=*/true));
    }
    EK_ASSIGN_OR_RETURN(HostOp host, HostOp::Create(op, costs_));
    loaded->host_cycles = host.cycles();
    loaded->host_op = std::move(host);
    return absl::OkStatus();
  }

  absl::Status CheckOperand(const v1::Program::HostOp::Operand& operand,
                            bool written) {
    const std::string what = absl::StrCat("operand ", operand.type().name());
    EK_ASSIGN_OR_RETURN(const int64_t bytes, TensorBytes(operand.type()), what);
    return loaded_->ReserveSystem(operand.location(), bytes, written, what);
  }

  absl::Status LoadMove(const v1::Program::Move& move, LoadedStep* loaded) {
    EK_RETURN_IF_ERROR(CheckLayer(move.layer()));
    EK_ASSIGN_OR_RETURN(loaded->from_layout,
                        loaded_->FindLayout(move.from_layout()), "move from");
    EK_ASSIGN_OR_RETURN(loaded->to_layout,
                        loaded_->FindLayout(move.to_layout()), "move to");
    const target::Layout& from = *loaded->from_layout;
    const target::Layout& to = *loaded->to_layout;
    if (from.extents() != to.extents() ||
        from.element_bytes() != to.element_bytes()) {
      return InvalidProgram("a move between layouts of two arrays", "");
    }
    if (from.dense_bytes() == 0) return InvalidProgram("a move of nothing", "");
    EK_RETURN_IF_ERROR(move.link() == -1 ? LoadOwnMove(move, loaded)
                                         : LoadLinkMove(move, loaded));
    return CheckApart(move, from, to);
  }

  // A move by the host's own code: element by element, whatever the layouts.
  absl::Status LoadOwnMove(const v1::Program::Move& move, LoadedStep* loaded) {
    EK_RETURN_IF_ERROR(loaded_->ReserveSystem(move.from(),
                                              loaded->from_layout->size_bytes(),
                                              /*written=*/false, "move from"));
    EK_RETURN_IF_ERROR(loaded_->ReserveSystem(move.to(),
                                              loaded->to_layout->size_bytes(),
                                              /*written=*/true, "move to"));
    EK_ASSIGN_OR_RETURN(loaded->host_cycles,
                        costs_.CopyCycles(loaded->from_layout->dense_bytes()));
    return absl::OkStatus();
  }

  // No link writes read-only memory.
  absl::Status LoadLinkMove(const v1::Program::Move& move, LoadedStep* loaded) {
    if (move.link() < 0 || move.link() >= loaded_->machine.links_size()) {
      return InvalidProgram(absl::StrCat("no link ", move.link()), "");
    }
    const v1::ResolvedLink& link = loaded_->machine.links(move.link());
    const std::string where = absl::StrCat("link ", link.name());
    if (link.owner() != target::kHostOwner) {
      return InvalidProgram("the link is not the host's", where);
    }
    if (link.has_window() && devices_.IsBusy(link.window())) {
      return InvalidProgram(
          absl::StrCat("the link is part of engine ",
                       loaded_->machine.engines(link.window()).name(),
                       ", of whose job no poll has seen the end"),
          where);
    }
    EK_RETURN_IF_ERROR(
        CheckEnd(link.from(), move.from(), *loaded->from_layout, "move from"),
        where);
    EK_RETURN_IF_ERROR(
        CheckEnd(link.to(), move.to(), *loaded->to_layout, "move to"), where);
    EK_ASSIGN_OR_RETURN(
        loaded->host_cycles,
        target::MoveCycles(link, loaded_->program.layouts(move.from_layout()),
                           loaded_->program.layouts(move.to_layout())),
        where);
    if (!link.has_window()) return absl::OkStatus();
    EK_RETURN_IF_ERROR(
        CheckApart(move, *loaded->from_layout, *loaded->to_layout));
    EK_RETURN_IF_ERROR(devices_.Move(link.window(), move, loaded), where);
    return absl::OkStatus();
  }

  // The memories that a link reads, or writes.
  absl::Status CheckEnd(
      const google::protobuf::RepeatedField<int32_t>& memories,
      const v1::Location& location, const target::Layout& layout,
      absl::string_view what) {
    EK_RETURN_IF_ERROR(loaded_->Reserve(location.memory(), location.address(),
                                        layout.size_bytes(), what));
    const bool joined = std::find(memories.begin(), memories.end(),
                                  location.memory()) != memories.end();
    if (joined && !loaded_->IsScratchpad(location.memory())) {
      return absl::OkStatus();
    }
    return InvalidProgram(
        absl::StrCat("the link does not reach memory ",
                     loaded_->machine.memories(location.memory()).name()),
        std::string(what));
  }

  // The order in which a move reads and writes is undefined.
  absl::Status CheckApart(const v1::Program::Move& move,
                          const target::Layout& from,
                          const target::Layout& to) {
    if (move.from().memory() != move.to().memory()) return absl::OkStatus();
    const uint64_t begin = std::max(move.from().address(), move.to().address());
    const uint64_t end = std::min(move.from().address() + from.size_bytes(),
                                  move.to().address() + to.size_bytes());
    // Arrays above the memory limit are refused elsewhere.
    if (begin >= end || end - begin > static_cast<uint64_t>(
                                          loaded_->options.max_memory_bytes)) {
      return absl::OkStatus();
    }
    std::vector<bool> read(end - begin);
    from.VisitTaken([&](int64_t offset, int64_t bytes) {
      const uint64_t at = move.from().address() + offset;
      for (uint64_t a = std::max(at, begin); a < at + bytes && a < end; ++a) {
        read[a - begin] = true;
      }
      return true;
    });
    std::optional<uint64_t> twice;
    to.VisitTaken([&](int64_t offset, int64_t bytes) {
      const uint64_t at = move.to().address() + offset;
      for (uint64_t a = std::max(at, begin); a < at + bytes && a < end; ++a) {
        if (read[a - begin]) twice = a;
        if (twice.has_value()) return false;
      }
      return true;
    });
    if (!twice.has_value()) return absl::OkStatus();
    return InvalidProgram(
        "a move writes what it reads",
        absl::StrFormat("%s 0x%x",
                        loaded_->machine.memories(move.to().memory()).name(),
                        *twice));
  }

  absl::Status Launch(int32_t stream) {
    const LoadedStream& launched = loaded_->streams[stream];
    if (running_[launched.engine] >= 0) {
      return InvalidProgram("the engine still runs another stream",
                            launched.name);
    }
    running_[launched.engine] = stream;
    return absl::OkStatus();
  }

  absl::Status Wait(int32_t engine) {
    if (engine < 0 || engine >= loaded_->machine.engines_size()) {
      return InvalidProgram(absl::StrCat("no engine ", engine), "");
    }
    if (loaded_->machine.engines(engine).has_jobs()) {
      return InvalidProgram(
          "the host drives the engine: it polls, it does not wait",
          absl::StrCat("engine ", loaded_->machine.engines(engine).name()));
    }
    running_[engine] = -1;
    return absl::OkStatus();
  }

  bool IsRunning() const {
    for (int32_t e = 0; e < loaded_->machine.engines_size(); ++e) {
      if (running_[e] >= 0 || devices_.IsBusy(e)) return true;
    }
    return false;
  }

  LoadedProgram* loaded_;
  target::HostCosts costs_;
  std::vector<int32_t> running_;  // Loaded stream by engine; -1: idle.
  DeviceLoader devices_;
};

}  // namespace

absl::Status LoadSteps(LoadedProgram* loaded, SimulatorMaker new_simulator) {
  return StepLoader(loaded, new_simulator).Load();
}

}  // namespace edgekiln::simfarm
