// Models quantized as uint8 compute the same as int8: zero points and values
// less 128. Engines take int8. Exact for ops that start by taking zero points
// off and for those that choose values; where another op computes on uint8
// tensors, these stay.

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/integer_dot.h"
#include "compiler/passes/integer_source.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

bool IsUint8(const Tensor& tensor) {
  return tensor.type == v1::UINT8 && tensor.quantization.has_value();
}

// Whether the graph states its quantization by ops, as ONNX does.
bool HasOnnxQuantize(const Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return op.attributes.rounding() == v1::HALF_EVEN;
  });
}

class Shift {
 public:
  explicit Shift(Graph& graph)
      : graph_(graph),
        names_(graph),
        group_(graph.tensors.size()),
        stays_(graph.tensors.size(), true) {
    std::iota(group_.begin(), group_.end(), 0);
  }

  Changed Run() {
    for (const Op& op : graph_.ops) Join(op);
    std::vector<bool> refused(graph_.tensors.size(), false);
    std::vector<bool> gains(graph_.tensors.size(), false);
    for (const Op& op : graph_.ops) {
      for (const std::vector<TensorId>* side : {&op.inputs, &op.outputs}) {
        for (const TensorId id : *side) {
          if (id == kNoTensor || !IsUint8(graph_.tensors[id])) continue;
          if (!Follows(op)) refused[Leader(id)] = true;
          if (!IsConversionOfIntegers(op)) gains[Leader(id)] = true;
        }
      }
    }
    // There the type cannot change, and no op converts scales per channel.
    for (const std::vector<TensorId>* border :
         {&graph_.inputs, &graph_.outputs}) {
      for (const TensorId id : *border) {
        const Tensor& tensor = graph_.tensors[id];
        if (!IsUint8(tensor) || !tensor.quantization->per_channel()) continue;
        refused[Leader(id)] = true;
      }
    }
    bool any = false;
    for (size_t i = 0; i < stays_.size(); ++i) {
      const TensorId leader = Leader(static_cast<TensorId>(i));
      stays_[i] =
          !IsUint8(graph_.tensors[i]) || refused[leader] || !gains[leader];
      any = any || !stays_[i];
    }
    if (!any) return Changed::kNo;
    Apply();
    return Changed::kYes;
  }

 private:
  TensorId Leader(TensorId id) {
    while (group_[id] != id) id = group_[id] = group_[group_[id]];
    return id;
  }

  // Whether the op takes each of its tensors as it is, int8 or uint8.
  static bool TakesEither(const Op& op) {
    return op.attributes.has_quantize() || op.attributes.has_dequantize() ||
           IsDot(op);
  }

  // Whether the op does the same on shifted tensors: whatever starts with
  // x - zero_point. An average of integers does not, which rounds their sum.
  static bool Follows(const Op& op) {
    const v1::OpAttributes& attributes = op.attributes;
    return TakesEither(op) || ChoosesValues(op) || attributes.has_concat() ||
           attributes.has_add() || attributes.has_mul() ||
           attributes.has_clip() || attributes.has_mat_mul() ||
           attributes.has_softmax();
  }

  bool IsConversionOfIntegers(const Op& op) const {
    return op.attributes.has_quantize() &&
           graph_.tensors[op.inputs[0]].type != v1::FLOAT32;
  }

  // Tensors that only change together.
  void Join(const Op& op) {
    if (TakesEither(op) || !Follows(op)) return;
    for (const TensorId input : op.inputs) {
      if (input == kNoTensor || !IsUint8(graph_.tensors[input])) continue;
      group_[Leader(input)] = Leader(op.outputs[0]);
    }
  }

  // Retypes what shifts; at the graph's border an int8 twin takes its place.
  void Apply() {
    std::vector<TensorId> twin(graph_.tensors.size());
    std::iota(twin.begin(), twin.end(), 0);
    std::vector<Op> first;
    std::vector<Op> last;
    for (const TensorId id : graph_.inputs) {
      if (!stays_[id]) first.push_back(Conversion(id, twin, /*in=*/true));
    }
    for (const TensorId id : graph_.outputs) {
      if (stays_[id] || twin[id] != id) continue;
      last.push_back(Conversion(id, twin, /*in=*/false));
    }
    for (size_t i = 0; i < stays_.size(); ++i) {
      if (stays_[i] || twin[i] != static_cast<TensorId>(i)) continue;
      graph_.tensors[i] = ShiftedToInt8(std::move(graph_.tensors[i]));
    }
    const auto replace = [&twin](std::vector<TensorId>& ids) {
      for (TensorId& id : ids) {
        if (id != kNoTensor) id = twin[id];
      }
    };
    std::vector<Op> ops = std::move(first);
    for (Op& op : graph_.ops) {
      replace(op.inputs);
      replace(op.outputs);
      ops.push_back(std::move(op));
    }
    std::move(last.begin(), last.end(), std::back_inserter(ops));
    graph_.ops = std::move(ops);
  }

  // Between a tensor of the border and its twin, which is made here.
  Op Conversion(TensorId id, std::vector<TensorId>& twin, bool in) {
    Tensor tensor = ShiftedToInt8(graph_.tensors[id]);
    tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".int8"));
    twin[id] = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(tensor));
    Op op;
    op.id = names_.OpId(in ? "to_int8" : "to_uint8");
    op.attributes.mutable_quantize();
    op.inputs = {in ? id : twin[id]};
    op.outputs = {in ? twin[id] : id};
    return op;
  }

  Graph& graph_;
  FreshNames names_;
  std::vector<TensorId> group_;  // Towards the leader of each tensor's group.
  std::vector<bool> stays_;
};

class ShiftToInt8 : public Pass {
 public:
  absl::string_view name() const override { return "shift-to-int8"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    if (!HasOnnxQuantize(graph)) return Changed::kNo;
    return Shift(graph).Run();
  }
};

}  // namespace

std::unique_ptr<Pass> NewShiftToInt8Pass() {
  return std::make_unique<ShiftToInt8>();
}

}  // namespace edgekiln::compiler
