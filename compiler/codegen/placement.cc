#include "compiler/codegen/placement.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/turns.h"
#include "compiler/codegen/wall_cycles.h"
#include "compiler/ir/graph.h"
#include "compiler/partition/partition.h"

namespace edgekiln::compiler {
namespace {

constexpr int32_t kHost = -1;
// Of one op or region, so that sums of all of them cannot overflow; also what
// does not fit an engine's memory.
constexpr int64_t kMaxCycles = int64_t{1} << 48;
constexpr int kMaxRounds = 4;
constexpr int32_t kWindow = 16;
// What a search may cost: 1 for each op or region of each prediction, and for
// each op of a region that is estimated anew ..
constexpr int64_t kMaxEffort = int64_t{1} << 18;
constexpr int64_t kEstimateEffort = 64;

// Predicts placements, which are given as the engine of each op; reshapes
// follow their producers whatever is given for them.
class Predictor {
 public:
  Predictor(const Graph& graph, const v1::Machine& machine)
      : graph_(graph),
        machine_(machine),
        maker_(graph),
        producers_(Producers(graph)),
        host_cycles_(graph.ops.size(), -1) {}

  absl::Status Init() {
    for (int32_t e = 0; e < machine_.engines_size(); ++e) {
      EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                          FindBackend(machine_, e));
      backends_.push_back(backend);
    }
    return absl::OkStatus();
  }

  bool HostDriven(int32_t engine) const {
    return engine != kHost && backends_[engine]->HostDriven();
  }

  int64_t effort() const { return effort_; }

  absl::StatusOr<int64_t> HostCycles(int32_t op) {
    if (host_cycles_[op] < 0) {
      const absl::StatusOr<int64_t> cycles =
          HostOpCycles(graph_, graph_.ops[op], machine_);
      if (!absl::IsOutOfRange(cycles.status())) {
        EK_RETURN_IF_ERROR(cycles.status());
      }
      host_cycles_[op] = std::min(cycles.value_or(kMaxCycles), kMaxCycles);
    }
    return host_cycles_[op];
  }

  // Of one region, in cycles of the wall clock; nothing if the engine's memory
  // is too small.
  absl::StatusOr<std::optional<int64_t>> EngineCycles(
      int32_t engine, std::vector<int32_t> ops) {
    const auto [found, is_new] = estimates_.try_emplace({engine, ops});
    if (!is_new) return found->second;
    effort_ += kEstimateEffort * std::ssize(ops);
    const absl::StatusOr<int64_t> cycles = backends_[engine]->EstimateCycles(
        maker_.Make(std::move(ops)), machine_, engine);
    if (absl::IsResourceExhausted(cycles.status())) return found->second;
    EK_RETURN_IF_ERROR(cycles.status());
    found->second = std::min(
        WallCycles(*cycles, machine_.engines(engine).clock_hz(), machine_),
        kMaxCycles);
    return found->second;
  }

  // Of the whole network.
  absl::StatusOr<int64_t> Predict(std::vector<int32_t> placed) {
    std::vector<Work> works;
    std::vector<int32_t> work_of(graph_.tensors.size(), -1);  // By storage.
    FollowReshapes(placed);
    const auto count = static_cast<int32_t>(placed.size());
    for (int32_t first = 0; first < count;) {
      // What runs as one: an op of the host or of an engine that it drives, or
      // neighbours on an engine that runs streams.
      std::vector<int32_t> ops = {first};
      int32_t end = first + 1;
      if (placed[first] != kHost && !HostDriven(placed[first])) {
        for (; end < count && placed[end] == placed[first]; ++end) {
          ops.push_back(end);
        }
      }
      first = end;
      EK_RETURN_IF_ERROR(AddWork(ops, placed[ops[0]], works, work_of));
    }
    effort_ += std::ssize(works);
    const bool driven = std::any_of(
        works.begin(), works.end(),
        [this](const Work& work) { return HostDriven(work.engine); });
    if (driven) {
      return OrderTurns(works, kWindow, machine_, count).cycles;
    }
    // One after another: the host waits for each stream.
    int64_t sum = 0;
    for (const Work& work : works) {
      sum += work.steps[0].host_cycles + work.steps[0].engine_cycles;
    }
    return sum;
  }

 private:
  bool IsReshape(int32_t op) const {
    return graph_.ops[op].attributes.has_reshape();
  }

  void FollowReshapes(std::vector<int32_t>& placed) const {
    for (int32_t i = 0; i < std::ssize(placed); ++i) {
      if (!IsReshape(i)) continue;
      const int32_t producer = producers_[graph_.ops[i].inputs[0]];
      placed[i] = producer < 0 ? kHost : placed[producer];
    }
  }

  absl::Status AddWork(const std::vector<int32_t>& ops, int32_t engine,
                       std::vector<Work>& works,
                       std::vector<int32_t>& work_of) {
    const auto first = std::find_if_not(
        ops.begin(), ops.end(), [this](int32_t op) { return IsReshape(op); });
    if (first == ops.end()) return absl::OkStatus();  // Moves nothing.
    Work work;
    work.op = *first;
    work.engine = engine;
    Work::Step& step = work.steps.emplace_back();
    if (engine == kHost) {
      EK_ASSIGN_OR_RETURN(step.host_cycles, HostCycles(work.op));
    } else {
      EK_ASSIGN_OR_RETURN(const std::optional<int64_t> cycles,
                          EngineCycles(engine, ops));
      step.job = true;
      step.engine_cycles = cycles.value_or(kMaxCycles);
    }
    const auto index = static_cast<int32_t>(works.size());
    for (const int32_t op : ops) {
      for (const TensorId input : graph_.ops[op].inputs) {
        if (input == kNoTensor) continue;
        const int32_t maker = work_of[maker_.storage()[input]];
        if (maker >= 0 && maker != index) work.before.push_back(maker);
      }
      if (IsReshape(op)) continue;
      for (const TensorId output : graph_.ops[op].outputs) {
        work_of[maker_.storage()[output]] = index;
      }
    }
    std::sort(work.before.begin(), work.before.end());
    work.before.erase(std::unique(work.before.begin(), work.before.end()),
                      work.before.end());
    works.push_back(std::move(work));
    return absl::OkStatus();
  }

  const Graph& graph_;
  const v1::Machine& machine_;
  const RegionMaker maker_;
  const std::vector<int32_t> producers_;
  std::vector<const EngineBackend*> backends_;
  std::vector<int64_t> host_cycles_;  // By op; -1: not known yet.
  std::map<std::pair<int32_t, std::vector<int32_t>>, std::optional<int64_t>>
      estimates_;
  int64_t effort_ = 0;
};

// Who could run an op, and the cycles that it takes alone; the host is last.
struct Choice {
  int32_t engine = kHost;
  std::optional<int64_t> cycles;  // None: too little memory.
};

class Placer {
 public:
  Placer(const Graph& graph, const v1::Capabilities& capabilities,
         const v1::Machine& machine, std::vector<int32_t> placed)
      : graph_(graph),
        machine_(machine),
        takers_(EnginesThatTake(graph, capabilities)),
        predictor_(graph, machine),
        choices_(graph.ops.size()),
        placed_(std::move(placed)) {}

  absl::Status Run(bool with_host) {
    EK_RETURN_IF_ERROR(predictor_.Init());
    EK_RETURN_IF_ERROR(FindEngines());
    EK_ASSIGN_OR_RETURN(best_, predictor_.Predict(placed_));
    EK_RETURN_IF_ERROR(Search());
    if (!with_host) return absl::OkStatus();
    EK_RETURN_IF_ERROR(AddHost());
    return Search();
  }

  int32_t engine(int32_t op) const { return placed_[op]; }
  bool HasChoice(int32_t op) const { return choices_[op].size() > 1; }

  // "npu0 runs conv2d (203 cycles alone; the host: 812)".
  std::string ReasonFor(int32_t op) const {
    std::string own;
    std::string others;
    for (const Choice& choice : choices_[op]) {
      const std::string cycles =
          choice.cycles ? absl::StrCat(*choice.cycles) : "too little memory";
      if (choice.engine == placed_[op]) {
        own = cycles;
      } else {
        absl::StrAppend(&others, "; ", NameOf(choice.engine), ": ", cycles);
      }
    }
    return absl::StrCat(NameOf(placed_[op]), " runs ", graph_.ops[op].kind(),
                        " (", own, " cycles alone", others, ")");
  }

 private:
  std::string NameOf(int32_t engine) const {
    return engine == kHost ? "the host" : machine_.engines(engine).name();
  }

  // Partition had a reason to leave an op to the host although an engine takes
  // it.
  bool Movable(int32_t op) const {
    return placed_[op] != kHost && !takers_[op].empty();
  }

  absl::Status FindEngines() {
    for (int32_t i = 0; i < std::ssize(choices_); ++i) {
      if (!Movable(i)) continue;
      for (const int32_t engine : takers_[i]) {
        EK_ASSIGN_OR_RETURN(const std::optional<int64_t> cycles,
                            predictor_.EngineCycles(engine, {i}));
        choices_[i].push_back({engine, cycles});
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddHost() {
    for (int32_t i = 0; i < std::ssize(choices_); ++i) {
      if (choices_[i].empty()) continue;
      EK_ASSIGN_OR_RETURN(const int64_t cycles, predictor_.HostCycles(i));
      choices_[i].push_back({kHost, cycles});
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
          std::vector<int32_t> moved = placed_;
          moved[i] = choice.engine;
          EK_ASSIGN_OR_RETURN(const bool better, Try(std::move(moved)));
          gained = gained || better;
        }
      }
    }
    return absl::OkStatus();
  }

  std::vector<int32_t> FastestAlone() const {
    std::vector<int32_t> fastest = placed_;
    for (size_t i = 0; i < choices_.size(); ++i) {
      int64_t least = kMaxCycles;
      for (const Choice& choice : choices_[i]) {
        if (!choice.cycles || *choice.cycles >= least) continue;
        least = *choice.cycles;
        fastest[i] = choice.engine;
      }
    }
    return fastest;
  }

  // An op costs a region of several at most what it takes alone, and the host
  // works beside engines only if it drives them.
  bool CouldGain(int32_t op, const Choice& choice) const {
    if (choice.engine == placed_[op] || !choice.cycles) return false;
    if (choice.engine != kHost || predictor_.HostDriven(placed_[op])) {
      return true;
    }
    const auto own =
        std::find_if(choices_[op].begin(), choices_[op].end(),
                     [&](const Choice& c) { return c.engine == placed_[op]; });
    return own == choices_[op].end() || !own->cycles ||
           *choice.cycles < *own->cycles;
  }

  // Takes that placement if it is better.
  absl::StatusOr<bool> Try(std::vector<int32_t> placed) {
    EK_ASSIGN_OR_RETURN(const int64_t predicted, predictor_.Predict(placed));
    if (predicted >= best_) return false;
    best_ = predicted;
    placed_ = std::move(placed);
    return true;
  }

  const Graph& graph_;
  const v1::Machine& machine_;
  const std::vector<std::vector<int32_t>> takers_;
  Predictor predictor_;
  std::vector<std::vector<Choice>> choices_;  // By op; empty: stays.
  std::vector<int32_t> placed_;
  int64_t best_ = 0;
};

}  // namespace

absl::StatusOr<v1::Partition> PlaceByCycles(
    const v1::Partition& partition, const v1::Capabilities& capabilities,
    const v1::Machine& machine, v1::Offload offload) {
  EK_ASSIGN_OR_RETURN(const Graph graph, GraphFromProto(partition.graph()));
  const auto other = absl::InvalidArgumentError(
      "partition, capabilities and machine are not "
      "of one target");
  if (partition.placements_size() != std::ssize(graph.ops) ||
      capabilities.engines_size() != machine.engines_size()) {
    return other;
  }
  std::vector<Placement> placements;
  std::vector<int32_t> placed;
  for (const v1::Partition::Placement& placement : partition.placements()) {
    if (placement.engine() < kHost ||
        placement.engine() >= machine.engines_size()) {
      return other;
    }
    placements.push_back({placement.engine(), placement.reason()});
    placed.push_back(placement.engine());
  }
  Placer placer(graph, capabilities, machine, std::move(placed));
  EK_RETURN_IF_ERROR(placer.Run(offload == v1::PAYING));
  for (int32_t i = 0; i < std::ssize(placements); ++i) {
    if (!placer.HasChoice(i)) continue;
    placements[i] = {placer.engine(i), placer.ReasonFor(i)};
  }
  return PartitionOf(graph, std::move(placements));
}

}  // namespace edgekiln::compiler
