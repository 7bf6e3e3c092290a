#ifndef EK_COMPILER_CODEGEN_C_DOT_ARITHMETIC_H_
#define EK_COMPILER_CODEGEN_C_DOT_ARITHMETIC_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "compiler/codegen/c/step_writer.h"
#include "ops/quantized_parameters.h"

// How a sum of products is written for each element type: the C behind the
// "Dots" of ops/dot.h.
namespace edgekiln::compiler {

class DotArithmetic {
 public:
  // Of output channels [0, channels). `clamp` is the op's.
  static absl::StatusOr<DotArithmetic> Of(StepWriter& w, const v1::Clamp& clamp,
                                          int64_t channels);

  // Type of the accumulator, which starts from 0.
  std::string sum_type() const;
  // Statement that adds the product of two elements to `sum`. `channel` is the
  // C expression of the output channel.
  std::string AddProduct(const std::string& sum, const std::string& x,
                         const std::string& w) const;
  // The same for an element in the padding; "" where it changes nothing.
  std::string AddPadding(const std::string& sum, const std::string& w) const;
  // Lines from the sum to the output element `at`.
  void Finish(const std::string& sum, const std::string& channel,
              const std::string& at);
  // Call once before the loops: arrays per channel.
  void Prepare(const std::string& channel);

 private:
  DotArithmetic(StepWriter& w, const v1::Clamp& clamp) : w_(w), clamp_(clamp) {}

  void FinishReal(const std::string& sum, const std::string& channel,
                  const std::string& at);
  void FinishSteps(const std::string& sum, const std::string& channel,
                   const std::string& at);
  std::string Biased(const std::string& sum, const std::string& channel);

  StepWriter& w_;
  const v1::Clamp& clamp_;
  bool quantized_ = false;
  bool wide_sums_ = false;  // Of int16 inputs, where int32 may not hold them.
  ops::QuantizedDotParameters parameters_;
  std::string weight_zero_;  // C expression.
  std::string multiplier_, shift_;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_DOT_ARITHMETIC_H_
