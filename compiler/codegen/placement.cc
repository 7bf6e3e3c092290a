#include "compiler/codegen/placement.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/codegen/placement_prediction.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/op_forms.h"
#include "compiler/partition/op_split.h"
#include "compiler/partition/pad_kernels.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/phases.h"
#include "compiler/passes/graph_edit.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;
constexpr int kMaxRounds = 4;
// Bound on PlacementPredictor::effort() of one search.
constexpr int64_t kMaxEffort = int64_t{1} << 18;

// A form of an op, and its cycles by itself.
struct Choice {
  OpForm form;
  std::optional<int64_t> cycles;  // None: too little memory.
};

class Placer {
 public:
  Placer(const OpForms& forms, const v1::Machine& machine, EstimateMemo* memo)
      : forms_(forms),
        machine_(machine),
        predictor_(forms, machine, memo),
        choices_(forms.whole.ops.size()),
        placed_(forms.placed) {}

  absl::Status Run(bool with_host) {
    EK_RETURN_IF_ERROR(predictor_.Init());
    EK_RETURN_IF_ERROR(FindEngines());
    EK_ASSIGN_OR_RETURN(best_, predictor_.Predict(placed_));
    EK_RETURN_IF_ERROR(Search());
    if (!with_host) return absl::OkStatus();
    EK_RETURN_IF_ERROR(AddHost());
    return Search();
  }

  const OpForm& form(int32_t op) const { return placed_[op]; }
  bool HasChoice(int32_t op) const { return choices_[op].size() > 1; }

  // "npu0 runs conv2d (203 cycles alone; the host: 812)"; `before` is what
  // partition said of the op.
  std::string ReasonFor(int32_t op, absl::string_view before) const {
    const OpForm& own = placed_[op];
    std::string cycles;
    std::string others;
    for (const Choice& choice : choices_[op]) {
      const std::string alone =
          choice.cycles ? absl::StrCat(*choice.cycles) : "too little memory";
      if (choice.form == own) {
        cycles = alone;
      } else {
        absl::StrAppend(&others, "; ", NameOf(op, choice.form), ": ", alone);
      }
    }
    return absl::StrCat(
        NameOf(own.engine), " runs ", forms_.whole.ops[op].kind(),
        own.second == kWhole ? "" : UpTo(forms_.splits[op]),
        own.engine == kHost ? "" : PhasesIn(before),
        own.engine == kHost ? "" : PaddingIn(before), " (", cycles,
        " cycles alone", own.second == kWhole ? "" : WithSecond(op, own),
        others, ")");
  }

  // The reason of a split op's second half.
  std::string SecondReasonFor(int32_t op) const {
    const bool sums = forms_.splits[op] == OpSplit::kSums;
    return absl::StrCat(NameOf(placed_[op].second), " runs ",
                        SecondHalf(forms_.splits[op]), "; ",
                        sums ? "scales the int32 sums" : "limits the results",
                        " of a layer (", forms_.whole.ops[op].id, ")");
  }

 private:
  std::string NameOf(int32_t engine) const {
    return engine == kHost ? "the host" : machine_.engines(engine).name();
  }

  std::string NameOf(int32_t op, const OpForm& form) const {
    if (form.second == kWhole) return NameOf(form.engine);
    return absl::StrCat(NameOf(form.engine), WithSecond(op, form));
  }

  std::string WithSecond(int32_t op, const OpForm& form) const {
    return absl::StrCat(" with ", SecondHalf(forms_.splits[op]), " by ",
                        NameOf(form.second));
  }

  // Partition may leave an op to the host although an engine takes it; keep its
  // reason.
  bool Movable(int32_t op) const {
    return placed_[op].engine != kHost && !forms_.choices[op].empty();
  }

  absl::Status Add(int32_t op, const OpForm& form) {
    const bool known = absl::c_any_of(
        choices_[op], [&](const Choice& c) { return c.form == form; });
    if (known) return absl::OkStatus();
    EK_ASSIGN_OR_RETURN(const std::optional<int64_t> cycles,
                        predictor_.Alone(op, form));
    choices_[op].push_back({form, cycles});
    return absl::OkStatus();
  }

  absl::Status FindEngines() {
    for (int32_t i = 0; i < std::ssize(choices_); ++i) {
      if (!Movable(i)) continue;
      for (const OpForm& form : forms_.choices[i]) {
        EK_RETURN_IF_ERROR(Add(i, form));
      }
      if (NothingFits(i)) placed_[i] = SmallestForm(i);
    }
    return absl::OkStatus();
  }

  bool NothingFits(int32_t op) const {
    return absl::c_none_of(
        choices_[op], [](const Choice& c) { return c.cycles.has_value(); });
  }

  // int8 results need less memory than int32 sums, so the error names what the
  // whole op needs.
  OpForm SmallestForm(int32_t op) const {
    const bool whole = placed_[op].second == kWhole;
    for (const Choice& choice : choices_[op]) {
      if (!whole && choice.form.second == kWhole) return choice.form;
    }
    return placed_[op];
  }

  // The host runs ops whole: it runs no first half alone.
  absl::Status AddHost() {
    for (int32_t i = 0; i < std::ssize(choices_); ++i) {
      if (choices_[i].empty()) continue;
      for (const OpForm& form : forms_.choices[i]) {
        if (form.second == kWhole) continue;
        EK_RETURN_IF_ERROR(Add(i, {form.engine, kHost}));
      }
      EK_RETURN_IF_ERROR(Add(i, {kHost, kWhole}));
    }
    return absl::OkStatus();
  }

  absl::Status Search() {
    const int64_t limit = predictor_.effort() + kMaxEffort;
    EK_RETURN_IF_ERROR(Try(FastestAlone()).status());
    bool gained = true;
    for (int round = 0; round < kMaxRounds && gained; ++round) {
      gained = false;
      for (int32_t i = 0; i < std::ssize(choices_); ++i) {
        for (const Choice& choice : choices_[i]) {
          if (predictor_.effort() > limit) return absl::OkStatus();
          if (!CouldGain(i, choice)) continue;
          std::vector<OpForm> moved = placed_;
          moved[i] = choice.form;
          EK_ASSIGN_OR_RETURN(const bool better, Try(std::move(moved)));
          gained = gained || better;
        }
      }
    }
    return absl::OkStatus();
  }

  std::vector<OpForm> FastestAlone() const {
    std::vector<OpForm> fastest = placed_;
    for (size_t i = 0; i < choices_.size(); ++i) {
      int64_t least = kMaxPredictedCycles;
      for (const Choice& choice : choices_[i]) {
        if (!choice.cycles || *choice.cycles >= least) continue;
        least = *choice.cycles;
        fastest[i] = choice.form;
      }
    }
    return fastest;
  }

  // In a region of several, an op adds at most what it takes alone. The host
  // works beside engines only if it drives them.
  bool CouldGain(int32_t op, const Choice& choice) const {
    if (choice.form == placed_[op] || !choice.cycles) return false;
    if (choice.form.engine != kHost ||
        predictor_.HostDriven(placed_[op].engine)) {
      return true;
    }
    const auto own = absl::c_find_if(
        choices_[op], [&](const Choice& c) { return c.form == placed_[op]; });
    return own == choices_[op].end() || !own->cycles ||
           *choice.cycles < *own->cycles;
  }

  // Keeps the placement if it is better.
  absl::StatusOr<bool> Try(std::vector<OpForm> placed) {
    EK_ASSIGN_OR_RETURN(const int64_t predicted, predictor_.Predict(placed));
    if (predicted >= best_) return false;
    best_ = predicted;
    placed_ = std::move(placed);
    return true;
  }

  const OpForms& forms_;
  const v1::Machine& machine_;
  PlacementPredictor predictor_;
  std::vector<std::vector<Choice>> choices_;  // By op; empty: stays.
  std::vector<OpForm> placed_;
  int64_t best_ = 0;
};

// The host runs convolutions on their image in place of its phases. True for
// ops that nobody needs any more.
std::vector<bool> UndoPhasesOnHost(const OpForms& forms, const Placer& placer,
                                   Graph& graph) {
  FreshNames names(graph);
  std::vector<int> uses = UsesOf(graph);
  std::vector<bool> gone(graph.ops.size());
  for (const auto& [op, whole] : forms.whole_images) {
    if (placer.form(op).engine != kHost) continue;
    Op& conv = graph.ops[op];
    conv.attributes = whole.attributes;
    conv.inputs[0] = whole.image;
    TensorId& weights = conv.inputs[1];
    if (--uses[weights] > 0) {
      weights = static_cast<TensorId>(graph.tensors.size());
      graph.tensors.emplace_back();
    }
    const std::string name =
        names.TensorName(absl::StrCat(whole.kernel.name, ".whole"));
    graph.tensors[weights] = whole.kernel;
    graph.tensors[weights].name = name;
    for (const int32_t each : whole.rearranging) gone[each] = true;
  }
  return gone;
}

// The host runs kernels as they were before they were padded for an engine.
void UnpadOnHost(const OpForms& forms, const Placer& placer, Graph& graph) {
  FreshNames names(graph);
  std::vector<int> uses = UsesOf(graph);
  for (const auto& [op, unpadded] : forms.unpadded) {
    if (placer.form(op).engine != kHost || forms.whole_images.contains(op)) {
      continue;
    }
    Tensor kernel = unpadded.kernel;
    kernel.name = names.TensorName(absl::StrCat(kernel.name, ".unpadded"));
    graph.ops[op].attributes = unpadded.attributes;
    TensorId& weights = graph.ops[op].inputs[1];
    if (--uses[weights] == 0) {
      graph.tensors[weights] = std::move(kernel);
      continue;
    }
    weights = static_cast<TensorId>(graph.tensors.size());
    graph.tensors.push_back(std::move(kernel));
  }
}

}  // namespace

absl::StatusOr<v1::Partition> PlaceByCycles(
    const v1::Partition& partition, const v1::Capabilities& capabilities,
    const v1::Machine& machine, v1::Offload offload, EstimateMemo* memo) {
  const auto other = absl::InvalidArgumentError(
      "partition, capabilities and machine are not of one target");
  if (capabilities.engines_size() != machine.engines_size()) return other;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    if (placement.engine() < kHost ||
        placement.engine() >= machine.engines_size()) {
      return other;
    }
  }
  EK_ASSIGN_OR_RETURN(const OpForms forms, OpFormsOf(partition, capabilities));
  Placer placer(forms, machine, memo);
  EK_RETURN_IF_ERROR(placer.Run(offload == v1::PAYING));
  Graph graph = forms.whole;  // Constants stay shared.
  UnpadOnHost(forms, placer, graph);
  const std::vector<bool> gone = UndoPhasesOnHost(forms, placer, graph);
  std::vector<Op> ops = std::move(graph.ops);
  graph.ops.clear();
  std::vector<Placement> placements;
  std::vector<OpSplit> splits;
  int at = 0;
  for (int32_t i = 0; i < std::ssize(forms.whole.ops); ++i) {
    // The op's engine so far, and that of its second half.
    const auto& before = partition.placements(at++);
    const bool was_split = forms.placed[i].second != kWhole;
    if (was_split) ++at;
    if (gone[i]) continue;
    graph.ops.push_back(std::move(ops[i]));
    const OpForm& form = placer.form(i);
    placements.push_back(
        {form.engine, placer.HasChoice(i) ? placer.ReasonFor(i, before.reason())
                                          : before.reason()});
    splits.push_back(form.second == kWhole ? OpSplit::kNone : forms.splits[i]);
    if (form.second == kWhole) continue;
    placements.push_back(
        {form.second, form == forms.placed[i]
                          ? partition.placements(at - 1).reason()
                          : placer.SecondReasonFor(i)});
  }
  const std::vector<int32_t> made = Producers(graph);
  EK_RETURN_IF_ERROR(SplitOps(graph, splits).status());
  v1::Partition placed = PartitionOf(graph, std::move(placements));
  for (const int32_t tensor : partition.rearranged()) {
    if (made[tensor] >= 0) placed.add_rearranged(tensor);
  }
  return placed;
}

}  // namespace edgekiln::compiler
