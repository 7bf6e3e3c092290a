#include "compiler/quantize/fill_values.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/op_traits.h"
#include "compiler/quantize/data_windows.h"
#include "compiler/quantize/integer_choice.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/seen_extremes.h"
#include "ops/quantized_parameters.h"
#include "ops/real_math.h"

namespace edgekiln::compiler {
namespace {

using TensorRange = v1::CalibrationStatistics::TensorRange;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr RealRange kEverything{-kInfinity, kInfinity};
constexpr RealRange kNothing{kInfinity, -kInfinity};
// Two bits.
constexpr double kMuchWider = 4;

bool IsConstantPad(const Op& op) {
  return op.attributes.has_pad() &&
         op.attributes.pad().mode() == v1::Pad::CONSTANT;
}

// Indices of inputs of which each result is one value, chosen so that limiting
// all of them is limiting the result.
std::vector<size_t> ChosenInputs(const Op& op) {
  if (op.outputs.size() != 1 || op.inputs.empty()) return {};
  const v1::Binary::Function function = op.attributes.binary().function();
  if (op.attributes.has_select()) return {1, 2};
  if (function == v1::Binary::MINIMUM || function == v1::Binary::MAXIMUM) {
    return {0, 1};
  }
  if (ChoosesValues(op) || IsConstantPad(op)) return {0};
  std::vector<size_t> chosen;
  if (op.attributes.has_concat()) {
    chosen.resize(op.inputs.size());
    std::iota(chosen.begin(), chosen.end(), size_t{0});
  }
  return chosen;
}

// Outside of it, values of the first input give what its ends do.
RealRange Saturation(const Op& op, bool is_float, v1::ElementType activations) {
  if (op.attributes.has_clip()) {
    const v1::Clamp& clamp = op.attributes.clip().clamp();
    return {clamp.has_min() ? clamp.min() : -kInfinity,
            clamp.has_max() ? clamp.max() : kInfinity};
  }
  const v1::Unary& unary = op.attributes.unary();
  const ops::QuantizedRange integers = ops::RangeOf(activations);
  switch (unary.function()) {
    case v1::Unary::HARD_SWISH:
      return {-3, kInfinity};
    case v1::Unary::SIGMOID:
    case v1::Unary::TANH: {
      if (is_float) return kEverything;
      // From here on to 0 or 1 it is less than half a step.
      const double end = ops::Log(
          2.0 * (static_cast<double>(integers.max) - integers.min + 1));
      return {-end, end};
    }
    default:
      return kEverything;
  }
}

class Fills {
 public:
  // `kept`: by op, whether it stays float; empty: none does.
  Fills(const Graph& graph, const v1::CalibrationStatistics& statistics,
        const std::vector<bool>& kept, v1::ElementType activations)
      : graph_(graph), matters_(graph.tensors.size(), kNothing) {
    for (int i = 0; i < statistics.ranges_size(); ++i) {
      range_of_[statistics.ranges(i).tensor()] = &statistics.ranges(i);
    }
    for (const TensorId id : graph.outputs) matters_[id] = kEverything;
    for (size_t index = graph.ops.size(); index-- > 0;) {
      const Op& op = graph.ops[index];
      const bool is_float = index < kept.size() && kept[index];
      const RealRange saturation = Saturation(op, is_float, activations);
      const std::vector<size_t> chosen = ChosenInputs(op);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        if (op.inputs[i] == kNoTensor) continue;
        const bool passed =
            std::find(chosen.begin(), chosen.end(), i) != chosen.end();
        Matter(op.inputs[i], passed   ? matters_[op.outputs[0]]
                             : i == 0 ? saturation
                                      : kEverything);
      }
    }
  }

  // Of the values that a constant or calibration has; none: it is not known.
  std::optional<RealRange> RangeOf(TensorId id) const {
    const Tensor& tensor = graph_.tensors[id];
    if (tensor.is_constant()) {
      const auto values = FloatConstantValues(tensor);
      if (!values || values->empty()) return std::nullopt;
      RealRange range = kNothing;
      for (const double value : *values) {
        if (std::isnan(value)) return std::nullopt;
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
      return range;
    }
    const auto found = range_of_.find(tensor.name);
    if (found == range_of_.end()) return std::nullopt;
    return RealRange{found->second->min(), found->second->max()};
  }

  // Of the inputs that are chosen from and are no constants.
  std::optional<RealRange> DataOf(const Op& op) const {
    RealRange data = kNothing;
    for (const size_t i : ChosenInputs(op)) {
      const TensorId id = op.inputs[i];
      if (graph_.tensors[id].is_constant()) continue;
      const auto range = RangeOf(id);
      if (!range) return std::nullopt;
      data.low = std::min(data.low, range->low);
      data.high = std::max(data.high, range->high);
    }
    if (!(data.low <= data.high) || !std::isfinite(data.low) ||
        !std::isfinite(data.high)) {
      return std::nullopt;
    }
    return data;
  }

  const RealRange& Matters(TensorId id) const { return matters_[id]; }

 private:
  void Matter(TensorId id, const RealRange& range) {
    matters_[id].low = std::min(matters_[id].low, range.low);
    matters_[id].high = std::max(matters_[id].high, range.high);
  }

  const Graph& graph_;
  std::vector<RealRange> matters_;  // By tensor: what its readers tell apart.
  std::map<std::string, const TensorRange*> range_of_;
};

// Changes a copy of the network op by op, in their order.
class Clipper {
 public:
  Clipper(const Graph& graph, const v1::CalibrationStatistics& statistics,
          const std::vector<bool>& kept, v1::ElementType activations,
          const std::set<size_t>& float_pads)
      : float_pads_(float_pads),
        result_{.graph = graph, .statistics = statistics},
        fills_(result_.graph, result_.statistics, kept, activations),
        names_(graph),
        uses_(UsesOf(graph)),
        consumers_(Consumers(graph)) {
    for (auto& range : *result_.statistics.mutable_ranges()) {
      range_of_[range.tensor()] = &range;
    }
    for (size_t i = 0; i < graph.ops.size(); ++i) Visit(i);
  }

  bool changed() const { return changed_; }
  // Pads of which a value was clipped to the data alone.
  const std::vector<size_t>& pads() const { return pads_; }
  ClippedFills Result() && { return std::move(result_); }

 private:
  void Visit(size_t index) {
    Op& op = result_.graph.ops[index];
    const std::vector<size_t> chosen = ChosenInputs(op);
    if (chosen.empty()) return;
    const auto data = fills_.DataOf(op);
    if (!data) return;
    RealRange kept = fills_.Matters(op.outputs[0]);
    kept = {std::min(kept.low, data->low), std::max(kept.high, data->high)};
    bool clipped = false;
    if (IsConstantPad(op)) {
      const float value = op.attributes.pad().value();
      // A scale spans 0 in any case.
      const double least = std::min(data->low, 0.0);
      if (value < least && kept.low < least && IsBorderOfMaxima(index)) {
        pads_.push_back(index);
        kept.low = least;
      }
      const auto limited =
          static_cast<float>(std::clamp<double>(value, kept.low, kept.high));
      clipped = limited != value;
      if (clipped) op.attributes.mutable_pad()->set_value(limited);
    }
    for (const size_t i : chosen) {
      const TensorId id = op.inputs[i];
      if (!result_.graph.tensors[id].is_constant()) {
        clipped = clipped || follows_.contains(id);
        continue;
      }
      const auto range = fills_.RangeOf(id);
      if (!range || (range->low >= kept.low && range->high <= kept.high)) {
        continue;
      }
      op.inputs[i] = Clipped(id, kept);
      clipped = true;
    }
    if (clipped) Follow(op, *data);
  }

  // Whether nothing but a maximum over windows, of which each holds data, reads
  // what the Pad makes.
  bool IsBorderOfMaxima(size_t index) const {
    const Op& pad = result_.graph.ops[index];
    const TensorId id = pad.outputs[0];
    if (float_pads_.contains(index) || uses_[id] != 1 ||
        consumers_[id].size() != 1) {
      return false;
    }
    return EveryWindowHasData(result_.graph, pad,
                              result_.graph.ops[consumers_[id][0]]);
  }

  // The constant with its values in `kept`. What else reads it keeps it.
  TensorId Clipped(TensorId id, const RealRange& kept) {
    const Tensor& tensor = result_.graph.tensors[id];
    std::vector<float> values = *FloatConstantValues(tensor);
    for (float& value : values) {
      value =
          static_cast<float>(std::clamp<double>(value, kept.low, kept.high));
    }
    Tensor limited = FloatTensorLike(tensor, tensor.shape, values);
    changed_ = true;
    if (uses_[id] == 1) {
      result_.graph.tensors[id] = std::move(limited);
      return id;
    }
    limited.name = names_.TensorName(absl::StrCat(tensor.name, ".clipped"));
    result_.graph.tensors.push_back(std::move(limited));
    return static_cast<TensorId>(result_.graph.tensors.size() - 1);
  }

  // What was seen of the op's result becomes what is there after clipping: the
  // statistics of its data and the clipped values.
  void Follow(const Op& op, const RealRange& data) {
    changed_ = true;
    const TensorId id = op.outputs[0];
    const auto found = range_of_.find(result_.graph.tensors[id].name);
    if (found == range_of_.end()) return;
    TensorRange& seen = *found->second;
    RealRange all = data;
    bool constants = false;
    for (const size_t i : ChosenInputs(op)) {
      if (!result_.graph.tensors[op.inputs[i]].is_constant()) continue;
      if (const auto range = fills_.RangeOf(op.inputs[i])) all.Include(*range);
      constants = true;
    }
    if (IsConstantPad(op)) {
      const double value = op.attributes.pad().value();
      constants = value < data.low || value > data.high;
      all.Include({value, value});
    }
    if (seen.min() >= all.low && seen.max() <= all.high) return;
    follows_.insert(id);
    const std::vector<size_t> chosen = ChosenInputs(op);
    if (chosen.size() == 1 && !constants) {
      const std::string name = seen.tensor();
      const auto source =
          range_of_.find(result_.graph.tensors[op.inputs[0]].name);
      if (source != range_of_.end()) seen = TensorRange(*source->second);
      seen.set_tensor(name);
      return;
    }
    // Bins as wide as the fill value asked for say nothing of the data.
    seen.clear_histogram();
    seen.set_min(static_cast<float>(std::max<double>(seen.min(), all.low)));
    seen.set_max(static_cast<float>(std::min<double>(seen.max(), all.high)));
    seen.set_average_min(seen.min());
    seen.set_average_max(seen.max());
  }

  const std::set<size_t>& float_pads_;
  ClippedFills result_;
  Fills fills_;
  FreshNames names_;
  const std::vector<int> uses_;
  const std::vector<std::vector<int32_t>> consumers_;
  std::map<std::string, TensorRange*> range_of_;
  std::set<TensorId> follows_;
  std::vector<size_t> pads_;
  bool changed_ = false;
};

bool HasFills(const Graph& graph) {
  return std::any_of(graph.ops.begin(), graph.ops.end(), [&](const Op& op) {
    if (IsConstantPad(op) && op.attributes.pad().value() != 0) return true;
    const std::vector<size_t> chosen = ChosenInputs(op);
    return std::any_of(chosen.begin(), chosen.end(), [&](size_t i) {
      return graph.tensors[op.inputs[i]].is_constant();
    });
  });
}

std::vector<bool> IntegerOps(const Graph& graph,
                             const v1::CalibrationStatistics& statistics,
                             const std::vector<bool>& kept,
                             v1::ElementType activations) {
  return ChooseIntegerOps(graph,
                          UnboundedTensors(graph, statistics, activations),
                          kept, activations);
}

}  // namespace

std::optional<ClippedFills> ClipFills(
    const Graph& graph, const v1::CalibrationStatistics& statistics,
    const std::vector<bool>& kept, v1::ElementType activations) {
  if (!HasFills(graph)) return std::nullopt;
  // A Pad that stays float knows nothing of the range that calibration saw.
  std::set<size_t> float_pads;
  while (true) {
    Clipper clipper(graph, statistics, kept, activations, float_pads);
    if (!clipper.changed()) return std::nullopt;
    const std::vector<size_t> pads = clipper.pads();
    ClippedFills result = std::move(clipper).Result();
    const size_t before = float_pads.size();
    if (!pads.empty()) {
      const std::vector<bool> integer =
          IntegerOps(result.graph, result.statistics, kept, activations);
      for (const size_t pad : pads) {
        if (!integer[pad]) float_pads.insert(pad);
      }
    }
    if (float_pads.size() == before) return result;
  }
}

std::string FillWarning(const Graph& graph,
                        const v1::CalibrationStatistics& statistics,
                        const std::vector<bool>& kept,
                        v1::ElementType activations) {
  const Fills fills(graph, statistics, kept, activations);
  std::vector<bool> integer;  // Empty: not known yet.
  std::string text;
  double widest = kMuchWider;
  const std::vector<std::vector<int32_t>> consumers = Consumers(graph);
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const Op& op = graph.ops[index];
    if (!op.attributes.has_select() && !IsConstantPad(op)) continue;
    const auto data = fills.DataOf(op);
    const auto result = fills.RangeOf(op.outputs[0]);
    if (!data || !result) continue;
    const auto width = [](RealRange range) {
      range.Include({0, 0});
      return range.high - range.low;
    };
    RealRange fill = kNothing;
    std::string name;
    if (IsConstantPad(op)) {
      fill.low = fill.high = op.attributes.pad().value();
    }
    for (const size_t i : ChosenInputs(op)) {
      if (!graph.tensors[op.inputs[i]].is_constant()) continue;
      const auto range = fills.RangeOf(op.inputs[i]);
      if (!range) continue;
      fill = *range;
      name =
          absl::StrCat(" of constant '", graph.tensors[op.inputs[i]].name, "'");
    }
    RealRange all = *data;
    all.Include(
        {std::max(fill.low, result->low), std::min(fill.high, result->high)});
    const double ratio = width(all) / std::max(width(*data), 1e-30);
    if (!(fill.low <= fill.high) || !std::isfinite(ratio) || ratio < widest) {
      continue;
    }
    if (integer.empty()) {
      integer = IntegerOps(graph, statistics, kept, activations);
    }
    // The layer that makes or reads integers of it.
    const Op* layer = integer[index] ? &op : nullptr;
    for (const int32_t reader : consumers[op.outputs[0]]) {
      if (layer == nullptr && integer[reader]) layer = &graph.ops[reader];
    }
    if (layer == nullptr) continue;
    widest = ratio;
    const double value =
        data->low - fill.low > fill.high - data->high ? fill.low : fill.high;
    text = absl::StrFormat(
        "layer %s fills in %g%s beside data from %g to %g: the scale of tensor "
        "'%s' holds both and costs the data %.1f bits. Export the model with "
        "a value closer to the data, or keep the layer that reads it float: a "
        "quantization file with layers { layer: \"%s\" scheme { keep_float: "
        "ON } }",
        op.id, value, name, data->low, data->high,
        graph.tensors[op.outputs[0]].name, std::log2(ratio), layer->id);
  }
  return text;
}

}  // namespace edgekiln::compiler
