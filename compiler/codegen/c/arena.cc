#include "compiler/codegen/c/arena.h"

#include <algorithm>
#include <numeric>

#include "base/rounding.h"
#include "compiler/planning/offset_allocator.h"

namespace edgekiln::compiler {
namespace {

bool IsStateInput(const Graph& graph, TensorId id) {
  return std::any_of(graph.states.begin(), graph.states.end(),
                     [id](const State& state) { return state.input == id; });
}

bool Contains(const std::vector<TensorId>& ids, TensorId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

// Tensors that share memory, and how long it is alive.
class Storage {
 public:
  Storage(const Graph& graph, const std::vector<StepUse>& steps)
      : graph_(graph),
        end_(std::ssize(steps) + 1),
        root_(graph.tensors.size()) {
    std::iota(root_.begin(), root_.end(), 0);
    life_.resize(graph.tensors.size(), {0, -1});
    for (const TensorId id : graph.inputs) life_[id] = {0, 0};
    for (int64_t s = 0; s < std::ssize(steps); ++s) Add(steps[s], s + 1);
    for (const TensorId id : graph.outputs) {
      if (!graph.tensors[id].is_constant()) Extend(Root(id), end_);
    }
    for (const State& state : graph.states) {
      life_[Root(state.input)] = {0, end_};
    }
  }

  TensorId Root(TensorId id) const {
    while (root_[id] != id) id = root_[id];
    return id;
  }
  bool alive(TensorId root) const { return life_[root].end >= 0; }
  int64_t begin(TensorId root) const { return life_[root].begin; }
  int64_t end(TensorId root) const { return life_[root].end; }

  // Where output 0 of a step may overwrite an input that dies there, it does.
  void Overwrite(const std::vector<StepUse>& steps) {
    for (int64_t s = 0; s < std::ssize(steps); ++s) {
      const StepUse& step = steps[s];
      for (const TensorId id : step.overwrites) {
        const TensorId root = Root(id);
        if (!MayTake(step, root, s + 1)) continue;
        const TensorId taken = Root(step.writes[0]);
        root_[taken] = root;
        Extend(root, life_[taken].end);
        break;
      }
    }
  }

 private:
  struct Life {
    int64_t begin, end;
  };

  void Extend(TensorId root, int64_t end) {
    life_[root].end = std::max(life_[root].end, end);
  }

  void Add(const StepUse& step, int64_t instant) {
    for (const TensorId id : step.reads) {
      if (!graph_.tensors[id].is_constant()) Extend(Root(id), instant);
    }
    for (const TensorId id : step.writes) {
      if (step.is_alias) {
        root_[id] = Root(step.reads[0]);
      } else {
        life_[id] = {instant, instant};
      }
    }
    for (const TensorId id : step.keeps) Extend(Root(id), instant);
  }

  bool MayTake(const StepUse& step, TensorId root, int64_t instant) const {
    if (graph_.tensors[root].is_constant() || life_[root].end != instant) {
      return false;
    }
    // Read in another order by another input, it must stay.
    for (const TensorId id : step.reads) {
      if (!graph_.tensors[id].is_constant() && Root(id) == root &&
          !Contains(step.overwrites, id)) {
        return false;
      }
    }
    return true;
  }

  const Graph& graph_;
  const int64_t end_;
  std::vector<TensorId> root_;
  std::vector<Life> life_;
};

int64_t BytesOf(const Tensor& tensor) {
  return std::max<int64_t>(tensor.num_elements() * ElementBytes(tensor.type),
                           1);
}

// Sums of what is alive in each step, which are instants 1 .. count.
std::vector<int64_t> BytesByStep(const std::vector<BufferLife>& buffers,
                                 size_t count) {
  // What begins less what has ended.
  std::vector<int64_t> bytes(count + 2, 0);
  const auto last = static_cast<int64_t>(count);
  for (const BufferLife& buffer : buffers) {
    const int64_t rounded = RoundUp(buffer.size_bytes, kArenaAlignment);
    const int64_t begin = std::max<int64_t>(buffer.begin, 1);
    if (begin > last || buffer.end < begin) continue;
    bytes[begin] += rounded;
    bytes[std::min(buffer.end, last) + 1] -= rounded;
  }
  std::partial_sum(bytes.begin(), bytes.end(), bytes.begin());
  return {bytes.begin() + 1, bytes.begin() + 1 + last};
}

}  // namespace

bool IsAlias(const Graph& graph, const CStep& step) {
  return step.attributes.has_reshape() &&
         !graph.tensors[step.inputs[0]].is_constant() &&
         !IsStateInput(graph, step.inputs[0]);
}

ArenaPlan PlanArena(const Graph& graph, const std::vector<StepUse>& steps) {
  Storage storage(graph, steps);
  storage.Overwrite(steps);
  ArenaPlan plan;
  std::vector<BufferLife> buffers;
  std::map<TensorId, size_t> by_root;
  for (TensorId id = 0; id < std::ssize(graph.tensors); ++id) {
    const TensorId root = storage.Root(id);
    if (graph.tensors[id].is_constant() || !storage.alive(root)) continue;
    const auto [at, fresh] = by_root.try_emplace(root, buffers.size());
    if (fresh) {
      buffers.push_back({.size_bytes = 1,
                         .alignment_bytes = kArenaAlignment,
                         .begin = storage.begin(root),
                         .end = storage.end(root)});
    }
    BufferLife& buffer = buffers[at->second];
    buffer.size_bytes = std::max(buffer.size_bytes, BytesOf(graph.tensors[id]));
  }
  std::vector<std::pair<int64_t, size_t>> scratch;
  for (int64_t s = 0; s < std::ssize(steps); ++s) {
    for (const CScratch& part : steps[s].scratch) {
      scratch.emplace_back(part.number, buffers.size());
      buffers.push_back({.size_bytes = part.bytes,
                         .alignment_bytes = kArenaAlignment,
                         .begin = s + 1,
                         .end = s + 1});
    }
  }
  plan.step_bytes = BytesByStep(buffers, steps.size());
  const OffsetPlan offsets = AllocateOffsets(buffers);
  for (TensorId id = 0; id < std::ssize(graph.tensors); ++id) {
    const auto at = by_root.find(storage.Root(id));
    if (at != by_root.end() && !graph.tensors[id].is_constant()) {
      plan.tensors[id] = offsets.offsets[at->second];
    }
  }
  for (const auto& [number, index] : scratch) {
    plan.scratch[number] = offsets.offsets[index];
  }
  for (const State& state : graph.states) {
    plan.states[state.input] = plan.tensors[state.input];
    plan.state_bytes += BytesOf(graph.tensors[state.input]);
  }
  plan.bytes =
      RoundUp(std::max<int64_t>(offsets.peak_bytes, 1), kArenaAlignment);
  return plan;
}

}  // namespace edgekiln::compiler
