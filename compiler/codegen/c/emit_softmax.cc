#include <cmath>
#include <string>
#include <vector>

#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/interpolation.h"
#include "ops/exp.h"
#include "ops/exp_table.h"
#include "ops/quantized_parameters.h"

// Softmax and LogSoftmax.
namespace edgekiln::compiler {
namespace {

// One line of the axis; x(k) and y(k) are its elements.
class Line {
 public:
  Line(StepWriter& w, int32_t axis) : w_(w) {
    const auto shape = absl::MakeConstSpan(w.Out(0).shape);
    count_ = shape[axis];
    step_ = Product(shape.subspan(axis + 1));
    outer_ = Product(shape.first(axis));
  }

  int64_t count() const { return count_; }

  void Open() {
    w_.code().OpenLoop("o", outer_);
    w_.code().OpenLoop("j", step_);
    w_.code().Line("const int32_t first = o * ", count_ * step_, " + j;");
    w_.code().Line("int32_t i;");
  }
  void Close() { CloseLoops(w_.code(), 2); }
  // for (i = 0; i < count; ++i)
  std::string ForEach() const {
    return absl::StrCat("for (i = 0; i < ", count_, "; ++i)");
  }
  std::string X() { return Element(w_.X(0)); }
  std::string Y() { return Element(w_.Y(0)); }
  // Declares `largest`.
  void Largest(const std::string& type) {
    w_.code().Line(type, " largest = (", type, ")", w_.X(0), "[first];");
    w_.code().Open(ForEach());
    w_.code().Line("if (largest < (", type, ")", X(), ") largest = (", type,
                   ")", X(), ";");
    w_.code().Close();
  }

 private:
  std::string Element(const std::string& base) const {
    return step_ == 1 ? absl::StrCat(base, "[first + i]")
                      : absl::StrCat(base, "[first + i * ", step_, "]");
  }

  StepWriter& w_;
  int64_t count_, step_, outer_;
};

std::string LimitsOf(const StepWriter& w) {
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  return absl::StrCat(CInteger(range.min), ", ", CInteger(range.max), ")");
}

std::string PowersArray(StepWriter& w, float beta) {
  const ops::ExpTable table(beta, w.InQuantization(0).scale[0]);
  std::vector<float> values;
  for (int d = 0; d < 256; ++d) values.push_back(table[d]);
  return w.Array(v1::FLOAT32, values);
}

// Declares `largest` and the float `sum` of all powers.
void EmitPowerSum(StepWriter& w, Line& line, const std::string& powers) {
  line.Largest("int32_t");
  w.code().Line("float sum = 0;");
  w.code().Line(line.ForEach(), " sum += ", powers, "[largest - ", line.X(),
                "];");
}

void EmitSoftmax8(StepWriter& w, Line line) {
  const std::string powers = PowersArray(w, w.op().softmax().beta());
  const ops::QuantizationView out = w.OutQuantization(0);
  CodeWriter& code = w.code();
  line.Open();
  EmitPowerSum(w, line, powers);
  code.Line("const float factor = 1.0f / (sum * ", CFloat(out.scale[0]), ");");
  code.Open(line.ForEach());
  code.Line("const float steps = ", powers, "[largest - ", line.X(),
            "] * factor + 0.5f;");
  code.Line(line.Y(), " = (", CTypeOf(w.Out(0).type), ")", w.Use("clamp"), "(",
            w.Use("small_whole"), "(steps) + (", out.zero_point[0], "), ",
            LimitsOf(w), ";");
  code.Close();
  line.Close();
}

bool IsTabulated(const StepWriter& w, int64_t count) {
  constexpr float kStep = 1.0f / 32768;
  return w.InQuantization(0).zero_point[0] == 0 &&
         w.OutQuantization(0).zero_point[0] == 0 &&
         std::fabs(w.OutQuantization(0).scale[0] - kStep) <= 0.001f * kStep &&
         count <= 65536;
}

void EmitTabulatedSoftmax16(StepWriter& w, Line line) {
  const float scale = w.InQuantization(0).scale[0] * w.op().softmax().beta();
  const ops::FixedPointMultiplier factor =
      ops::QuantizeMultiplier(double{scale} / (10.0 / 65535.0));
  const std::string power =
      w.Array(v1::INT16, InterpolatedValues<double>(10.0 / 65535, 32767,
                                                    2.0 / 65535, 0, ops::Exp));
  const std::string reciprocal = w.Array(
      v1::INT16,
      InterpolatedValues<double>(1.0 / 65535, -32768, 2.0 / 65535, 0,
                                 [](double x) { return 1.0 / (1.0 + x); }));
  CodeWriter& code = w.code();
  line.Open();
  code.Line("uint32_t sum = 0;");
  line.Largest("int32_t");
  code.Open(line.ForEach());
  code.Line("const int64_t place = ", w.Use("round_up"), "((int64_t)(",
            line.X(), " - largest) * ", factor.multiplier, ", ",
            31 - factor.shift, ") + 32767;");
  code.Line("const int32_t value = ", w.Use("interpolate"), "(", power, ", ",
            w.Use("sat16"), "(place));");
  code.Line(line.Y(), " = (int16_t)value;");
  code.Line("sum += (uint32_t)value;");
  code.Close();
  code.OpenBlock();
  code.Line("const int32_t zeros = ", w.Use("clz"), "(sum);");
  code.Line(
      "const int64_t unit = ((int64_t)((uint64_t)sum << (zeros - 1)) + "
      "8192) >> 14;");
  code.Line("const int64_t over = ", w.Use("interpolate"), "(", reciprocal,
            ", ", w.Use("sat16"), "(unit - 98304));");
  code.Line("const int32_t right = 31 - zeros;");
  code.Open(line.ForEach());
  code.Line("const int64_t product = ", line.Y(), " * over;");
  code.Line(line.Y(), " = (int16_t)", w.Use("limit"),
            "((product + ((int64_t)1 << (right - 1))) >> right, 0, 32767);");
  code.Close();
  code.Close();
  line.Close();
}

void EmitRealSoftmax16(StepWriter& w, Line line) {
  const ops::QuantizationView out = w.OutQuantization(0);
  const double unit =
      double{w.InQuantization(0).scale[0]} * double{w.op().softmax().beta()};
  const std::string powers = w.Scratch(v1::FLOAT64, line.count());
  CodeWriter& code = w.code();
  line.Open();
  line.Largest("int32_t");
  code.Line("double sum = 0;");
  code.Open(line.ForEach());
  code.Line(powers, "[i] = ", w.Use("exp"), "(", CDouble(unit), " * (double)(",
            line.X(), " - largest));");
  code.Line("sum += ", powers, "[i];");
  code.Close();
  code.Open(line.ForEach());
  code.Line("const double real = ", powers, "[i] / sum;");
  code.Line(line.Y(), " = (int16_t)", w.Use("limited"), "(", w.Use("round"),
            "(real / ", CDouble(double{out.scale[0]}), ") + ",
            out.zero_point[0], ", ", LimitsOf(w), ";");
  code.Close();
  line.Close();
}

void EmitRealSoftmax(StepWriter& w, Line line) {
  const std::string type(CTypeOf(w.Out(0).type));
  const std::string powers = w.Scratch(v1::FLOAT64, line.count());
  CodeWriter& code = w.code();
  line.Open();
  line.Largest(type);
  code.Line("double sum = 0;");
  code.Open(line.ForEach());
  code.Line(powers, "[i] = ", w.Use("exp"), "(",
            CDouble(double{w.op().softmax().beta()}), " * ((double)", line.X(),
            " - (double)largest));");
  code.Line("sum += ", powers, "[i];");
  code.Close();
  code.Line(line.ForEach(), " ", line.Y(), " = (", type, ")(", powers,
            "[i] / sum);");
  line.Close();
}

void EmitLogSoftmax8(StepWriter& w, Line line) {
  const float from = w.InQuantization(0).scale[0];
  const ops::QuantizationView out = w.OutQuantization(0);
  const float to = out.scale[0];
  const std::string powers = PowersArray(w, 1);
  CodeWriter& code = w.code();
  line.Open();
  EmitPowerSum(w, line, powers);
  code.Line("const float log = (float)", w.Use("log"), "((double)sum);");
  code.Line("const float whole = (", CFloat(from),
            " * (float)largest + log) / ", CFloat(to), ";");
  code.Open(line.ForEach());
  code.Line("const float steps = ", CFloat(from / to), " * (float)", line.X(),
            " - whole;");
  code.Line(line.Y(), " = (", CTypeOf(w.Out(0).type), ")", w.Use("limited"),
            "(", w.Use("nearbyint"), "((double)steps) + ", out.zero_point[0],
            ", ", LimitsOf(w), ";");
  code.Close();
  line.Close();
}

void EmitLogSoftmax16(StepWriter& w, Line line) {
  const std::string scale = CDouble(double{w.InQuantization(0).scale[0]});
  const ops::QuantizationView out = w.OutQuantization(0);
  CodeWriter& code = w.code();
  line.Open();
  line.Largest("int32_t");
  code.Line("double sum = 0, log;");
  code.Line(line.ForEach(), " sum += ", w.Use("exp"), "(", scale,
            " * (double)(", line.X(), " - largest));");
  code.Line("log = ", w.Use("log"), "(sum);");
  code.Open(line.ForEach());
  code.Line("const double real = ", scale, " * (double)(", line.X(),
            " - largest) - log;");
  code.Line(line.Y(), " = (int16_t)", w.Use("limited"), "(", w.Use("round"),
            "(real / ", CDouble(double{out.scale[0]}), ") + ",
            out.zero_point[0], ", ", LimitsOf(w), ";");
  code.Close();
  line.Close();
}

void EmitRealLogSoftmax(StepWriter& w, Line line) {
  const std::string type(CTypeOf(w.Out(0).type));
  CodeWriter& code = w.code();
  line.Open();
  line.Largest("double");
  code.Line("double sum = 0, log;");
  code.Line(line.ForEach(), " sum += ", w.Use("exp"), "((double)", line.X(),
            " - largest);");
  code.Line("log = ", w.Use("log"), "(sum);");
  code.Line(line.ForEach(), " ", line.Y(), " = (", type, ")(((double)",
            line.X(), " - largest) - log);");
  line.Close();
}

}  // namespace

absl::Status EmitSoftmax(StepWriter& w) {
  const bool log = w.op().has_log_softmax();
  const Line line(w,
                  log ? w.op().log_softmax().axis() : w.op().softmax().axis());
  w.MayOverwrite(0);
  switch (w.Out(0).type) {
    case v1::INT8:
    case v1::UINT8:
      log ? EmitLogSoftmax8(w, line) : EmitSoftmax8(w, line);
      break;
    case v1::INT16:
      if (log) {
        EmitLogSoftmax16(w, line);
      } else if (IsTabulated(w, line.count())) {
        EmitTabulatedSoftmax16(w, line);
      } else {
        EmitRealSoftmax16(w, line);
      }
      break;
    default:
      log ? EmitRealLogSoftmax(w, line) : EmitRealSoftmax(w, line);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
