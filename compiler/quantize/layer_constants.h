#ifndef EK_COMPILER_QUANTIZE_LAYER_CONSTANTS_H_
#define EK_COMPILER_QUANTIZE_LAYER_CONSTANTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/fingerprint.h"
#include "compiler/ir/graph.h"
#include "compiler/passes/graph_edit.h"
#include "compiler/passes/product_sums.h"
#include "compiler/quantize/layer_weights.h"
#include "compiler/quantize/scales.h"
#include "compiler/quantize/tensor_quantizations.h"
#include "edgekiln/v1/quantization.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// OP_NOT_QUANTIZABLE, a user error that names the op.
absl::Status NotQuantizable(const Op& op, std::string what, std::string limit,
                            std::string fix);

// The first `bytes` of `data`, as a form of it (QuantizedForm()). Keeps them,
// borrowed ones as a copy.
ConstantData FormOf(const ConstantData& data, int64_t bytes);

// The integers of a layer's weights and bias, rounded to nearest.
struct RoundedLayer {
  Quantization weights;
  ConstantData weight_data;
  Quantization bias;
  v1::ElementType bias_type = v1::INT32;
  ConstantData bias_data;
  double scale_growth = 1;  // As of LayerWeights.
};

// Of layers of one float graph, by all that they depend on: for several
// integer graphs that are made of it. What would exceed `most_bytes` is not
// kept: graphs look layers up in one order, so that dropping the oldest would
// leave nothing to find. Not thread-safe.
class RoundedLayers {
 public:
  explicit RoundedLayers(int64_t most_bytes) : most_bytes_(most_bytes) {}

  Fingerprint KeyOf(absl::string_view text) { return fingerprinter_.Of(text); }

  // Null: not known. Lives as long as this.
  const RoundedLayer* Find(const Fingerprint& key) const;
  void Add(const Fingerprint& key, const RoundedLayer& layer);

  int64_t size() const { return static_cast<int64_t>(layers_.size()); }
  int64_t bytes() const { return bytes_; }

 private:
  const int64_t most_bytes_;
  Fingerprinter fingerprinter_;
  std::map<Fingerprint, RoundedLayer> layers_;
  int64_t bytes_ = 0;
};

// The integer weights, biases and converters of the layers of a float graph,
// before anything is fitted to samples. Not thread-safe.
class LayerConstants {
 public:
  // All references must outlive this. Constants are added to `result`, of which
  // `names` are free. `memo` may be null.
  LayerConstants(const Graph& source, const v1::QuantizationNeeds& needs,
                 ScaleRules rules, const TensorQuantizations& quantizations,
                 FreshNames& names, RoundedLayers* memo, Graph& result)
      : source_(source),
        needs_(needs),
        rules_(rules),
        rounds_down_(needs.rounding() == v1::FLOOR),
        quantizations_(quantizations),
        names_(names),
        memo_(memo),
        result_(result),
        ranges_(result) {}

  // Sets those of `quantized`, the integer form of the float `op`, whose
  // weights have their channels along `axis`. Its biases depend on the scale of
  // its input, so they are not shared between ops. With a converter there is no
  // bias: its offsets hold it. UNIMPLEMENTED if weights or bias are not finite.
  absl::Status Set(const Op& op, int axis, const v1::LayerScheme& scheme,
                   const v1::Numerics::Converter* converter, Op& quantized);

  // LayerWeights::scale_growth of the layer with this id, after Set().
  double ScaleGrowth(const std::string& layer) const {
    const auto found = growth_.find(layer);
    return found == growth_.end() ? 1 : found->second;
  }

  // The same, with made-up scales and without reading a weight. Ops with the
  // same weights share their form: should a mask keep them all float, they have
  // one constant, too.
  void SetForm(const Op& op, int axis, const v1::LayerScheme& scheme,
               const v1::Numerics::Converter* converter, Op& quantized);

 private:
  absl::StatusOr<RoundedLayer> FindOrRound(const Op& op,
                                           const v1::LayerScheme& scheme,
                                           bool converts,
                                           const RealWeights& real) const;
  Fingerprint KeyOf(const Op& op, const v1::LayerScheme& scheme, bool converts,
                    const RealWeights& real) const;
  absl::StatusOr<RoundedLayer> Rounded(const Op& op,
                                       const v1::LayerScheme& scheme,
                                       bool converts, RealWeights real) const;
  void SetConverter(const v1::Numerics::Converter& engine, const Op& op,
                    const RealWeights& real, absl::Span<const float> bias,
                    Op& quantized);
  TensorId ConstantForm(const Tensor& source, v1::ElementType type,
                        Quantization scales, int64_t element_bytes);
  TensorId AddConstant(const Tensor& like, v1::ElementType type,
                       Quantization quantization, ConstantData data);

  const Graph& source_;
  const v1::QuantizationNeeds& needs_;
  const ScaleRules rules_;
  const bool rounds_down_;
  const TensorQuantizations& quantizations_;
  FreshNames& names_;
  RoundedLayers* const memo_;
  Graph& result_;
  ValueRanges ranges_;
  // Forms of weights and biases, by float tensor, type, axis and number of
  // scales.
  std::map<std::tuple<std::string, v1::ElementType, int32_t, size_t>, TensorId>
      forms_;
  std::map<std::string, double> growth_;  // By layer.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_LAYER_CONSTANTS_H_
