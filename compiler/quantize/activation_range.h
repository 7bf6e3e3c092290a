#ifndef EK_COMPILER_QUANTIZE_ACTIVATION_RANGE_H_
#define EK_COMPILER_QUANTIZE_ACTIVATION_RANGE_H_

// From what calibration saw of activations to the quantization that they get.

#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/quantize/scales.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// The values of tensors that share one quantization. Not thread-safe.
class SeenValues {
 public:
  // Some values that were seen: `count` of about `value`.
  struct Bin {
    float value = 0;
    float count = 0;
  };

  // Of a finite range.
  void Include(const v1::CalibrationStatistics::TensorRange& seen);
  // Values that no method may cut off: those of constants.
  void IncludeWhole(const RealRange& range);

  // Everything that was seen.
  const RealRange& all() const { return all_; }
  // The range that the method keeps for integers of `type`; MSE keeps all of
  // it, see QuantizationFor().
  RealRange Kept(const v1::CalibrateOptions& method,
                 v1::ElementType type = v1::INT8) const;
  // By `method`, within the rules. OUTPUT_MSE, which depends on more than
  // these values, begins with PERCENTILE.
  Quantization QuantizationFor(const v1::CalibrateOptions& method,
                               ScaleRules rules) const;
  // Share of the values that are counted which integers of `type` with
  // `quantization` cannot hold.
  double ShareOutside(const Quantization& quantization,
                      v1::ElementType type = v1::INT8) const;
  // Mean square, over the values that are counted, of how far they lie beyond
  // what integers of `type` with `quantization` can hold.
  double CutOff(const Quantization& quantization,
                v1::ElementType type = v1::INT8) const;

 private:
  void HalveBins();
  RealRange Percentile(int64_t kept_ppm) const;
  RealRange LeastDivergence(int levels) const;
  Quantization LeastSquares(ScaleRules rules) const;
  double SquaredError(const Quantization& quantization,
                      v1::ElementType type) const;

  RealRange all_;
  RealRange average_;
  RealRange whole_;
  // Ascending; empty: unknown of some tensor.
  std::vector<Bin> bins_;
  double bin_width_ = 0;  // Of the widest of all tensors.
  bool any_ = false;
  bool uncounted_ = false;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_ACTIVATION_RANGE_H_
