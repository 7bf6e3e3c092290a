#include "compiler/codegen/views.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/backends.h"
#include "compiler/codegen/in_place_ops.h"
#include "compiler/engines/backend.h"
#include "compiler/ir/storage.h"
#include "target/layout.h"
#include "target/layout_parts.h"

namespace edgekiln::compiler {
namespace {

// Tensors of one place: bounds the time of Between().
constexpr size_t kMaxOfOnePlace = 16;

v1::Layout DenseLayoutOf(const Tensor& tensor) {
  return target::DenseLayout(tensor.shape, ElementBytes(tensor.type));
}

// By storage: inputs, outputs, and operands of host ops that run.
std::vector<bool> TensorsOfHostOps(const Graph& graph,
                                   const std::vector<TensorId>& storage,
                                   const v1::Partition& partition,
                                   const std::vector<bool>& nothing) {
  std::vector<bool> of_host(graph.tensors.size(), false);
  const auto mark = [&](const std::vector<TensorId>& tensors) {
    for (const TensorId tensor : tensors) {
      if (tensor != kNoTensor) of_host[storage[tensor]] = true;
    }
  };
  mark(graph.inputs);
  mark(graph.outputs);
  for (int32_t i = 0; i < std::ssize(graph.ops); ++i) {
    if (nothing[i] || partition.placements(i).engine() >= 0) continue;
    mark(graph.ops[i].inputs);
    mark(graph.ops[i].outputs);
  }
  return of_host;
}

bool IsTransposeOfHost(const Graph& graph, const v1::Partition& partition,
                       int32_t op) {
  return graph.ops[op].attributes.has_transpose() &&
         partition.placements(op).engine() < 0;
}

// Finds which transposes can be folded.
class Folder {
 public:
  Folder(const Graph& graph, const v1::Partition& partition,
         const v1::Machine& machine, int32_t ram)
      : graph_(graph),
        partition_(partition),
        machine_(machine),
        ram_(ram),
        maker_(graph) {}

  absl::StatusOr<std::vector<int32_t>> Run() {
    std::vector<int32_t> all;
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      if (!IsTransposeOfHost(graph_, partition_, i)) continue;
      const TensorId input = maker_.storage()[graph_.ops[i].inputs[0]];
      if (!graph_.tensors[input].is_constant()) all.push_back(i);
    }
    if (all.empty()) return all;
    EK_ASSIGN_OR_RETURN(const Views views,
                        Views::Create(graph_, partition_, all));
    EK_ASSIGN_OR_RETURN(const std::vector<bool> folds, PlacesThatFold(views));
    std::vector<int32_t> folded;
    for (const int32_t op : all) {
      // Not folding one place does not change the others.
      if (folds[views.places()[graph_.ops[op].outputs[0]]]) {
        folded.push_back(op);
      }
    }
    return folded;
  }

 private:
  absl::StatusOr<std::vector<bool>> PlacesThatFold(const Views& views) const {
    const std::vector<TensorId>& places = views.places();
    std::vector<bool> nothing;
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      nothing.push_back(views.IsNothing(i));
    }
    const std::vector<bool> of_host =
        TensorsOfHostOps(graph_, maker_.storage(), partition_, nothing);
    std::vector<int32_t> host_tensors(graph_.tensors.size(), 0);  // By place.
    for (size_t t = 0; t < of_host.size(); ++t) {
      if (of_host[t]) ++host_tensors[places[t]];
    }
    std::vector<bool> legal(graph_.tensors.size(), true);
    std::vector<bool> used(graph_.tensors.size(), false);
    for (int32_t i = 0; i < std::ssize(graph_.ops); ++i) {
      const int32_t engine = partition_.placements(i).engine();
      if (engine < 0 || nothing[i]) continue;
      const Region region = maker_.Make({i});
      for (const std::vector<TensorId>* tensors :
           {&graph_.ops[i].inputs, &graph_.ops[i].outputs}) {
        for (const TensorId id : *tensors) {
          if (id == kNoTensor) continue;
          const TensorId tensor = maker_.storage()[id];
          const TensorId place = places[tensor];
          const size_t others = views.OthersOf(place).size();
          if (others == 0 || !legal[place]) continue;
          used[place] = true;
          legal[place] = host_tensors[place] < 2 && others < kMaxOfOnePlace;
          if (!legal[place]) continue;
          EK_ASSIGN_OR_RETURN(legal[place],
                              Takes(region, engine, tensor, views));
        }
      }
    }
    for (size_t t = 0; t < legal.size(); ++t) legal[t] = legal[t] && used[t];
    return legal;
  }

  absl::StatusOr<bool> Takes(const Region& region, int32_t engine,
                             TensorId tensor, const Views& views) const {
    const std::optional<v1::Layout> layout = views.InDensePlace(tensor);
    if (!layout) return false;
    EK_ASSIGN_OR_RETURN(const EngineBackend* const backend,
                        FindBackend(machine_, engine));
    Budget::Border border;
    border.tensor = tensor;
    border.memory = ram_;
    border.layout = *layout;
    const absl::Status taken =
        backend->CheckBorder(region, border, machine_, engine);
    if (absl::IsUnimplemented(taken) || absl::IsInvalidArgument(taken)) {
      return false;
    }
    if (taken.ok()) return true;
    return taken;
  }

  const Graph& graph_;
  const v1::Partition& partition_;
  const v1::Machine& machine_;
  const int32_t ram_;
  const RegionMaker maker_;
};

}  // namespace

absl::StatusOr<Views> Views::Create(const Graph& graph,
                                    const v1::Partition& partition,
                                    absl::Span<const int32_t> folded) {
  Views views(graph);
  views.storage_ = StorageOf(graph);
  views.edges_.resize(graph.tensors.size());
  for (const Op& op : graph.ops) {
    views.nothing_.push_back(op.attributes.has_reshape());
  }
  int32_t last = -1;
  for (const int32_t op : folded) {
    if (op <= last || op >= std::ssize(graph.ops) ||
        !IsTransposeOfHost(graph, partition, op)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "op ", op, " is not a transpose on the host, or is listed twice"));
    }
    last = op;
    views.nothing_[op] = true;
    views.Connect(op);
  }
  views.ChoosePlaces(
      TensorsOfHostOps(graph, views.storage_, partition, views.nothing_));
  views.JoinInPlace(partition);
  return views;
}

void Views::JoinInPlace(const v1::Partition& partition) {
  in_place_ = InPlaceOps(*graph_, partition);
  for (size_t t = 0; t < graph_->tensors.size(); ++t) {
    last_over_.push_back(static_cast<TensorId>(t));
  }
  // Readers come later, so that what is over a result is known.
  for (size_t i = in_place_.size(); i-- > 0;) {
    if (!in_place_[i]) continue;
    const TensorId input = graph_->ops[i].inputs[0];
    const TensorId output = graph_->ops[i].outputs[0];
    in_place_[i] = edges_[input].empty() && edges_[output].empty();
    if (in_place_[i]) last_over_[input] = last_over_[output];
  }
  for (TensorId& place : places_) place = last_over_[place];
}

void Views::Connect(int32_t op) {
  const TensorId input = storage_[graph_->ops[op].inputs[0]];
  const TensorId output = storage_[graph_->ops[op].outputs[0]];
  edges_[input].push_back({op, output, true});
  edges_[output].push_back({op, input, false});
}

void Views::ChoosePlaces(const std::vector<bool>& of_host) {
  const auto count = static_cast<TensorId>(graph_->tensors.size());
  others_.resize(count);
  std::vector<TensorId> place(count, kNoTensor);  // By storage.
  for (TensorId t = 0; t < count; ++t) {
    if (storage_[t] != t || place[t] != kNoTensor) continue;
    std::vector<TensorId> group = {t};
    place[t] = t;
    for (size_t i = 0; i < group.size(); ++i) {
      for (const Edge& edge : edges_[group[i]]) {
        if (place[edge.to] != kNoTensor) continue;
        place[edge.to] = t;
        group.push_back(edge.to);
      }
    }
    std::sort(group.begin(), group.end());
    const auto hosts = std::find_if(group.begin(), group.end(),
                                    [&](TensorId g) { return of_host[g]; });
    const TensorId chosen = hosts == group.end() ? t : *hosts;
    for (const TensorId member : group) {
      place[member] = chosen;
      if (member != chosen) others_[chosen].push_back(member);
    }
  }
  for (TensorId t = 0; t < count; ++t) places_.push_back(place[storage_[t]]);
}

absl::Span<const TensorId> Views::OthersOf(TensorId place) const {
  return others_[place];
}

std::optional<v1::Layout> Views::Across(const Edge& edge,
                                        const v1::Layout& layout) const {
  const Op& op = graph_->ops[edge.op];
  const auto& permutation = op.attributes.transpose().permutation();
  if (edge.forward) {
    const auto input =
        target::InShape(layout, graph_->tensors[op.inputs[0]].shape);
    if (!input) return std::nullopt;
    return target::Permuted(*input, permutation);
  }
  std::vector<int32_t> inverse(permutation.size());
  for (int axis = 0; axis < permutation.size(); ++axis) {
    inverse[permutation[axis]] = axis;
  }
  return target::InShape(target::Permuted(layout, inverse),
                         graph_->tensors[edge.to].shape);
}

std::optional<v1::Layout> Views::Between(TensorId from,
                                         const v1::Layout& layout,
                                         TensorId to) const {
  if (last_over_[from] == last_over_[to]) return layout;
  // There is at most one path, since each tensor has one producer.
  std::vector<std::pair<TensorId, v1::Layout>> reached = {{from, layout}};
  for (size_t i = 0; i < reached.size(); ++i) {
    for (const Edge& edge : edges_[reached[i].first]) {
      const bool known =
          std::any_of(reached.begin(), reached.end(),
                      [&](const auto& r) { return r.first == edge.to; });
      if (known) continue;
      std::optional<v1::Layout> there = Across(edge, reached[i].second);
      if (!there) continue;
      if (edge.to == to) return there;
      reached.emplace_back(edge.to, *std::move(there));
    }
  }
  return std::nullopt;
}

std::optional<v1::Layout> Views::InDensePlace(TensorId tensor) const {
  const TensorId place = places_[tensor];
  return Between(place, DenseLayoutOf(graph_->tensors[place]), tensor);
}

absl::StatusOr<std::vector<int32_t>> FoldableOps(const Graph& graph,
                                                 const v1::Partition& partition,
                                                 const v1::Machine& machine,
                                                 int32_t ram) {
  return Folder(graph, partition, machine, ram).Run();
}

}  // namespace edgekiln::compiler
