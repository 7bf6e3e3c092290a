// Transposes move towards the outputs:
//
//   %t = transpose(%x) {permutation [0,3,1,2]}       %r' = clip(%x)
//   %r = clip(%t)                                 -> %r = transpose(%r')
//
// so that they meet and cancel, and what stays is where a layout really
// changes. One sweep in topological order carries a transpose as far as it
// goes, since the op behind it sees it again.

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"
#include "compiler/passes/permutation.h"
#include "compiler/passes/transposed_tensor.h"

namespace edgekiln::compiler {
namespace {

bool IsIdentity(const Permutation& permutation) {
  return std::is_sorted(permutation.begin(), permutation.end());
}

// The sweep over one graph. New ops are appended to a new list, in order.
class Sinking {
 public:
  explicit Sinking(Graph& graph)
      : graph_(graph),
        names_(graph),
        maker_(graph.tensors.size(), -1),
        is_output_(graph.tensors.size(), false) {
    for (const TensorId id : graph.outputs) is_output_[id] = true;
  }

  Changed Run() {
    std::vector<Op> before = std::move(graph_.ops);
    for (Op& op : before) {
      for (TensorId& input : op.inputs) {
        if (const auto found = alias_.find(input); found != alias_.end()) {
          input = found->second;
        }
      }
      if (!Rewrite(op)) Append(std::move(op));
    }
    graph_.ops = std::move(ops_);
    TransposesToReshapes();
    return changed_ ? Changed::kYes : Changed::kNo;
  }

 private:
  // Emits what replaces the op; false if it stays as it is.
  bool Rewrite(Op& op) {
    return op.attributes.has_transpose() ? MergeTranspose(op) : Sink(op);
  }

  void Append(Op op) {
    for (const TensorId output : op.outputs) {
      maker_[output] = static_cast<int32_t>(ops_.size());
    }
    ops_.push_back(std::move(op));
  }

  // What moves only extents of 1 is a reshape. After all has sunk: reshapes
  // stay where they are.
  void TransposesToReshapes() {
    for (Op& op : graph_.ops) {
      if (!op.attributes.has_transpose()) continue;
      const Tensor& x = graph_.tensors[op.inputs[0]];
      if (!MovesOnlyOnes(x.shape, PermutationOf(op)) ||
          (x.quantization.has_value() && x.quantization->per_channel())) {
        continue;
      }
      op.attributes = ReshapeAttributes();
      changed_ = true;
    }
  }

  // The transpose that makes the tensor, or null.
  const Op* TransposeOf(TensorId id) const {
    if (id == kNoTensor || maker_[id] < 0) return nullptr;
    const Op& op = ops_[maker_[id]];
    return op.attributes.has_transpose() ? &op : nullptr;
  }

  static Permutation PermutationOf(const Op& transpose) {
    const auto& values = transpose.attributes.transpose().permutation();
    return Permutation(values.begin(), values.end());
  }

  TensorId AddTensor(Tensor tensor) {
    tensor.name = names_.TensorName(tensor.name);
    graph_.tensors.push_back(std::move(tensor));
    maker_.push_back(-1);
    return static_cast<TensorId>(graph_.tensors.size()) - 1;
  }

  // transpose(transpose(x)) -> transpose(x), or x itself.
  bool MergeTranspose(Op& op) {
    const Op* inner = TransposeOf(op.inputs[0]);
    if (inner == nullptr) return false;
    const Permutation first = PermutationOf(*inner);
    Permutation permutation = PermutationOf(op);
    for (int32_t& from : permutation) from = first[from];
    changed_ = true;
    const TensorId x = inner->inputs[0];
    if (IsIdentity(permutation) && !is_output_[op.outputs[0]]) {
      alias_[op.outputs[0]] = x;
      return true;
    }
    op.inputs[0] = x;
    op.attributes = TransposeAttributes(permutation);
    Append(std::move(op));
    return true;
  }

  bool IsTransposedBy(TensorId id, const Permutation& permutation) const {
    const Op* transpose = TransposeOf(id);
    return transpose != nullptr && PermutationOf(*transpose) == permutation;
  }

  // Whether Untransposed() can do it without a real transpose.
  bool CanUntranspose(TensorId id, const Permutation& permutation,
                      bool broadcasts) const {
    if (IsTransposedBy(id, permutation)) return true;
    const Tensor& tensor = graph_.tensors[id];
    const size_t rank = permutation.size();
    if ((tensor.quantization.has_value() &&
         tensor.quantization->per_channel()) ||
        tensor.shape.size() > rank ||
        (tensor.shape.size() < rank && !broadcasts)) {
      return false;
    }
    return tensor.is_constant() ||
           MovesOnlyOnes(Ranked(tensor.shape, rank), Inverse(permutation));
  }

  // The tensor that `id` is the transpose of: what a transpose like the first
  // one reads, a constant turned round, or a reshape where the order of the
  // elements stays.
  TensorId Untransposed(const Op& op, TensorId id,
                        const Permutation& permutation) {
    if (IsTransposedBy(id, permutation)) return TransposeOf(id)->inputs[0];
    Tensor tensor = graph_.tensors[id];
    tensor.shape = Ranked(tensor.shape, permutation.size());
    tensor.name = absl::StrCat(tensor.name, ".moved");
    const Permutation inverse = Inverse(permutation);
    if (tensor.is_constant()) {
      return AddTensor(TransposedTensor(tensor, inverse));
    }
    tensor.shape = Permuted(tensor.shape, inverse);
    const TensorId result = AddTensor(std::move(tensor));
    Op reshape;
    reshape.id = names_.OpId(absl::StrCat(op.id, ".reshape"));
    reshape.name = op.name;
    reshape.attributes = ReshapeAttributes();
    reshape.inputs = {id};
    reshape.outputs = {result};
    Append(std::move(reshape));
    return result;
  }

  bool Sink(Op& op) {
    const size_t data_inputs = std::min(DataInputs(op), op.inputs.size());
    const Op* first = nullptr;
    for (size_t i = 0; i < data_inputs && first == nullptr; ++i) {
      first = TransposeOf(op.inputs[i]);
    }
    if (first == nullptr) return false;
    const Permutation permutation = PermutationOf(*first);
    std::optional<MovedOp> moved = MoveInFront(graph_, op, permutation);
    if (!moved.has_value()) return false;
    for (const TensorId id : op.outputs) {
      const Tensor& output = graph_.tensors[id];
      if (output.shape.size() != moved->behind.size() ||
          (output.quantization.has_value() &&
           output.quantization->per_channel())) {
        return false;
      }
    }
    for (size_t i = 0; i < data_inputs; ++i) {
      if (!CanUntranspose(op.inputs[i], permutation, Broadcasts(op))) {
        return false;
      }
    }
    std::vector<TensorId> inputs = op.inputs;
    for (size_t i = 0; i < data_inputs; ++i) {
      inputs[i] = Untransposed(op, op.inputs[i], permutation);
    }
    EmitSunk(op, *std::move(moved), std::move(inputs));
    return true;
  }

  // The op on `inputs`, and the transposes behind it.
  void EmitSunk(Op& op, MovedOp moved, std::vector<TensorId> inputs) {
    op.attributes = std::move(moved.attributes);
    op.inputs = std::move(inputs);
    std::vector<Op> transposes;
    for (TensorId& output : op.outputs) {
      Tensor result = graph_.tensors[output];
      result.shape = Permuted(result.shape, Inverse(moved.behind));
      result.name = absl::StrCat(result.name, ".moved");
      Op transpose;
      transpose.id = names_.OpId(absl::StrCat(op.id, ".transpose"));
      transpose.name = op.name;
      transpose.attributes = TransposeAttributes(moved.behind);
      transpose.outputs = {output};
      output = AddTensor(std::move(result));
      transpose.inputs = {output};
      transposes.push_back(std::move(transpose));
    }
    changed_ = true;
    Append(std::move(op));
    for (Op& transpose : transposes) Append(std::move(transpose));
  }

  Graph& graph_;
  FreshNames names_;
  std::vector<int32_t> maker_;   // By tensor: index into ops_, or -1.
  std::vector<bool> is_output_;  // Tensors of the graph as it was.
  std::map<TensorId, TensorId> alias_;
  std::vector<Op> ops_;
  bool changed_ = false;
};

class SinkTransposes : public Pass {
 public:
  absl::string_view name() const override { return "sink-transposes"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    return Sinking(graph).Run();
  }
};

}  // namespace

std::unique_ptr<Pass> NewSinkTransposesPass() {
  return std::make_unique<SinkTransposes>();
}

}  // namespace edgekiln::compiler
