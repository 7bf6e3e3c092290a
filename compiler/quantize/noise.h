#ifndef EK_COMPILER_QUANTIZE_NOISE_H_
#define EK_COMPILER_QUANTIZE_NOISE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"
#include "ops/cpu_path.h"

namespace edgekiln::compiler {

// Appends the real values that `bytes` stand for, of one sample of `type`:
// FLOAT32 or integers with one scale.
void AppendRealValues(const Tensor& type, const char* bytes,
                      std::vector<float>& values);

// How far quantized values are from real ones: sums of squares, in an order
// that only the calls decide. Not thread-safe.
class Noise {
 public:
  // `quantized`: the type of `bytes`, FLOAT32 or integers with one scale.
  void Add(int64_t count, const float* real, const Tensor& quantized,
           const char* bytes, ops::CpuPath cpu_path = ops::CpuPath::kAuto);
  void AddPair(double real, double quantized) {
    signal_ += real * real;
    noise_ += (real - quantized) * (real - quantized);
  }

  // 10 * log10(signal / noise); none if one of them is 0.
  std::optional<double> decibels() const;

 private:
  double signal_ = 0;
  double noise_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_NOISE_H_
