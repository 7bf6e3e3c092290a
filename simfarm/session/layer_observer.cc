#include "simfarm/session/layer_observer.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "simfarm/session/firmware_values.h"

namespace edgekiln::simfarm {
namespace {

absl::Status OrderError(std::string what) {
  return MakeError(absl::StatusCode::kFailedPrecondition,
                   {.reason = "FIRMWARE_FAULT",
                    .what = std::move(what),
                    .where = "order of layers"});
}

}  // namespace

void LayerObserver::Begin(const TapVisitor* visit, const rv32::Totals& totals) {
  state_ = State::kBetween;
  visit_ = visit;
  shown_ = 0;
  charged_until_ = totals.cycles;
  cycles_.assign(num_layers(), 0);
  for (next_ = 0; next_ < num_layers() && !HasCode(next_);) ++next_;
}

absl::Status LayerObserver::End(rv32::Machine& machine) {
  if (state_ == State::kInLayer) {
    return OrderError(absl::StrCat("the run ended inside of ", NameOf(next_)));
  }
  if (next_ < num_layers()) {
    return OrderError(absl::StrCat(NameOf(next_), " was not called"));
  }
  int last = num_layers() - 1;
  while (last > 0 && !HasCode(last)) --last;
  if (last >= 0) Charge(last, machine.totals(), machine);
  return ShowTaps(num_layers(), machine);
}

absl::Status LayerObserver::OnEnter(int function,
                                    const rv32::Totals& /*totals*/,
                                    rv32::Machine& machine) {
  if (state_ == State::kSetup) return absl::OkStatus();
  const bool expected = state_ == State::kBetween && next_ < num_layers() &&
                        firmware_.function_of_layer[next_] == function;
  if (!expected) {
    int called = 0;
    while (firmware_.function_of_layer[called] != function) ++called;
    return OrderError(absl::StrCat(
        NameOf(called), " is called ",
        state_ == State::kInLayer ? absl::StrCat("inside of ", NameOf(next_))
        : next_ < num_layers()    ? absl::StrCat("before ", NameOf(next_))
                                  : "a second time"));
  }
  state_ = State::kInLayer;
  // What the layers without code give may be overwritten from now on.
  return ShowTaps(next_, machine);
}

absl::Status LayerObserver::OnReturn(int /*function*/,
                                     const rv32::Totals& totals,
                                     rv32::Machine& machine) {
  if (state_ != State::kInLayer) return absl::OkStatus();
  Charge(next_, totals, machine);
  EK_RETURN_IF_ERROR(ShowTaps(next_ + 1, machine));
  state_ = State::kBetween;
  do {
    ++next_;
  } while (next_ < num_layers() && !HasCode(next_));
  return absl::OkStatus();
}

std::string LayerObserver::Where() const {
  switch (state_) {
    case State::kSetup:
      return "setup";
    case State::kBetween:
      return "between layers";
    case State::kInLayer:
      break;
  }
  return absl::StrCat("layer ", firmware_.loaded->program.layers(next_).id());
}

std::string LayerObserver::NameOf(int layer) const {
  const v1::Program& program = firmware_.loaded->program;
  return absl::StrCat("function ", program.firmware().functions(layer),
                      " of layer ", program.layers(layer).id());
}

void LayerObserver::Charge(int layer, const rv32::Totals& totals,
                           const rv32::Machine& machine) {
  cycles_[layer] += totals.cycles - charged_until_;
  charged_until_ = totals.cycles;
  if (recorder_ != nullptr) recorder_->EndLayer(layer, machine);
}

absl::Status LayerObserver::ShowTaps(int end, rv32::Machine& machine) {
  for (; shown_ < end; ++shown_) {
    for (const LoadedTap& tap : firmware_.loaded->steps[shown_].taps) {
      EK_RETURN_IF_ERROR(Show(tap, shown_, machine));
    }
  }
  return absl::OkStatus();
}

absl::Status LayerObserver::Show(const LoadedTap& tap, int layer,
                                 rv32::Machine& machine) {
  EK_ASSIGN_OR_RETURN(
      const absl::string_view values,
      ReadValues(tap.tap->location().address(), *tap.layout, "tap", machine,
                 buffer_),
      absl::StrCat("layer ", firmware_.loaded->program.layers(layer).id()));
  if (*visit_ == nullptr) return absl::OkStatus();
  return (*visit_)(*tap.tap, values);
}

}  // namespace edgekiln::simfarm
