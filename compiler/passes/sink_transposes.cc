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
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

using Permutation = std::vector<int32_t>;

Permutation Inverse(const Permutation& permutation) {
  Permutation inverse(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    inverse[permutation[i]] = static_cast<int32_t>(i);
  }
  return inverse;
}

std::vector<int64_t> Permuted(absl::Span<const int64_t> shape,
                              const Permutation& permutation) {
  std::vector<int64_t> result;
  for (const int32_t from : permutation) result.push_back(shape[from]);
  return result;
}

// The shape with leading extents of 1 up to `rank`, as broadcasting sees it.
std::vector<int64_t> Ranked(std::vector<int64_t> shape, size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

bool IsIdentity(const Permutation& permutation) {
  return std::is_sorted(permutation.begin(), permutation.end());
}

// Whether the elements keep their order: only extents of 1 change places.
bool MovesOnlyOnes(absl::Span<const int64_t> shape,
                   const Permutation& permutation) {
  int32_t last = -1;
  for (const int32_t from : permutation) {
    if (shape[from] == 1) continue;
    if (from < last) return false;
    last = from;
  }
  return true;
}

// Dimensions that a mean without keep_dims leaves, as a permutation of those
// that it leaves of the input of the transpose.
Permutation Remaining(const Permutation& permutation,
                      const v1::ReduceMean& mean) {
  Permutation kept;
  for (int32_t i = 0; i < static_cast<int32_t>(permutation.size()); ++i) {
    if (std::find(mean.axes().begin(), mean.axes().end(), i) ==
        mean.axes().end()) {
      kept.push_back(permutation[i]);
    }
  }
  Permutation ranks;
  for (const int32_t value : kept) {
    ranks.push_back(static_cast<int32_t>(
        std::count_if(kept.begin(), kept.end(),
                      [value](int32_t other) { return other < value; })));
  }
  return ranks;
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
    switch (op.attributes.op_case()) {
      case v1::OpAttributes::kTranspose:
        return MergeTranspose(op);
      case v1::OpAttributes::kAdd:
      case v1::OpAttributes::kMul:
      case v1::OpAttributes::kConcat:
      case v1::OpAttributes::kClip:
      case v1::OpAttributes::kPad:
      case v1::OpAttributes::kSoftmax:
      case v1::OpAttributes::kBatchNormalization:
      case v1::OpAttributes::kReduceMean:
      case v1::OpAttributes::kQuantize:
      case v1::OpAttributes::kDequantize:
        return Sink(op);
      default:
        return false;
    }
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

  // Attributes of the op in front of the transpose; and the permutation of the
  // transpose behind it, which a mean may shorten.
  static v1::OpAttributes Moved(const v1::OpAttributes& attributes,
                                const Permutation& permutation,
                                Permutation* behind) {
    v1::OpAttributes moved = attributes;
    const Permutation inverse = Inverse(permutation);
    if (moved.has_softmax()) {
      moved.mutable_softmax()->set_axis(permutation[moved.softmax().axis()]);
    } else if (moved.has_batch_normalization()) {
      moved.mutable_batch_normalization()->set_axis(
          permutation[moved.batch_normalization().axis()]);
    } else if (moved.has_concat()) {
      moved.mutable_concat()->set_axis(permutation[moved.concat().axis()]);
    } else if (moved.has_pad()) {
      v1::Pad* pad = moved.mutable_pad();
      for (int i = 0; i < static_cast<int>(permutation.size()); ++i) {
        pad->set_before(permutation[i], attributes.pad().before(i));
        pad->set_after(permutation[i], attributes.pad().after(i));
      }
    } else if (moved.has_reduce_mean()) {
      v1::ReduceMean* mean = moved.mutable_reduce_mean();
      if (!mean->keep_dims()) *behind = Remaining(permutation, *mean);
      for (int32_t& axis : *mean->mutable_axes()) axis = permutation[axis];
      std::sort(mean->mutable_axes()->begin(), mean->mutable_axes()->end());
    }
    return moved;
  }

  // Inputs that have the data's dimensions; the others are per channel.
  static size_t DataInputs(const Op& op) {
    return op.attributes.has_batch_normalization() ? 1 : op.inputs.size();
  }

  bool Sink(Op& op) {
    const Op* first = nullptr;
    for (size_t i = 0; i < DataInputs(op) && first == nullptr; ++i) {
      first = TransposeOf(op.inputs[i]);
    }
    if (first == nullptr) return false;
    const Permutation permutation = PermutationOf(*first);
    const Tensor& output = graph_.tensors[op.outputs[0]];
    const bool mean = op.attributes.has_reduce_mean();
    if (output.quantization.has_value() && output.quantization->per_channel()) {
      return false;
    }
    if (!mean && output.shape.size() != permutation.size()) return false;
    const bool broadcasts = op.attributes.has_add() || op.attributes.has_mul();
    for (size_t i = 0; i < DataInputs(op); ++i) {
      if (!CanUntranspose(op.inputs[i], permutation, broadcasts)) return false;
    }
    std::vector<TensorId> inputs = op.inputs;
    for (size_t i = 0; i < DataInputs(op); ++i) {
      inputs[i] = Untransposed(op, op.inputs[i], permutation);
    }
    EmitSunk(op, permutation, std::move(inputs));
    return true;
  }

  // The op on `inputs`, and the transpose behind it.
  void EmitSunk(Op& op, const Permutation& permutation,
                std::vector<TensorId> inputs) {
    Permutation behind = permutation;
    op.attributes = Moved(op.attributes, permutation, &behind);
    Tensor result = graph_.tensors[op.outputs[0]];
    result.shape = Permuted(result.shape, Inverse(behind));
    result.name = absl::StrCat(result.name, ".moved");
    Op transpose;
    transpose.id = names_.OpId(absl::StrCat(op.id, ".transpose"));
    transpose.name = op.name;
    transpose.attributes = TransposeAttributes(behind);
    transpose.outputs = op.outputs;
    op.inputs = std::move(inputs);
    op.outputs = {AddTensor(std::move(result))};
    transpose.inputs = op.outputs;
    changed_ = true;
    Append(std::move(op));
    Append(std::move(transpose));
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
