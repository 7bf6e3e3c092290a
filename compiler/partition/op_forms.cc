#include "compiler/partition/op_forms.h"

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/partition/partition.h"
#include "compiler/partition/split_accumulators.h"
#include "compiler/passes/split_requantization.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;

// Fills `split`, `in_split` and `splits`.
absl::Status SplitAll(const std::vector<std::vector<Taker>>& takers,
                      OpForms& forms) {
  std::vector<int32_t> ops;
  forms.splits.assign(takers.size(), false);
  for (size_t i = 0; i < takers.size(); ++i) {
    forms.splits[i] = forms.placed[i].requantizer != kWhole;
    for (const Taker& taker : takers[i]) {
      forms.splits[i] = forms.splits[i] || taker.sums;
    }
    if (forms.splits[i]) ops.push_back(static_cast<int32_t>(i));
  }
  forms.split = forms.whole;  // Constants stay shared.
  if (!ops.empty()) {
    EK_RETURN_IF_ERROR(SplitAccumulators(forms.split, ops).status());
  }
  int32_t at = 0;
  for (const bool splits : forms.splits) {
    forms.in_split.push_back(at);
    at += splits ? 2 : 1;
  }
  return absl::OkStatus();
}

absl::Status AddChoices(const std::vector<std::vector<Taker>>& takers,
                        const v1::Capabilities& capabilities, OpForms& forms) {
  EK_ASSIGN_OR_RETURN(const auto in_split,
                      EnginesThatTake(forms.split, capabilities));
  forms.choices.resize(takers.size());
  for (size_t i = 0; i < takers.size(); ++i) {
    for (const Taker& taker : takers[i]) {
      if (!taker.sums) {
        forms.choices[i].push_back({taker.engine, kWhole});
        continue;
      }
      const auto& requantizers = in_split[forms.in_split[i] + 1];
      for (const Taker& requantizer : requantizers) {
        forms.choices[i].push_back({taker.engine, requantizer.engine});
      }
      if (requantizers.empty()) {
        forms.choices[i].push_back({taker.engine, kHost});
      }
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
  const std::vector<bool> joined = JoinRequantization(forms.whole);
  int at = 0;
  for (const bool was_split : joined) {
    OpForm& form = forms.placed.emplace_back();
    form.engine = partition.placements(at++).engine();
    // In a partition, a Requantize comes right after its sums.
    if (was_split) form.requantizer = partition.placements(at++).engine();
  }
  EK_ASSIGN_OR_RETURN(const auto takers,
                      EnginesThatTake(forms.whole, capabilities));
  EK_RETURN_IF_ERROR(SplitAll(takers, forms));
  EK_RETURN_IF_ERROR(AddChoices(takers, capabilities, forms));
  return forms;
}

}  // namespace edgekiln::compiler
