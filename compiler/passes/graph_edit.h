#ifndef EK_COMPILER_PASSES_GRAPH_EDIT_H_
#define EK_COMPILER_PASSES_GRAPH_EDIT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/clamps.h"

// What rewrites have in common: who makes and reads a tensor, new tensors and
// ops with unique names, and removing ops.
namespace edgekiln::compiler {

// By tensor: how often ops read it, plus how often it is a graph output.
std::vector<int> UsesOf(const Graph& graph);

// Gives out names that no tensor and ids that no op of the graph has.
class FreshNames {
 public:
  explicit FreshNames(const Graph& graph);
  std::string TensorName(absl::string_view wanted);
  std::string OpId(absl::string_view wanted);

 private:
  struct Names {
    std::string Make(absl::string_view wanted);

    std::set<std::string> taken;
    // The number behind each name that was given out last: thousands of layers
    // may share one weight, of which each gets its own.
    std::map<std::string, int> last;
  };

  Names names_;
  Names ids_;
};

// Who makes and reads each tensor, kept up to date by the edits below (but for
// inserted ops: a pass that inserts does not move readers). Ops are
// marked as removed and leave the graph in Finish(); until then their indices
// stay valid.
class GraphEditor {
 public:
  explicit GraphEditor(Graph& graph);

  Graph& graph() { return graph_; }
  FreshNames& names() { return names_; }
  bool removed(int32_t op) const { return removed_[op]; }
  const Tensor& tensor(TensorId id) const { return graph_.tensors[id]; }

  // The op that makes the tensor, null if none does or it was inserted.
  Op* producer(TensorId id);
  // How often ops read the tensor, plus one if it is a graph output.
  int uses(TensorId id) const { return uses_[id]; }
  bool is_graph_output(TensorId id) const { return is_output_[id]; }

  // Adds a tensor; its name is made unique.
  TensorId AddTensor(Tensor tensor);

  // Sets input `index` of an op, which may be one past the last.
  void SetInput(int32_t op, int index, TensorId id);
  // Drops input `first` of an op and those after it.
  void DropInputsFrom(int32_t op, int first);
  // Makes an op another one on the same inputs.
  void SetAttributes(int32_t op, v1::OpAttributes attributes);
  // A new op in front of `op`, which makes `result` of `input`. Returns the
  // result; `op` is not changed.
  TensorId InsertBefore(int32_t op, absl::string_view id,
                        v1::OpAttributes attributes, TensorId input,
                        Tensor result);
  // The producer of `op`'s first input now makes `op`'s output; `op` goes. The
  // caller has made sure that nothing else reads that input.
  void FuseIntoProducer(int32_t op);
  // `moved` takes the place of `op` and makes what that made. The producer of
  // `gone`, which only `op` reads, goes.
  void MoveTo(int32_t op, TensorId gone, Op moved);
  // Readers of `op`'s output read `replacement` instead; `op` goes. False and
  // nothing done if the output is a graph output whose name cannot move to
  // `replacement`.
  bool ReplaceByInput(int32_t op, TensorId replacement);

  // Removes what was marked. Says whether anything was edited.
  bool Finish();

 private:
  void Remove(int32_t op);
  // `op` makes `to`, where it made `from`; its other outputs stay.
  void MakeInstead(int32_t op, TensorId from, TensorId to);
  void MoveReaders(TensorId from, TensorId to);

  Graph& graph_;
  FreshNames names_;
  std::vector<int32_t> producer_;  // By tensor; -1 = none.
  std::vector<int> uses_;
  std::vector<std::vector<int32_t>> readers_;  // May name ops that no more do.
  std::vector<bool> is_output_;
  std::vector<bool> removed_;
  std::multimap<int32_t, Op> inserted_;  // By the op they stand in front of.
  bool edited_ = false;
};

// Whether the tensor is a constant, or made of one by Dequantize, Transpose and
// Reshape: known now, though not as values of its type.
bool IsConstantLike(GraphEditor& editor, TensorId id);

// Values of a FLOAT32 constant; empty for anything else.
std::optional<std::vector<float>> FloatConstantValues(const Tensor& tensor);

// A constant of `like`'s name and type with other values.
Tensor FloatTensorLike(const Tensor& like, std::vector<int64_t> shape,
                       absl::Span<const float> values);

v1::OpAttributes TransposeAttributes(absl::Span<const int32_t> permutation);
v1::OpAttributes ReshapeAttributes();

// Drops tensors that are no input, output, or part of an op. Says whether
// there were any.
bool RemoveUnusedTensors(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_GRAPH_EDIT_H_
