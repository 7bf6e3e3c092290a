#include "compiler/passes/permutation.h"

#include <algorithm>

namespace edgekiln::compiler {
namespace {

// Dimensions that a reduction leaves, as a permutation of those that it leaves
// of the input of the transpose.
template <typename Axes>
Permutation Remaining(const Permutation& permutation, const Axes& axes) {
  Permutation kept;
  for (int32_t i = 0; i < static_cast<int32_t>(permutation.size()); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) {
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

template <typename Message>
void MoveAxis(const Permutation& permutation, Message* message) {
  message->set_axis(permutation[message->axis()]);
}

// A list with one entry per dimension.
template <typename List>
void MoveList(const Permutation& permutation, List* list) {
  const List old = *list;
  for (int i = 0; i < old.size(); ++i) list->Set(permutation[i], old[i]);
}

template <typename Message>
void MoveReduction(const Permutation& permutation, Message* message,
                   Permutation* behind) {
  if (!message->keep_dims()) *behind = Remaining(permutation, message->axes());
  for (int32_t& axis : *message->mutable_axes()) axis = permutation[axis];
  std::sort(message->mutable_axes()->begin(), message->mutable_axes()->end());
}

// One index per place takes elements along one axis; the place's dimension
// stays (a list of indices) or goes (one index).
bool MoveGather(const Graph& graph, const Op& op,
                const Permutation& permutation, MovedOp& moved) {
  v1::Gather* gather = moved.attributes.mutable_gather();
  const size_t rank = graph.tensors[op.inputs[1]].shape.size();
  if (gather->batch_dims() != 0 || rank > 1) return false;
  if (rank == 0) {
    moved.behind = Remaining(permutation, std::vector<int32_t>{gather->axis()});
  }
  MoveAxis(permutation, gather);
  return true;
}

void MoveResize(const Permutation& permutation, v1::Resize* resize) {
  MoveList(permutation, resize->mutable_shape());
  MoveList(permutation, resize->mutable_scale());
  if (resize->roi_size() == 0) return;
  const auto old = resize->roi();
  const int rank = static_cast<int>(permutation.size());
  for (int i = 0; i < rank; ++i) {
    resize->set_roi(permutation[i], old[i]);
    resize->set_roi(rank + permutation[i], old[rank + i]);
  }
}

// Normalises over the last dimensions: these must stay where they are.
bool KeepsFrom(const Permutation& permutation, int32_t axis) {
  for (int32_t i = axis; i < static_cast<int32_t>(permutation.size()); ++i) {
    if (permutation[i] != i) return false;
  }
  return true;
}

}  // namespace

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

std::vector<int64_t> Ranked(std::vector<int64_t> shape, size_t rank) {
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

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

std::optional<MovedOp> MoveInFront(const Graph& graph, const Op& op,
                                   const Permutation& permutation) {
  MovedOp moved = {op.attributes, permutation};
  v1::OpAttributes& a = moved.attributes;
  switch (a.op_case()) {
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kBinary:
    case v1::OpAttributes::kSelect:
    case v1::OpAttributes::kCast:
      break;
    case v1::OpAttributes::kConcat:
      MoveAxis(permutation, a.mutable_concat());
      break;
    case v1::OpAttributes::kSoftmax:
      MoveAxis(permutation, a.mutable_softmax());
      break;
    case v1::OpAttributes::kLogSoftmax:
      MoveAxis(permutation, a.mutable_log_softmax());
      break;
    case v1::OpAttributes::kL2Normalization:
      MoveAxis(permutation, a.mutable_l2_normalization());
      break;
    case v1::OpAttributes::kLocalResponseNormalization:
      MoveAxis(permutation, a.mutable_local_response_normalization());
      break;
    case v1::OpAttributes::kBatchNormalization:
      MoveAxis(permutation, a.mutable_batch_normalization());
      break;
    case v1::OpAttributes::kLayerNormalization:
      if (!KeepsFrom(permutation, a.layer_normalization().axis())) {
        return std::nullopt;
      }
      break;
    case v1::OpAttributes::kCumSum:
      MoveAxis(permutation, a.mutable_cum_sum());
      break;
    case v1::OpAttributes::kTopK:
      MoveAxis(permutation, a.mutable_top_k());
      break;
    case v1::OpAttributes::kGatherElements:
      MoveAxis(permutation, a.mutable_gather_elements());
      break;
    case v1::OpAttributes::kGather:
      if (!MoveGather(graph, op, permutation, moved)) return std::nullopt;
      break;
    case v1::OpAttributes::kPad:
      MoveList(permutation, a.mutable_pad()->mutable_before());
      MoveList(permutation, a.mutable_pad()->mutable_after());
      break;
    case v1::OpAttributes::kSlice:
      MoveList(permutation, a.mutable_slice()->mutable_begin());
      MoveList(permutation, a.mutable_slice()->mutable_extent());
      MoveList(permutation, a.mutable_slice()->mutable_stride());
      break;
    case v1::OpAttributes::kTile:
      MoveList(permutation, a.mutable_tile()->mutable_multiples());
      break;
    case v1::OpAttributes::kBroadcastTo:
      // Not where it adds dimensions: CanUntranspose() refuses those.
      MoveList(permutation, a.mutable_broadcast_to()->mutable_shape());
      break;
    case v1::OpAttributes::kResize:
      MoveResize(permutation, a.mutable_resize());
      break;
    case v1::OpAttributes::kReduce:
      MoveReduction(permutation, a.mutable_reduce(), &moved.behind);
      break;
    case v1::OpAttributes::kReduceMean:
      MoveReduction(permutation, a.mutable_reduce_mean(), &moved.behind);
      break;
    case v1::OpAttributes::kArgReduce:
      if (!a.arg_reduce().keep_dims()) {
        moved.behind =
            Remaining(permutation, std::vector<int32_t>{a.arg_reduce().axis()});
      }
      MoveAxis(permutation, a.mutable_arg_reduce());
      break;
    default:
      return std::nullopt;
  }
  return moved;
}

size_t DataInputs(const Op& op) {
  switch (op.attributes.op_case()) {
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kBinary:
    case v1::OpAttributes::kSelect:
    case v1::OpAttributes::kConcat:
      return op.inputs.size();
    case v1::OpAttributes::kGatherElements:
      return 2;
    default:
      return 1;
  }
}

bool Broadcasts(const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  return attributes.has_add() || attributes.has_mul() ||
         attributes.has_binary() || attributes.has_select();
}

}  // namespace edgekiln::compiler
