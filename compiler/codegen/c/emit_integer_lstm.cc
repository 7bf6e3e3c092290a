#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "compiler/codegen/c/cell_writer.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/interpolation.h"
#include "ops/fixed_point.h"
#include "ops/lstm_steps.h"

// LSTMs of int8 and int16 activations: ops/lstm_integer.cc and
// ops/lstm_int16.cc, operation by operation.
namespace edgekiln::compiler {
namespace {

using ops::FixedPointMultiplier;
using ops::kCell;
using ops::kForget;
using ops::kInput;
using ops::kOutput;
using ops::QuantizeMultiplier;

constexpr float kGateScale = 0x1p-12f;
constexpr double kActiveScale = 0x1p-15;
constexpr ops::QuantizedRange kInt16 = {-32768, 32767};

// Factors of rows as C: `m` and `n` of row `row`.
struct RowFactors {
  std::string m, n;
};

RowFactors FactorsOf(StepWriter& w,
                     const std::vector<FixedPointMultiplier>& factors,
                     bool wide) {
  std::vector<int32_t> multipliers;
  std::vector<uint8_t> shifts;
  for (const FixedPointMultiplier& f : factors) {
    if (wide) {
      multipliers.push_back(f.multiplier < 0x7FFF0000
                                ? (f.multiplier + (1 << 15)) >> 16
                                : 0x7FFF);
      shifts.push_back(static_cast<uint8_t>(15 - std::min(f.shift, 14)));
    } else {
      multipliers.push_back(f.multiplier);
      shifts.push_back(static_cast<uint8_t>(31 - f.shift));
    }
  }
  return {PerChannel(w, v1::INT32, multipliers, "row"),
          PerChannel(w, v1::UINT8, shifts, "row")};
}

// What both kinds share: loops over steps, gates, cells.
class IntegerLstm {
 public:
  explicit IntegerLstm(StepWriter& w)
      : w_(w),
        op_(w.op().lstm()),
        code_(w.code()),
        bytes_(w.Out(0).type == v1::INT8),
        steps_(w.In(0).shape[0]),
        batch_(w.In(0).shape[1]),
        input_(w.In(0).shape[2]),
        hidden_(w.In(6).shape[1]),
        outputs_(w.In(5).shape[1]),
        norm_(w.Has(10)) {
    ops::IsPowerOfTwo(Scale(6, 0), cell_exponent_);
  }

  void Emit() {
    const v1::ElementType type = w_.Out(0).type;
    state_ = w_.Scratch(type, batch_ * outputs_);
    cell_ = w_.Scratch(v1::INT16, batch_ * hidden_);
    gates_ = w_.Scratch(v1::INT16, 4 * hidden_);
    if (w_.Has(8)) fresh_state_ = w_.Scratch(type, hidden_);
    if (!bytes_) table_ = w_.Array(v1::UINT16, SquashValues());
    SetFactors();
    EmitCopy(code_, w_.X(5), state_, batch_ * outputs_);
    EmitCopy(code_, w_.X(6), cell_, batch_ * hidden_);
    code_.OpenLoop("e", steps_ * batch_ * outputs_);
    code_.Line(w_.Y(0), "[e] = ", Zero(5), ";");
    code_.Close();
    OpenSteps(w_, steps_, batch_, op_.reverse(), 4);
    code_.Line(CTypeOf(type), " *const s = ", state_, " + n * ", outputs_, ";");
    code_.Line("int16_t *const c = ", cell_, " + n * ", hidden_, ";");
    code_.Line("const ", CTypeOf(type), " *const x = ", w_.X(0), " + (t * ",
               batch_, " + n) * ", input_, ";");
    InputAndForget();
    Gate(kCell);
    if (!bytes_) Gate(kOutput);
    Cell();
    if (bytes_) Gate(kOutput);
    State();
    code_.OpenLoop("u", outputs_);
    code_.Line(w_.Y(0), "[(t * ", batch_, " + n) * ", outputs_,
               " + u] = s[u];");
    CloseLoops(code_, 3);
    if (w_.outputs() > 1) EmitCopy(code_, state_, w_.Y(1), batch_ * outputs_);
    if (w_.outputs() > 2) EmitCopy(code_, cell_, w_.Y(2), batch_ * hidden_);
  }

 private:
  float Scale(size_t i, int64_t row) const {
    const ops::QuantizationView q = w_.InQuantization(i);
    return q.scale[q.per_channel() ? row : 0];
  }
  int32_t Zero(size_t i) const { return w_.InQuantization(i).zero_point[0]; }

  float GateScale(int64_t row) const {
    if (!norm_) return kGateScale;
    return op_.intermediate(static_cast<int>(row / hidden_)).scale(0);
  }

  std::string GateValue(int gate) const {
    return absl::StrCat(gates_, "[", gate * hidden_, " + u]");
  }

  void SetFactors() {
    std::vector<FixedPointMultiplier> from_input, from_state, peephole;
    for (int64_t row = 0; row < 4 * hidden_; ++row) {
      const auto factor = [&](size_t w, size_t x) {
        if (bytes_) {
          const float real = Scale(w, row) * Scale(x, 0) / GateScale(row);
          return QuantizeMultiplier(double{real});
        }
        const float product = Scale(x, 0) * Scale(w, row);
        return QuantizeMultiplier(double{product} / double{kGateScale});
      };
      from_input.push_back(factor(1, 0));
      from_state.push_back(factor(2, 5));
    }
    input_factors_ = FactorsOf(w_, from_input, !bytes_);
    state_factors_ = FactorsOf(w_, from_state, !bytes_);
    if (!bytes_ || !w_.Has(7)) return;
    for (int64_t row = 0; row < 3 * hidden_; ++row) {
      const auto real =
          static_cast<float>(std::ldexp(double{Scale(7, row)}, cell_exponent_) /
                             double{GateScale(row)});
      peephole.push_back(QuantizeMultiplier(double{real}));
    }
    peephole_factors_ = FactorsOf(w_, peephole, false);
  }

  // Declares `name`: the sum of row `row` of input `matrix` times `from`,
  // rescaled and saturated (int8: only rescaled).
  void Row(const std::string& name, size_t matrix, const std::string& from,
           int32_t zero, int64_t depth, bool bias, const RowFactors& factors) {
    const std::string start =
        bias ? absl::StrCat("(", bytes_ ? "uint32_t" : "uint64_t", ")", w_.X(3),
                            "[row]")
             : "0";
    const std::string product =
        absl::StrCat("(", from, "[k] - (", zero, ")) * ", w_.X(matrix),
                     "[row * ", depth, " + k]");
    if (bytes_) {
      code_.Line("uint32_t ", name, "_sum = ", start, ";");
      code_.OpenLoop("k", depth);
      code_.Line(name, "_sum += (uint32_t)(", product, ");");
      code_.Close();
      code_.Line("const int32_t ", name, " = (int32_t)", w_.Use("round_up"),
                 "((int64_t)(int32_t)", name, "_sum * ", factors.m, ", ",
                 factors.n, ");");
      return;
    }
    code_.Line("uint64_t ", name, "_sum = ", start, ";");
    code_.OpenLoop("k", depth);
    code_.Line(name, "_sum += (uint64_t)(int64_t)(", product, ");");
    code_.Close();
    code_.Line("const int32_t ", name, " = ", w_.Use("sat16"), "(",
               w_.Use("round_up"), "((int64_t)(", name, "_sum * (uint64_t)",
               factors.m, "), ", factors.n, "));");
  }

  // One gate: sums, normalization, function.
  void Gate(int gate) {
    code_.OpenBlock();
    code_.OpenLoop("u", hidden_);
    code_.Line("const int32_t row = ", gate * hidden_, " + u;");
    code_.Line("int32_t v;");
    Row("a", 1, "x", bytes_ ? Zero(0) : 0, input_, w_.Has(3) && !norm_,
        input_factors_);
    Row("r", 2, "s", bytes_ ? Zero(5) : 0, outputs_, false, state_factors_);
    code_.Line("v = ", w_.Use("sat16"), "((int64_t)", w_.Use("sat16"),
               "(a) + r);");
    if (bytes_ && w_.Has(7) && gate != kCell) {
      code_.Line("if (u < ", outputs_, ") v = ", w_.Use("sat16"),
                 "((int64_t)v + (int32_t)", w_.Use("round_up"), "((int64_t)(",
                 w_.X(7), "[row] * c[u]) * ", peephole_factors_.m, ", ",
                 peephole_factors_.n, "));");
    }
    code_.Line(gates_, "[row] = (int16_t)v;");
    code_.Close();
    if (norm_) Normalise(gate);
    code_.OpenLoop("u", hidden_);
    const bool tanh = gate == kCell;
    const std::string value =
        bytes_
            ? absl::StrCat(w_.Use(tanh ? "fixed_tanh" : "fixed_sigmoid"), "(",
                           GateValue(gate), ", 3)")
            : absl::StrCat(w_.Use(tanh ? "squash_tanh" : "squash_sigmoid"), "(",
                           table_, ", 3 * (int64_t)", GateValue(gate), ")");
    code_.Line(GateValue(gate), " = (int16_t)", value, ";");
    code_.Close();
    code_.Close();
  }

  // Zero mean and unit variance, times weights, plus bias.
  void Normalise(int gate) {
    const int64_t first = gate * hidden_;
    const float scale = Scale(10, first);
    FixedPointMultiplier factor = QuantizeMultiplier(double{scale});
    factor.shift = std::min(factor.shift + 12, 30);
    const int32_t least =
        std::max(1, static_cast<int32_t>(std::min(10000 * scale, 0x1p30f)));
    code_.Line("int64_t sum = 0, squares = 0, mean, variance;");
    code_.Line("int32_t m, shift;");
    code_.OpenLoop("u", hidden_);
    code_.Line("const int64_t v = ", GateValue(gate), ";");
    code_.Line("sum += v;");
    code_.Line("squares += v * v;");
    code_.Close();
    code_.Line("mean = sum * 1024 / ", hidden_, ";");
    code_.Line("variance = (squares * ", (1 << 20) / hidden_,
               " - mean * mean) / 1048576;");
    code_.Line(w_.Use("inverse_root"), "(variance < 1 ? ", least,
               " : (int32_t)variance, &m, &shift);");
    code_.OpenLoop("u", hidden_);
    code_.Line("const int32_t centered = (int32_t)(1024 * (int64_t)",
               GateValue(gate), " - mean);");
    code_.Line("const int64_t weighted = (int64_t)(int32_t)",
               w_.Use("round_up"), "((int64_t)centered * m, 31 - shift) * ",
               w_.X(10), "[", first, " + u] + ",
               w_.Has(3) ? absl::StrCat(w_.X(3), "[", first, " + u]") : "0",
               ";");
    code_.Line(
        "const int64_t steps = (weighted + (weighted > 0 ? 512 : -512)) "
        "/ 1024;");
    code_.Line(
        GateValue(gate), " = (int16_t)", w_.Use("sat16"), "(",
        RescaleCall(w_, absl::StrCat(w_.Use("sat32"), "(steps)"), factor),
        ");");
    code_.Close();
  }

  void Rest(int of, int gate) {
    code_.OpenLoop("u", hidden_);
    code_.Line(GateValue(gate), " = (int16_t)(32767 - ", GateValue(of), ");");
    code_.Close();
  }

  void InputAndForget() {
    if (op_.coupling() == v1::Lstm::INPUT_FROM_FORGET) {
      Gate(kForget);
      Rest(kForget, kInput);
      return;
    }
    Gate(kInput);
    if (op_.coupling() == v1::Lstm::FORGET_FROM_INPUT) {
      Rest(kInput, kForget);
    } else {
      Gate(kForget);
    }
  }

  void Cell() {
    const float scale = Scale(6, 0);
    const int32_t clip =
        bytes_
            ? static_cast<int16_t>(std::min(op_.cell_clip() / scale, 32767.0f))
            : static_cast<int16_t>(
                  std::min(double{op_.cell_clip()} / double{scale}, 32767.0));
    code_.OpenLoop("u", hidden_);
    const std::string kept = absl::StrCat(GateValue(kForget), " * c[u]");
    const std::string added =
        absl::StrCat(GateValue(kInput), " * ", GateValue(kCell));
    if (bytes_) {
      code_.Line("int32_t v = ", w_.Use("sat16"), "(", w_.Use("half_away"),
                 "((int64_t)", kept, ", 15) + ", w_.Use("half_away"),
                 "((int64_t)", added, ", ", 30 + cell_exponent_, "));");
    } else {
      const double product = kActiveScale * kActiveScale;
      code_.Line(
          "int32_t v = ", w_.Use("sat16"), "((int64_t)",
          FinishCall(w_, kept, QuantizeMultiplier(kActiveScale), 0, kInt16),
          " + ",
          FinishCall(w_, added, QuantizeMultiplier(product / double{scale}), 0,
                     kInt16),
          ");");
    }
    if (clip > 0) {
      code_.Line("v = ", w_.Use("clamp"), "(v, ", -clip, ", ", clip, ");");
    }
    code_.Line("c[u] = (int16_t)v;");
    code_.Close();
  }

  void State() {
    if (bytes_) {
      ByteState();
      return;
    }
    const int left = cell_exponent_ + 12;
    const std::string place =
        left >= 0
            ? absl::StrCat("(int64_t)c[u] * ", 3 << left)
            : absl::StrCat("(c[u] * 3 + ", 1 << (-left - 1), ") >> ", -left);
    const FixedPointMultiplier factor =
        QuantizeMultiplier(kActiveScale * kActiveScale / double{Scale(5, 0)});
    code_.OpenLoop("u", hidden_);
    code_.Line("const int32_t active = ", w_.Use("squash_tanh"), "(", table_,
               ", ", place, ");");
    code_.Line("s[u] = (int16_t)",
               FinishCall(w_, absl::StrCat(GateValue(kOutput), " * active"),
                          factor, 0, kInt16),
               ";");
    code_.Close();
  }

  // The hidden state, and its projection.
  void ByteState() {
    float scale = Scale(5, 0);
    int32_t zero = Zero(5);
    constexpr int kHidden = 4;
    if (op_.intermediate_size() > kHidden &&
        op_.intermediate(kHidden).scale_size() > 0) {
      scale = op_.intermediate(kHidden).scale(0);
      zero = op_.intermediate(kHidden).zero_point(0);
    }
    const auto real =
        static_cast<float>(kActiveScale / double{scale} * kActiveScale);
    const std::string to = w_.Has(8) ? fresh_state_ : "s";
    code_.OpenLoop("u", hidden_);
    code_.Line("const int32_t active = ", w_.Use("fixed_tanh"), "(c[u], ",
               15 + cell_exponent_, ");");
    code_.Line(to, "[u] = (int8_t)",
               FinishCall(w_, absl::StrCat(GateValue(kOutput), " * active"),
                          QuantizeMultiplier(double{real}), zero, {-128, 127}),
               ";");
    code_.Close();
    if (!w_.Has(8)) return;
    std::vector<FixedPointMultiplier> factors;
    for (int64_t row = 0; row < outputs_; ++row) {
      const float factor = Scale(8, row) * scale / Scale(5, 0);
      factors.push_back(QuantizeMultiplier(double{factor}));
    }
    const RowFactors rows = FactorsOf(w_, factors, false);
    const int32_t clip = static_cast<int8_t>(
        std::min(op_.projection_clip() / Scale(5, 0), 127.0f));
    code_.OpenLoop("row", outputs_);
    code_.Line("uint32_t sum = (uint32_t)(",
               w_.Has(9) ? absl::StrCat(w_.X(9), "[row]") : "0", ");");
    code_.Line("int64_t v;");
    code_.OpenLoop("k", hidden_);
    code_.Line("sum += (uint32_t)((", fresh_state_, "[k] - (", zero, ")) * ",
               w_.X(8), "[row * ", hidden_, " + k]);");
    code_.Close();
    code_.Line("v = ", w_.Use("limit"), "((int64_t)(int32_t)",
               w_.Use("round_up"), "((int64_t)(int32_t)sum * ", rows.m, ", ",
               rows.n, ") + (", Zero(5), "), -128, 127);");
    if (clip > 0) {
      code_.Line("v = ", w_.Use("limit"), "(v, ", -clip, ", ", clip, ");");
    }
    code_.Line("s[row] = (int8_t)v;");
    code_.Close();
  }

  StepWriter& w_;
  const v1::Lstm& op_;
  CodeWriter& code_;
  const bool bytes_;
  const int64_t steps_, batch_, input_, hidden_, outputs_;
  const bool norm_;
  int cell_exponent_ = 0;
  std::string state_, cell_, gates_, fresh_state_, table_;
  RowFactors input_factors_, state_factors_, peephole_factors_;
};

}  // namespace

absl::Status EmitIntegerLstm(StepWriter& w) {
  IntegerLstm(w).Emit();
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
