#include "compiler/codegen/turns.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "compiler/codegen/host_orders.h"
#include "compiler/codegen/host_pools.h"
#include "compiler/codegen/plane_sums.h"
#include "compiler/codegen/wall_cycles.h"
#include "compiler/ir/storage.h"

namespace edgekiln::compiler {
namespace {

struct Span {
  int64_t begin = 0;
  int64_t end = 0;
  int32_t op = 0;
};

// Assigns each cycle of [0, end) to the op of the first lane with a span there.
// Spans of a lane are sorted and disjoint; those of the last lane cover all
// cycles.
std::vector<int64_t> CyclesByOp(const std::vector<std::vector<Span>>& lanes,
                                int32_t num_ops) {
  std::vector<int64_t> boundaries;
  for (const std::vector<Span>& lane : lanes) {
    for (const Span& span : lane) {
      boundaries.push_back(span.begin);
      boundaries.push_back(span.end);
    }
  }
  std::sort(boundaries.begin(), boundaries.end());
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()),
                   boundaries.end());
  std::vector<int64_t> cycles(num_ops, 0);
  std::vector<size_t> at(lanes.size(), 0);
  for (size_t b = 0; b + 1 < boundaries.size(); ++b) {
    for (size_t lane = 0; lane < lanes.size(); ++lane) {
      const std::vector<Span>& spans = lanes[lane];
      while (at[lane] < spans.size() && spans[at[lane]].end <= boundaries[b]) {
        ++at[lane];
      }
      if (at[lane] == spans.size() || spans[at[lane]].begin > boundaries[b]) {
        continue;
      }
      cycles[spans[at[lane]].op] += boundaries[b + 1] - boundaries[b];
      break;
    }
  }
  return cycles;
}

// Time of the host and its engines while turns execute (docs/design/0022).
class Execution {
 public:
  Execution(const std::vector<Work>& works, const v1::Machine& machine)
      : works_(works),
        machine_(machine),
        running_(machine.engines_size()),
        lanes_(machine.engines_size() + 1),
        issued_(works.size(), 0) {
    for (const Work& work : works) {
      plan_.seen.emplace_back(work.steps.size(), -1);
    }
  }

  int32_t issued(int32_t work) const { return issued_[work]; }
  bool IsIssued(int32_t work) const {
    return issued_[work] == std::ssize(works_[work].steps);
  }
  // Whether the next step of `work` is ready.
  bool IsReady(int32_t work) const {
    const Work& w = works_[work];
    if (w.steps[issued_[work]].early) return true;
    return std::all_of(w.before.begin(), w.before.end(),
                       [&](int32_t before) { return IsIssued(before); });
  }

  // Engines to poll before it.
  std::vector<int32_t> PollsFor(int32_t work) const {
    const Work& w = works_[work];
    const Work::Step& step = w.steps[issued_[work]];
    std::vector<int32_t> polls;
    for (int32_t e = 0; e < std::ssize(running_); ++e) {
      if (!running_[e]) continue;
      const bool own = running_[e]->work == work;
      const bool needed =
          (step.job && w.engine == e) || step.window == e ||
          (own && std::find(step.after.begin(), step.after.end(),
                            running_[e]->step) != step.after.end()) ||
          (!step.early && std::find(w.before.begin(), w.before.end(),
                                    running_[e]->work) != w.before.end());
      if (needed) polls.push_back(e);
    }
    return polls;
  }
  std::vector<int32_t> AllRunning() const {
    std::vector<int32_t> polls;
    for (int32_t e = 0; e < std::ssize(running_); ++e) {
      if (running_[e]) polls.push_back(e);
    }
    return polls;
  }

  // The earliest cycle at which the host could begin the next step.
  int64_t TimeAfter(const std::vector<int32_t>& polls) const {
    int64_t time = now_;
    for (const int32_t engine : polls) time = SeenAt(engine, time);
    return time;
  }

  void Do(int32_t work, const std::vector<int32_t>& polls, bool drained) {
    const auto turn = static_cast<int32_t>(plan_.turns.size());
    const int32_t index = issued_[work]++;
    Poll(polls, turn);
    const Work& w = works_[work];
    const Work::Step& step = w.steps[index];
    plan_.turns.push_back(
        {.work = work, .step = index, .polls = polls, .drained = drained});
    HostWorks(step.host_cycles, w.op);
    if (!step.job) {
      plan_.seen[work][index] = turn + 1;
      return;
    }
    running_[w.engine] = Running{work, index, now_ + step.engine_cycles};
    lanes_[w.engine].push_back({now_, now_ + step.engine_cycles, w.op});
  }

  TurnPlan Finish(int32_t num_ops) {
    plan_.last_polls = AllRunning();
    Poll(plan_.last_polls, static_cast<int32_t>(plan_.turns.size()));
    plan_.cycles = now_;
    plan_.layer_cycles = CyclesByOp(lanes_, num_ops);
    return std::move(plan_);
  }

 private:
  struct Running {
    int32_t work = 0;
    int32_t step = 0;
    int64_t end = 0;
  };

  // A poll sees the state at the end of its read; a wait has no reads.
  int64_t SeenAt(int32_t engine, int64_t time) const {
    const int64_t left = std::max<int64_t>(running_[engine]->end - time, 0);
    const v1::Machine::Engine& e = machine_.engines(engine);
    if (!e.has_jobs()) return time + left;
    // Reads take whole host cycles; only their sum is rounded to wall cycles.
    const auto host_hz = static_cast<__int128>(machine_.host_clock_hz());
    const auto wall_hz = static_cast<__int128>(machine_.clock_hz());
    const auto cycles = [&](int64_t reads) {
      return static_cast<int64_t>(
          (static_cast<__int128>(reads) * e.poll_cycles() * wall_hz + host_hz -
           1) /
          host_hz);
    };
    auto reads =
        static_cast<int64_t>(left * host_hz / (wall_hz * e.poll_cycles()));
    reads = std::max<int64_t>(reads, 1);
    while (cycles(reads) < left) ++reads;
    while (reads > 1 && cycles(reads - 1) >= left) --reads;
    return time + cycles(reads);
  }

  void Poll(const std::vector<int32_t>& engines, int32_t turn) {
    for (const int32_t engine : engines) {
      const Running job = *running_[engine];
      HostWorks(SeenAt(engine, now_) - now_, works_[job.work].op);
      plan_.seen[job.work][job.step] = turn;
      running_[engine].reset();
    }
  }

  void HostWorks(int64_t cycles, int32_t op) {
    if (cycles > 0) lanes_.back().push_back({now_, now_ + cycles, op});
    now_ += cycles;
  }

  const std::vector<Work>& works_;
  const v1::Machine& machine_;
  std::vector<std::optional<Running>> running_;  // By engine; end not seen.
  std::vector<std::vector<Span>> lanes_;         // Engines, then the host.
  std::vector<int32_t> issued_;                  // Steps, by work.
  int64_t now_ = 0;
  TurnPlan plan_;
};

// By work: length of the critical path from its begin.
std::vector<int64_t> WaysToTheEnd(const std::vector<Work>& works) {
  std::vector<int64_t> way(works.size(), 0);
  for (size_t w = works.size(); w-- > 0;) {
    // Readers come later in `works`: theirs are already added.
    for (const Work::Step& step : works[w].steps) {
      way[w] += step.host_cycles + step.engine_cycles;
    }
    for (const int32_t before : works[w].before) {
      way[before] = std::max(way[before], way[w]);
    }
  }
  return way;
}

// The steps of a region; a region that runs a stream is one job.
absl::StatusOr<std::vector<Work::Step>> StepsOf(const v1::RegionPlan& plan,
                                                const v1::Machine& machine) {
  const v1::Machine::Engine& engine = machine.engines(plan.engine());
  std::vector<Work::Step> steps;
  if (plan.steps().empty()) {
    const int64_t cycles =
        WallCycles(plan.predicted_cycles(), engine.clock_hz(), machine);
    Work::Step& step = steps.emplace_back();
    step.job = true;
    step.engine_cycles = cycles;
  }
  for (const v1::RegionPlan::Step& step : plan.steps()) {
    const bool job = step.kind() == v1::RegionPlan::Step::JOB;
    const std::vector<int32_t> after(step.after().begin(), step.after().end());
    for (const int32_t before : after) {
      if (before < 0 || before >= std::ssize(steps) || !steps[before].job) {
        return absl::InvalidArgumentError("a step comes after no job");
      }
    }
    if (step.host_cycles() < 0 || step.engine_cycles() < 0) {
      return absl::InvalidArgumentError("a step of less than no time");
    }
    if (step.has_window() &&
        (step.window() < 0 || step.window() >= machine.engines_size())) {
      return absl::InvalidArgumentError("a step in an unknown window");
    }
    steps.push_back(
        {.host_cycles =
             WallCycles(step.host_cycles(), machine.host_clock_hz(), machine),
         .job = job,
         .engine_cycles =
             job ? WallCycles(step.engine_cycles(), engine.clock_hz(), machine)
                 : 0,
         .after = after,
         .early = step.early(),
         .window = step.has_window() ? step.window() : -1});
  }
  return steps;
}

// Earlier readers of what the region overwrites.
absl::Status AddOverwritten(const v1::RegionPlan& plan,
                            const std::vector<TensorId>& places,
                            const std::vector<std::vector<int32_t>>& readers,
                            int32_t index, Work& work) {
  for (const v1::RegionPlan::Buffer& buffer : plan.buffers()) {
    if (!buffer.has_over()) continue;
    if (buffer.over() < 0 || buffer.over() >= std::ssize(places)) {
      return absl::InvalidArgumentError("a buffer lies over no tensor");
    }
    for (const int32_t reader : readers[places[buffer.over()]]) {
      if (reader != index) work.before.push_back(reader);
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Work>> WorksOf(const Graph& graph,
                                          const Views& views,
                                          const v1::Partition& partition,
                                          const v1::RegionPlans& plans,
                                          const v1::Machine& machine) {
  const std::vector<TensorId>& places = views.places();
  std::map<int32_t, int32_t> region_of;  // By first op.
  std::vector<int32_t> first_of(graph.ops.size(), -1);
  for (int32_t r = 0; r < plans.regions_size(); ++r) {
    const v1::RegionPlan& plan = plans.regions(r);
    if (plan.ops().empty()) {
      return absl::InvalidArgumentError("a region is empty");
    }
    region_of[plan.ops(0)] = r;
    for (const int32_t op : plan.ops()) {
      if (op < 0 || op >= std::ssize(graph.ops)) {
        return absl::InvalidArgumentError("a region has an unknown op");
      }
      first_of[op] = plan.ops(0);
    }
  }
  EK_ASSIGN_OR_RETURN(const target::HostCosts costs,
                      target::HostCosts::Create(machine));
  const std::vector<TensorId> storage = StorageOf(graph);
  const std::vector<HostOrder> orders = HostOrders(graph, partition, views);
  EK_ASSIGN_OR_RETURN(const HostLayouts arranged,
                      ArrangedPlaces(graph, orders, views, plans, machine));
  std::vector<Work> works;
  // Works, by place.
  std::vector<int32_t> maker(graph.tensors.size(), -1);
  std::vector<std::vector<int32_t>> readers(graph.tensors.size());
  const auto add_before = [&](const Op& op, Work& work) {
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor) continue;
      const int32_t made_by = maker[places[input]];
      if (made_by >= 0 && made_by != std::ssize(works)) {
        work.before.push_back(made_by);
      }
      readers[places[input]].push_back(static_cast<int32_t>(works.size()));
    }
  };
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    const Op& op = graph.ops[i];
    if (views.IsNothing(i) && first_of[i] < 0) continue;
    Work work;
    work.op = i;
    std::vector<int32_t> ops = {i};
    if (first_of[i] >= 0) {
      if (first_of[i] != i) continue;  // Came with the region's first op.
      work.region = region_of[i];
      const v1::RegionPlan& plan = plans.regions(work.region);
      if (plan.engine() < 0 || plan.engine() >= machine.engines_size()) {
        return absl::InvalidArgumentError("a region has an unknown engine");
      }
      work.engine = plan.engine();
      ops.assign(plan.ops().begin(), plan.ops().end());
      EK_ASSIGN_OR_RETURN(work.steps, StepsOf(plan, machine));
    } else if (partition.placements(i).engine() >= 0) {
      return absl::InvalidArgumentError("a region has no plan");
    } else {
      const bool sums_planes =
          PlanesOfInput(graph, op, storage, plans, machine) != nullptr;
      const std::optional<PoolRun> pool =
          sums_planes ? std::nullopt : PoolRunAt(graph, i, orders, arranged);
      EK_ASSIGN_OR_RETURN(int64_t cycles,
                          pool ? PoolRunCycles(graph, op, *pool, machine, costs)
                               : HostOpCycles(graph, op, machine, costs));
      EK_ASSIGN_OR_RETURN(
          const int64_t reversal,
          ReversalCycles(graph, op, storage, plans, machine, costs));
      cycles += WallCycles(reversal, machine.host_clock_hz(), machine);
      work.steps.emplace_back().host_cycles = cycles;
    }
    for (const int32_t index : ops) add_before(graph.ops[index], work);
    if (work.region >= 0) {
      EK_RETURN_IF_ERROR(
          AddOverwritten(plans.regions(work.region), places, readers,
                         static_cast<int32_t>(works.size()), work));
    }
    std::sort(work.before.begin(), work.before.end());
    work.before.erase(std::unique(work.before.begin(), work.before.end()),
                      work.before.end());
    for (const int32_t index : ops) {
      if (views.IsNothing(index)) continue;
      for (const TensorId output : graph.ops[index].outputs) {
        maker[places[output]] = static_cast<int32_t>(works.size());
      }
    }
    works.push_back(std::move(work));
  }
  return works;
}

TurnPlan OrderTurns(const std::vector<Work>& works, int32_t window,
                    const v1::Machine& machine, int32_t num_ops) {
  Execution execution(works, machine);
  const std::vector<int64_t> way = WaysToTheEnd(works);
  const auto count = static_cast<int32_t>(works.size());
  int32_t first = 0;  // Of those with steps to come.
  for (;;) {
    while (first < count && execution.IsIssued(first)) ++first;
    if (first == count) return execution.Finish(num_ops);
    if (window == kDrained) {
      const bool drained = execution.issued(first) == 0;
      execution.Do(first,
                   drained ? execution.AllRunning() : execution.PollsFor(first),
                   drained);
      continue;
    }
    int32_t best = -1;
    std::vector<int32_t> best_polls;
    std::tuple<int64_t, bool, int64_t, int32_t> best_rank;
    for (int32_t w = first; w < count && w <= first + window; ++w) {
      if (execution.IsIssued(w) || !execution.IsReady(w)) continue;
      std::vector<int32_t> polls = execution.PollsFor(w);
      const Work::Step& step = works[w].steps[execution.issued(w)];
      const std::tuple<int64_t, bool, int64_t, int32_t> rank = {
          execution.TimeAfter(polls), !step.job, -way[w], w};
      if (best >= 0 && rank >= best_rank) continue;
      best = w;
      best_polls = std::move(polls);
      best_rank = rank;
    }
    // The first unfinished work only depends on works before it, which are
    // done.
    execution.Do(best, best_polls, /*drained=*/false);
  }
}

absl::StatusOr<TurnPlan> ReplayTurns(
    const std::vector<Work>& works,
    const google::protobuf::RepeatedPtrField<v1::RegionPlans::Turn>& turns,
    const v1::Machine& machine, int32_t num_ops) {
  std::map<std::pair<int32_t, int32_t>, int32_t> work_of;
  size_t steps = 0;
  for (int32_t w = 0; w < std::ssize(works); ++w) {
    // Host ops are identified by op, regions by index.
    const int32_t region = works[w].region;
    work_of[{region, region < 0 ? works[w].op : 0}] = w;
    steps += works[w].steps.size();
  }
  const absl::Status foreign =
      absl::InvalidArgumentError("the turns belong to another partition");
  if (turns.size() != static_cast<int64_t>(steps)) return foreign;
  Execution execution(works, machine);
  for (const v1::RegionPlans::Turn& turn : turns) {
    const auto found =
        work_of.find({turn.region(), turn.region() < 0 ? turn.step() : 0});
    if (found == work_of.end()) return foreign;
    const int32_t work = found->second;
    const int32_t step = turn.region() < 0 ? 0 : turn.step();
    if (execution.IsIssued(work) || execution.issued(work) != step ||
        !execution.IsReady(work)) {
      return foreign;
    }
    execution.Do(
        work,
        turn.drained() ? execution.AllRunning() : execution.PollsFor(work),
        turn.drained());
  }
  return execution.Finish(num_ops);
}

}  // namespace edgekiln::compiler
