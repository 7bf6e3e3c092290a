#include "compiler/codegen/placement_prediction.h"

#include <algorithm>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/host_form.h"
#include "compiler/codegen/wall_cycles.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;
constexpr int32_t kWindow = 16;
constexpr int64_t kEstimateEffort = 64;

bool IsReshape(const Op& op) { return op.attributes.has_reshape(); }

}  // namespace

PlacementPredictor::GraphState::GraphState(const Graph& graph)
    : graph(graph), maker(graph), host_cycles(graph.ops.size(), -1) {}

PlacementPredictor::PlacementPredictor(const OpForms& forms,
                                       const v1::Machine& machine,
                                       EstimateMemo* memo)
    : forms_(forms),
      machine_(machine),
      memo_(memo),
      producers_(Producers(forms.whole)),
      whole_(forms.whole),
      split_(forms.split),
      machine_backends_(machine) {}

absl::Status PlacementPredictor::Init() {
  EK_ASSIGN_OR_RETURN(costs_, target::HostCosts::Create(machine_));
  for (int32_t e = 0; e < machine_.engines_size(); ++e) {
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        machine_backends_.Find(e));
    backends_.push_back(backend);
  }
  for (const auto& [op, unpadded] : forms_.unpadded) {
    EK_ASSIGN_OR_RETURN(
        whole_.host_cycles[op],
        OtherFormCycles(op, unpadded.attributes, forms_.whole.ops[op].inputs[0],
                        unpadded.kernel));
  }
  // What rearranges its image goes with the phases.
  for (const auto& [op, whole] : forms_.whole_images) {
    EK_ASSIGN_OR_RETURN(
        int64_t cycles,
        OtherFormCycles(op, whole.attributes, whole.image, whole.kernel));
    for (const int32_t gone : whole.rearranging) {
      EK_ASSIGN_OR_RETURN(const int64_t saved,
                          HostCycles({false, gone, kHost}));
      cycles -= saved;
    }
    whole_.host_cycles[op] = std::max<int64_t>(cycles, 0);
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> PlacementPredictor::OtherFormCycles(
    int32_t op, const v1::OpAttributes& attributes, TensorId image,
    const Tensor& kernel) const {
  const Op& padded = forms_.whole.ops[op];
  HostForm form;
  form.attributes = attributes;
  for (const TensorId input : padded.inputs) {
    form.inputs.push_back(input == kNoTensor ? Tensor()
                                             : forms_.whole.tensors[input]);
  }
  form.inputs[0] = forms_.whole.tensors[image];
  form.inputs[1] = kernel;
  form.output = forms_.whole.tensors[padded.outputs[0]];
  const absl::StatusOr<int64_t> cycles = HostOpCycles(form, machine_, costs_);
  if (!absl::IsOutOfRange(cycles.status())) {
    EK_RETURN_IF_ERROR(cycles.status());
  }
  return std::min(cycles.value_or(kMaxPredictedCycles), kMaxPredictedCycles);
}

bool PlacementPredictor::HostDriven(int32_t engine) const {
  return engine != kHost && backends_[engine]->HostDriven();
}

std::vector<PlacementPredictor::Part> PlacementPredictor::PartsOf(
    int32_t op, const OpForm& form) const {
  if (form.second == kWhole) return {{false, op, form.engine}};
  const int32_t first = forms_.in_split[op];
  return {{true, first, form.engine}, {true, first + 1, form.second}};
}

absl::StatusOr<int64_t> PlacementPredictor::HostCycles(const Part& part) {
  GraphState& state = StateOf(part);
  int64_t& known = state.host_cycles[part.op];
  if (known < 0) {
    const absl::StatusOr<int64_t> cycles =
        HostOpCycles(state.graph, state.graph.ops[part.op], machine_, costs_);
    if (!absl::IsOutOfRange(cycles.status())) {
      EK_RETURN_IF_ERROR(cycles.status());
    }
    known = std::min(cycles.value_or(kMaxPredictedCycles), kMaxPredictedCycles);
  }
  return known;
}

absl::StatusOr<std::optional<int64_t>> PlacementPredictor::EngineCycles(
    const Part& first, std::vector<int32_t> ops) {
  GraphState& state = StateOf(first);
  const int32_t engine = first.engine;
  const auto [found, is_new] = state.estimates.try_emplace({engine, ops});
  if (!is_new) return found->second;
  effort_ += kEstimateEffort * std::ssize(ops);
  EK_ASSIGN_OR_RETURN(found->second,
                      Estimate(state.maker.Make(std::move(ops)), engine));
  return found->second;
}

absl::StatusOr<std::optional<int64_t>> PlacementPredictor::Estimate(
    const Region& region, int32_t engine) {
  if (memo_ != nullptr) {
    const auto* const known = memo_->Find(region, engine);
    if (known != nullptr) return *known;
  }
  const absl::StatusOr<int64_t> cycles =
      backends_[engine]->EstimateCycles(region, machine_, engine);
  std::optional<int64_t> estimate;
  if (!absl::IsResourceExhausted(cycles.status())) {
    EK_RETURN_IF_ERROR(cycles.status());
    estimate = std::min(
        WallCycles(*cycles, machine_.engines(engine).clock_hz(), machine_),
        kMaxPredictedCycles);
  }
  if (memo_ != nullptr) memo_->Add(estimate);
  return estimate;
}

absl::StatusOr<std::optional<int64_t>> PlacementPredictor::Alone(
    int32_t op, const OpForm& form) {
  int64_t sum = 0;
  for (const Part& part : PartsOf(op, form)) {
    if (part.engine == kHost) {
      EK_ASSIGN_OR_RETURN(const int64_t cycles, HostCycles(part));
      sum += cycles;
      continue;
    }
    EK_ASSIGN_OR_RETURN(const std::optional<int64_t> cycles,
                        EngineCycles(part, {part.op}));
    if (!cycles) return std::optional<int64_t>();
    sum += *cycles;
  }
  return std::optional<int64_t>(std::min(sum, kMaxPredictedCycles));
}

void PlacementPredictor::FollowReshapes(std::vector<OpForm>& placed) const {
  for (int32_t i = 0; i < std::ssize(placed); ++i) {
    const Op& op = forms_.whole.ops[i];
    if (!IsReshape(op)) continue;
    const int32_t producer = producers_[op.inputs[0]];
    placed[i] = OpForm();
    if (producer < 0) continue;
    const OpForm& maker = placed[producer];
    placed[i].engine = maker.second == kWhole ? maker.engine : maker.second;
  }
}

absl::StatusOr<int64_t> PlacementPredictor::Predict(
    std::vector<OpForm> placed) {
  FollowReshapes(placed);
  std::vector<Part> parts;
  for (int32_t i = 0; i < std::ssize(placed); ++i) {
    for (const Part& part : PartsOf(i, placed[i])) parts.push_back(part);
  }
  std::vector<Work> works;
  // By storage, which both graphs have in common.
  std::vector<int32_t> work_of(forms_.split.tensors.size(), -1);
  for (size_t first = 0; first < parts.size();) {
    size_t end = first + 1;
    if (parts[first].engine != kHost && !HostDriven(parts[first].engine)) {
      for (; end < parts.size() && parts[end].engine == parts[first].engine &&
             parts[end].split == parts[first].split;
           ++end) {
      }
    }
    EK_RETURN_IF_ERROR(
        AddWork({parts.begin() + static_cast<std::ptrdiff_t>(first),
                 parts.begin() + static_cast<std::ptrdiff_t>(end)},
                works, work_of));
    first = end;
  }
  effort_ += std::ssize(works);
  const bool driven =
      std::any_of(works.begin(), works.end(),
                  [this](const Work& work) { return HostDriven(work.engine); });
  if (driven) {
    return OrderTurns(works, kWindow, machine_,
                      static_cast<int32_t>(forms_.split.ops.size()))
        .cycles;
  }
  // One after another: the host waits for each stream.
  int64_t sum = 0;
  for (const Work& work : works) {
    sum += work.steps[0].host_cycles + work.steps[0].engine_cycles;
  }
  return sum;
}

absl::Status PlacementPredictor::AddWork(const std::vector<Part>& parts,
                                         std::vector<Work>& works,
                                         std::vector<int32_t>& work_of) {
  const GraphState& state = StateOf(parts[0]);
  const auto op_of = [&](const Part& part) -> const Op& {
    return state.graph.ops[part.op];
  };
  const auto first = std::find_if_not(
      parts.begin(), parts.end(),
      [&](const Part& part) { return IsReshape(op_of(part)); });
  if (first == parts.end()) return absl::OkStatus();  // Moves nothing.
  Work work;
  work.op = IndexOf(*first);
  work.engine = first->engine;
  Work::Step& step = work.steps.emplace_back();
  if (work.engine == kHost) {
    EK_ASSIGN_OR_RETURN(step.host_cycles, HostCycles(*first));
  } else {
    std::vector<int32_t> ops;
    for (const Part& part : parts) ops.push_back(part.op);
    EK_ASSIGN_OR_RETURN(const std::optional<int64_t> cycles,
                        EngineCycles(*first, std::move(ops)));
    step.job = true;
    step.engine_cycles = cycles.value_or(kMaxPredictedCycles);
  }
  const std::vector<TensorId>& storage = split_.maker.storage();
  const auto index = static_cast<int32_t>(works.size());
  for (const Part& part : parts) {
    const Op& op = op_of(part);
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) continue;
      const int32_t maker = work_of[storage[input]];
      if (maker >= 0 && maker != index) work.before.push_back(maker);
    }
    if (IsReshape(op)) continue;
    for (const TensorId output : op.outputs) work_of[storage[output]] = index;
  }
  std::sort(work.before.begin(), work.before.end());
  work.before.erase(std::unique(work.before.begin(), work.before.end()),
                    work.before.end());
  works.push_back(std::move(work));
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
