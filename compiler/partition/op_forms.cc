#include "compiler/partition/op_forms.h"

#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/phases.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;

// Fills `split` and `in_split`; `splits` are those that were split before.
absl::Status SplitAll(const std::vector<std::vector<Taker>>& takers,
                      OpForms& forms) {
  for (size_t i = 0; i < takers.size(); ++i) {
    for (const Taker& taker : takers[i]) {
      if (forms.splits[i] == OpSplit::kNone) forms.splits[i] = taker.split;
    }
  }
  forms.split = forms.whole;  // Constants stay shared.
  EK_RETURN_IF_ERROR(SplitOps(forms.split, forms.splits).status());
  int32_t at = 0;
  for (const OpSplit split : forms.splits) {
    forms.in_split.push_back(at);
    at += split == OpSplit::kNone ? 1 : 2;
  }
  return absl::OkStatus();
}

absl::Status AddChoices(const std::vector<std::vector<Taker>>& takers,
                        const v1::Capabilities& capabilities, OpForms& forms) {
  // Who takes the second halves, if there are any.
  std::vector<std::vector<Taker>> in_split;
  if (forms.split.ops.size() > forms.whole.ops.size()) {
    EK_ASSIGN_OR_RETURN(in_split, EnginesThatTake(forms.split, capabilities));
  }
  forms.choices.resize(takers.size());
  for (size_t i = 0; i < takers.size(); ++i) {
    for (const Taker& taker : takers[i]) {
      if (taker.split == OpSplit::kNone) {
        forms.choices[i].push_back({taker.engine, kWhole});
        continue;
      }
      if (taker.split != forms.splits[i]) continue;
      const auto& seconds = in_split[forms.in_split[i] + 1];
      for (const Taker& second : seconds) {
        forms.choices[i].push_back({taker.engine, second.engine});
      }
      if (seconds.empty()) forms.choices[i].push_back({taker.engine, kHost});
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OpForms> OpFormsOf(const v1::Partition& partition,
                                  const v1::Capabilities& capabilities) {
  OpForms forms;
  EK_ASSIGN_OR_RETURN(forms.whole, GraphFromProto(partition.graph()));
  if (partition.placements_size() != std::ssize(forms.whole.ops)) {
    return absl::InvalidArgumentError(
        "the partition places more or fewer ops than it has");
  }
  forms.splits = JoinOps(forms.whole);
  const TensorLinks links(forms.whole);
  int at = 0;
  for (const OpSplit split : forms.splits) {
    const auto op = static_cast<int32_t>(forms.placed.size());
    OpForm& form = forms.placed.emplace_back();
    if (!PaddingIn(partition.placements(at).reason()).empty()) {
      auto unpadded = WithoutPadding(forms.whole, forms.whole.ops[op]);
      if (unpadded) forms.unpadded.emplace(op, *std::move(unpadded));
    }
    if (!PhasesIn(partition.placements(at).reason()).empty()) {
      const auto unpadded = forms.unpadded.find(op);
      auto whole = WithoutPhases(
          forms.whole, links, op, partition.rearranged(),
          unpadded == forms.unpadded.end() ? nullptr : &unpadded->second);
      if (whole) forms.whole_images.emplace(op, *std::move(whole));
    }
    form.engine = partition.placements(at++).engine();
    // In a partition, the second half comes right after the first.
    if (split != OpSplit::kNone) {
      form.second = partition.placements(at++).engine();
    }
  }
  EK_ASSIGN_OR_RETURN(const auto takers,
                      EnginesThatTake(forms.whole, capabilities));
  EK_RETURN_IF_ERROR(SplitAll(takers, forms));
  EK_RETURN_IF_ERROR(AddChoices(takers, capabilities, forms));
  return forms;
}

}  // namespace edgekiln::compiler
