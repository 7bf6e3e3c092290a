#include "compiler/codegen/c/fast_elementwise.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/emit_common.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// value * m * 2^(bits - n), rounded up at ties, by the upper half of a product:
// the value is shifted so far that n becomes 33 at least. Values are below 2^9.
std::string UpperHalf(StepWriter& w, const std::string& value, int bits,
                      const ops::FixedPointMultiplier& factor) {
  int n = 31 - factor.shift;
  while (n < 33) {
    ++bits;
    ++n;
  }
  return absl::StrCat("(", w.Use("mulh"), "(", value, " * ", int64_t{1} << bits,
                      ", ", factor.multiplier, ") + ", int64_t{1} << (n - 33),
                      ") >> ", n - 32);
}

absl::StatusOr<ops::QuantizedAddParameters> ParametersOf(const StepWriter& w) {
  return ops::AddParameters(w.op().add().clamp(), w.op().rounding(),
                            w.InQuantization(0), w.InQuantization(1),
                            w.OutQuantization(0), w.Out(0).type);
}

}  // namespace

bool EmitFastAdd(StepWriter& w, v1::CWeightOrder /*order*/) {
  const auto p = ParametersOf(w);
  if (!p.ok()) return false;
  const int s = 31 - p->output_multiplier.shift - 32;
  const int64_t round = (int64_t{1} << (s - 1)) +
                        int64_t{p->output_zero_point} * (int64_t{1} << s);
  EmitElementwise(w, 2, [&](const OperandNames& x) {
    const char* const names[2] = {"p", "q"};
    for (size_t i = 0; i < 2; ++i) {
      const std::string value =
          absl::StrCat("(", x[i], " - (", p->zero_point[i], "))");
      w.code().Line("const int32_t ", names[i], " = ",
                    UpperHalf(w, value, p->left_shift, p->multiplier[i]), ";");
    }
    return absl::StrCat(w.Use("clamp"), "((", w.Use("mulh"), "(p + q, ",
                        p->output_multiplier.multiplier, ") + (", round,
                        ")) >> ", s, ", ", p->clamp.min, ", ", p->clamp.max,
                        ")");
  });
  return true;
}

}  // namespace edgekiln::compiler
