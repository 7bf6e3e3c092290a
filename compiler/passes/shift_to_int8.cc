// Models quantized as uint8 compute the same as int8: zero points and values
// less 128. Engines take int8.
//
//   %y : uint8 = conv2d(%x, %w)
//     ->
//   %a : int8 = quantize(%x)        where %x is an input of the graph
//   %b : int8 = conv2d(%a, %w.int8)
//   %y : uint8 = quantize(%b)       where %y is an output
//
// Exact for ops that start by taking zero points off and for those that choose
// values. Others stay uint8 between two such conversions, which change no
// value.

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/passes/depthwise_average.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/integer_rounding.h"
#include "compiler/passes/integer_source.h"
#include "compiler/passes/op_traits.h"
#include "compiler/passes/pass.h"

namespace edgekiln::compiler {
namespace {

bool IsUint8(const Tensor& tensor) {
  return tensor.type == v1::UINT8 && tensor.quantization.has_value();
}

bool IsFloat(const Tensor& tensor) {
  return tensor.type == v1::FLOAT16 || tensor.type == v1::FLOAT32 ||
         tensor.type == v1::FLOAT64;
}

// Whether the graph states its quantization by pairs of ops, as ONNX does.
bool HasOnnxQuantize(const Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [](const Op& op) {
    return op.attributes.rounding() == v1::HALF_EVEN;
  });
}

// An average of integers rounds their sum, whose sign decides where a tie goes:
// it shifts where none can occur. Of real values rounding half to even asks.
bool AverageShifts(const Op& op) {
  if (op.attributes.rounding() == v1::HALF_EVEN) return true;
  return op.attributes.has_average_pool2d() &&
         !AverageMayTie(op.attributes.average_pool2d());
}

// TensorFlow Lite's bilinear resize (docs/numerics.md, 3.16) has integer
// weights that always sum to the same; other interpolations compute in floats.
bool ResizeShifts(const v1::Resize& resize) {
  return resize.mode() == v1::Resize::LINEAR && resize.shape_size() == 4 &&
         resize.scale().empty() && !resize.antialias() &&
         (resize.coordinates() == v1::Resize::HALF_PIXEL ||
          resize.coordinates() == v1::Resize::ASYMMETRIC ||
          resize.coordinates() == v1::Resize::ALIGN_CORNERS);
}

bool IsComparison(v1::Binary::Function function) {
  switch (function) {
    case v1::Binary::EQUAL:
    case v1::Binary::NOT_EQUAL:
    case v1::Binary::GREATER:
    case v1::Binary::GREATER_OR_EQUAL:
    case v1::Binary::LESS:
    case v1::Binary::LESS_OR_EQUAL:
      return true;
    default:
      return false;
  }
}

// Whether the op gives the same, shifted, for shifted tensors: whatever starts
// with x - zero_point, and whatever orders values.
bool Shifts(const Op& op) {
  const v1::OpAttributes& attributes = op.attributes;
  if (ChoosesValues(op)) return true;
  switch (attributes.op_case()) {
    case v1::OpAttributes::kQuantize:
    case v1::OpAttributes::kDequantize:
    case v1::OpAttributes::kConv2D:
    case v1::OpAttributes::kConv3D:
    case v1::OpAttributes::kDepthwiseConv2D:
    case v1::OpAttributes::kTransposedConv:
    case v1::OpAttributes::kFullyConnected:
    case v1::OpAttributes::kMatMul:
    case v1::OpAttributes::kAdd:
    case v1::OpAttributes::kMul:
    case v1::OpAttributes::kClip:
    case v1::OpAttributes::kConcat:
    case v1::OpAttributes::kMaxPool2D:
    case v1::OpAttributes::kPad:
    case v1::OpAttributes::kReduceMean:
    case v1::OpAttributes::kSoftmax:
    case v1::OpAttributes::kL2Normalization:
    case v1::OpAttributes::kUnary:
    case v1::OpAttributes::kArgReduce:
    case v1::OpAttributes::kTopK:
    case v1::OpAttributes::kSelect:
      return true;
    case v1::OpAttributes::kBinary:
      return HasIntegerMeaning(op) ||
             IsComparison(attributes.binary().function());
    case v1::OpAttributes::kResize:
      return ResizeShifts(attributes.resize());
    case v1::OpAttributes::kReduce:
      return attributes.reduce().function() == v1::Reduce::SUM;
    case v1::OpAttributes::kAveragePool2D:
    case v1::OpAttributes::kPool:
      return AverageShifts(op);
    default:
      return false;
  }
}

class Shift {
 public:
  explicit Shift(Graph& graph)
      : graph_(graph),
        names_(graph),
        pairs_(HasOnnxQuantize(graph)),
        shifts_(graph.tensors.size(), false),
        stays_(graph.tensors.size(), false),
        twin_(graph.tensors.size(), kNoTensor) {}

  Changed Run() {
    Changed changed = LowerAverages();
    for (const Op& op : graph_.ops) Visit(op);
    for (const std::vector<TensorId>* border :
         {&graph_.inputs, &graph_.outputs}) {
      for (const TensorId id : *border) stays_[id] = true;
    }
    if (std::find(shifts_.begin(), shifts_.end(), true) != shifts_.end()) {
      Apply();
      changed = Changed::kYes;
    }
    return changed;
  }

 private:
  // Averages of 4, 16, 64 values round as a convolution does, whose
  // factor is exact.
  Changed LowerAverages() {
    Changed changed = Changed::kNo;
    for (Op& op : graph_.ops) {
      if (!op.attributes.has_average_pool2d() || Shifts(op) ||
          !IsUint8(graph_.tensors[op.inputs[0]]) ||
          !IsExactAsDepthwise(op.attributes.average_pool2d())) {
        continue;
      }
      DepthwiseAverage average = AsDepthwise(op.attributes.average_pool2d(),
                                             graph_.tensors[op.outputs[0]]);
      // Of the type of the activations, with the zero point that shifts to 0.
      average.weights.name = names_.TensorName(average.weights.name);
      average.weights.type = v1::UINT8;
      average.weights.quantization->zero_point = {128};
      average.weights.data = ConstantData(
          std::string(average.weights.data->size(), static_cast<char>(129)));
      op.attributes = std::move(average.attributes);
      op.inputs.push_back(static_cast<TensorId>(graph_.tensors.size()));
      graph_.tensors.push_back(std::move(average.weights));
      shifts_.push_back(false);
      stays_.push_back(false);
      twin_.push_back(kNoTensor);
      changed = Changed::kYes;
    }
    return changed;
  }

  // Changes of type take either type and gain nothing by a shift, unless the
  // ops between them are to become integers.
  bool IsConversion(const Op& op) const {
    if (!op.attributes.has_quantize() && !op.attributes.has_dequantize()) {
      return false;
    }
    const bool integers =
        op.attributes.has_quantize() && !IsFloat(graph_.tensors[op.inputs[0]]);
    return integers || !pairs_;
  }

  bool Follows(const Op& op) const {
    if (!Shifts(op)) return false;
    const auto has_scales = [this](TensorId id) {
      return id != kNoTensor && !graph_.tensors[id].is_constant() &&
             IsUint8(graph_.tensors[id]) &&
             graph_.tensors[id].quantization->per_channel();
    };
    return std::none_of(op.inputs.begin(), op.inputs.end(), has_scales) &&
           std::none_of(op.outputs.begin(), op.outputs.end(), has_scales);
  }

  void Visit(const Op& op) {
    if (IsConversion(op)) return;
    std::vector<bool>& what = Follows(op) ? shifts_ : stays_;
    for (const std::vector<TensorId>* side : {&op.inputs, &op.outputs}) {
      for (const TensorId id : *side) {
        if (id != kNoTensor && IsUint8(graph_.tensors[id])) what[id] = true;
      }
    }
  }

  // Retypes what shifts; where the uint8 tensor has readers as well, an int8
  // twin stands beside it.
  void Apply() {
    const size_t count = shifts_.size();
    for (size_t i = 0; i < count; ++i) {
      if (!shifts_[i]) continue;
      if (stays_[i]) {
        AddTwin(static_cast<TensorId>(i));
      } else {
        graph_.tensors[i] = ShiftedToInt8(std::move(graph_.tensors[i]));
      }
    }
    std::vector<Op> ops;
    for (const TensorId id : graph_.inputs) {
      if (twin_[id] != kNoTensor) ops.push_back(Conversion(id, twin_[id]));
    }
    for (Op& op : graph_.ops) {
      const bool conversion = IsConversion(op);
      const bool follows = !conversion && Follows(op);
      std::vector<Op> after;
      for (TensorId& id : op.outputs) {
        if (id == kNoTensor || twin_[id] == kNoTensor) continue;
        const TensorId twin = twin_[id];
        after.push_back(follows ? Conversion(twin, id) : Conversion(id, twin));
        if (follows) id = twin;
      }
      for (TensorId& id : op.inputs) {
        if (follows && id != kNoTensor && twin_[id] != kNoTensor) {
          id = twin_[id];
        }
      }
      ops.push_back(std::move(op));
      std::move(after.begin(), after.end(), std::back_inserter(ops));
    }
    graph_.ops = std::move(ops);
  }

  void AddTwin(TensorId id) {
    Tensor tensor = ShiftedToInt8(graph_.tensors[id]);
    tensor.name = names_.TensorName(absl::StrCat(tensor.name, ".int8"));
    twin_[id] = static_cast<TensorId>(graph_.tensors.size());
    graph_.tensors.push_back(std::move(tensor));
  }

  Op Conversion(TensorId from, TensorId to) {
    Op op;
    op.id = names_.OpId(graph_.tensors[to].type == v1::INT8 ? "to_int8"
                                                            : "to_uint8");
    op.attributes.mutable_quantize();
    op.inputs = {from};
    op.outputs = {to};
    return op;
  }

  Graph& graph_;
  FreshNames names_;
  const bool pairs_;
  // By tensor, of those that are there before twins are added:
  std::vector<bool> shifts_;    // Some op wants it as int8.
  std::vector<bool> stays_;     // Something needs it as it is.
  std::vector<TensorId> twin_;  // Its int8 form beside it.
};

class ShiftToInt8 : public Pass {
 public:
  absl::string_view name() const override { return "shift-to-int8"; }

  absl::StatusOr<Changed> Run(const PassContext&, Graph& graph) const override {
    if (std::none_of(graph.tensors.begin(), graph.tensors.end(), IsUint8)) {
      return Changed::kNo;
    }
    return Shift(graph).Run();
  }
};

}  // namespace

std::unique_ptr<Pass> NewShiftToInt8Pass() {
  return std::make_unique<ShiftToInt8>();
}

}  // namespace edgekiln::compiler
