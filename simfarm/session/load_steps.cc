#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "simfarm/session/loaded_program.h"
#include "target/host_cost.h"

namespace edgekiln::simfarm {
namespace {

// Walks the schedule once, as the host would.
class StepLoader {
 public:
  explicit StepLoader(LoadedProgram* loaded)
      : loaded_(loaded), running_(loaded->machine.engines_size(), -1) {}

  absl::Status Load() {
    for (int i = 0; i < loaded_->program.steps_size(); ++i) {
      EK_RETURN_IF_ERROR(
          LoadStep(loaded_->program.steps(i), &loaded_->steps[i]),
          absl::StrCat("step ", i));
    }
    for (const int32_t stream : running_) {
      if (stream >= 0) {
        return InvalidProgram("a launched stream is never awaited",
                              absl::StrCat("stream ", stream));
      }
    }
    return absl::OkStatus();
  }

 private:
  absl::Status LoadStep(const v1::Program::Step& step, LoadedStep* loaded) {
    if (!step.has_wait() && IsRunning()) loaded_->concurrent = true;
    switch (step.step_case()) {
      case v1::Program::Step::kHostOp:
        EK_RETURN_IF_ERROR(LoadHostOp(step.host_op(), loaded));
        break;
      case v1::Program::Step::kLaunch:
        EK_RETURN_IF_ERROR(Launch(step.launch().stream()));
        break;
      case v1::Program::Step::kWait:
        if (step.wait().engine() < 0 ||
            step.wait().engine() >= loaded_->machine.engines_size()) {
          return InvalidProgram(
              absl::StrCat("no engine ", step.wait().engine()), "");
        }
        running_[step.wait().engine()] = -1;
        break;
      case v1::Program::Step::kMove:
        EK_RETURN_IF_ERROR(LoadMove(step.move(), loaded));
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
    EK_ASSIGN_OR_RETURN(HostOp host, HostOp::Create(op, loaded_->machine));
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

  // Of the host's own code: element by element, whatever the layouts.
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
    EK_RETURN_IF_ERROR(loaded_->ReserveSystem(move.from(), from.size_bytes(),
                                              /*written=*/false, "move from"));
    EK_RETURN_IF_ERROR(loaded_->ReserveSystem(move.to(), to.size_bytes(),
                                              /*written=*/true, "move to"));
    EK_ASSIGN_OR_RETURN(
        loaded->host_cycles,
        target::HostCycles(loaded_->machine, "copy", from.dense_bytes()));
    return absl::OkStatus();
  }

  absl::Status Launch(int32_t stream) {
    if (stream < 0 || stream >= static_cast<int64_t>(loaded_->streams.size())) {
      return InvalidProgram(absl::StrCat("no stream ", stream), "");
    }
    const LoadedStream& launched = loaded_->streams[stream];
    if (running_[launched.engine] >= 0) {
      return InvalidProgram("the engine still runs another stream",
                            absl::StrCat("stream ", stream));
    }
    running_[launched.engine] = stream;
    return absl::OkStatus();
  }

  bool IsRunning() const {
    return std::any_of(running_.begin(), running_.end(),
                       [](int32_t stream) { return stream >= 0; });
  }

  LoadedProgram* loaded_;
  std::vector<int32_t> running_;  // Stream by engine; -1: idle.
};

}  // namespace

absl::Status LoadSteps(LoadedProgram* loaded) {
  return StepLoader(loaded).Load();
}

}  // namespace edgekiln::simfarm
