#ifndef EK_COMPILER_CODEGEN_VIEWS_H_
#define EK_COMPILER_CODEGEN_VIEWS_H_

// Tensors that share the bytes of others. A transpose on the host is folded,
// that is, never run, where the moves of engines can read or write one of its
// tensors through the layout of the other. An op of the host may write its
// result over its input, in the same layout.

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/layout.pb.h"
#include "edgekiln/v1/program.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Immutable; the graph must outlive it.
class Views {
 public:
  // With these ops folded. INVALID_ARGUMENT if they are not rising indices of
  // transposes on the host.
  static absl::StatusOr<Views> Create(const Graph& graph,
                                      const v1::Partition& partition,
                                      absl::Span<const int32_t> folded);

  // By tensor, the tensor that names its place. Reshapes share the place of
  // their inputs. Tensors joined by folded ops share one place, named after the
  // one that the host or the caller uses, if any, and dense wherever the host
  // reaches it. The input of an op in place has the place of the result.
  const std::vector<TensorId>& places() const { return places_; }
  // The other tensors of that place that folded ops join, by storage, rising.
  absl::Span<const TensorId> OthersOf(TensorId place) const;

  // Whether the op is a reshape or folded, so that no step runs it.
  bool IsNothing(int32_t op) const { return nothing_[op]; }

  // Whether the op is one of InPlaceOps() next to no folded one: then its input
  // has its values until the op has run, its result from then on.
  bool IsInPlace(int32_t op) const { return in_place_[op]; }

  // The layout of tensor `to` in the bytes that `from` has in `layout`; both by
  // storage, of one place. Nothing if no layout expresses it.
  std::optional<v1::Layout> Between(TensorId from, const v1::Layout& layout,
                                    TensorId to) const;
  // The layout of a tensor, by storage, when its place is dense.
  std::optional<v1::Layout> InDensePlace(TensorId tensor) const;

 private:
  // A folded op, as seen from one of its tensors.
  struct Edge {
    int32_t op = 0;
    TensorId to = kNoTensor;
    bool forward = false;  // From the op's input to its output.
  };

  explicit Views(const Graph& graph) : graph_(&graph) {}
  void Connect(int32_t op);
  void ChoosePlaces(const std::vector<bool>& of_host);
  void JoinInPlace(const v1::Partition& partition);
  std::optional<v1::Layout> Across(const Edge& edge,
                                   const v1::Layout& layout) const;

  const Graph* graph_;
  std::vector<TensorId> storage_;
  std::vector<bool> nothing_;
  std::vector<bool> in_place_;
  // By storage, the last result that ops in place write over it; itself if
  // there is none.
  std::vector<TensorId> last_over_;
  std::vector<std::vector<Edge>> edges_;  // By storage.
  std::vector<TensorId> places_;
  std::vector<std::vector<TensorId>> others_;  // By place.
};

// The transposes to fold, rising. A group of tensors that transposes join is
// folded if the host and the caller use at most one of them and each engine
// accepts its tensor as a view of the dense place in memory `ram`. All engines
// must be driven by the host.
absl::StatusOr<std::vector<int32_t>> FoldableOps(const Graph& graph,
                                                 const v1::Partition& partition,
                                                 const v1::Machine& machine,
                                                 int32_t ram);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_VIEWS_H_
