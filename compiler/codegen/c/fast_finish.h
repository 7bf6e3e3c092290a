#ifndef EK_COMPILER_CODEGEN_C_FAST_FINISH_H_
#define EK_COMPILER_CODEGEN_C_FAST_FINISH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/codegen/c/step_writer.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {

// Requantization of int32 sums to 8 bits by the upper half of one product: what
// Finish() gives where every shift is 33 or more, so that the lower half of
// the product does not matter. Zero points of the input are in the bias.
class FastFinish {
 public:
  // The weights of one channel as the kernel multiplies them: how many they
  // are, their sum and that of their magnitudes. `zero` is what the kernel
  // takes off each of them beside that, for all channels the same.
  struct Weights {
    int64_t count = 0;
    int64_t sum = 0;
    int64_t magnitude = 0;
    int64_t zero = 0;
  };

  // Nothing where a shift is smaller, where ties go to even, or where the
  // output's zero point does not fit beside the rounding. `weights` has an
  // entry per channel.
  static std::optional<FastFinish> Of(StepWriter& w, const v1::Clamp& clamp,
                                      const std::vector<Weights>& weights);

  // Type of accumulators: int32_t where no sum can leave it, as gcc keeps the
  // order of signed sums and with it what it has in registers.
  std::string type() const { return is_signed_ ? "int32_t" : "uint32_t"; }
  // What channel `o`'s accumulator starts from, and the cast of what is added.
  std::string Start(const std::string& o) const;
  std::string cast() const { return is_signed_ ? "" : "(uint32_t)"; }
  // Declares m<j>, shift<j>, r<j> of channel `o`.
  void Declare(CodeWriter& code, const std::string& o, int64_t j) const;
  // Stores the result of accumulator `sum` with the factors of j.
  void Store(CodeWriter& code, const std::string& to, const std::string& sum,
             int64_t j) const;

 private:
  explicit FastFinish(StepWriter& w) : w_(&w) {}

  StepWriter* w_;
  std::string bias_, multiplier_, shift_;  // Arrays or literals.
  bool is_signed_ = false;
  bool one_bias_ = false, one_multiplier_ = false, one_shift_ = false;
  int64_t twice_zero_ = 0;  // 2 * zero point + 1, or without rounding + 0.
  ops::QuantizedRange range_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_FAST_FINISH_H_
