#include <string>
#include <vector>

#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/quantized_parameters.h"

namespace edgekiln::compiler {
namespace {

// Lines along an axis, as ops/lines.h.
void OpenLines(CodeWriter& code, absl::Span<const int64_t> shape,
               int32_t axis) {
  const int64_t count = shape[axis];
  const int64_t step = Product(shape.subspan(axis + 1));
  code.OpenLoop("o", Product(shape.first(axis)));
  code.OpenLoop("j", step);
  code.Line("const int32_t first = o * ", count * step, " + j;");
}

int64_t StepOf(absl::Span<const int64_t> shape, int32_t axis) {
  return Product(shape.subspan(axis + 1));
}

void EmitBatchNormalization(StepWriter& w) {
  const v1::BatchNormalization& op = w.op().batch_normalization();
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t channels = shape[op.axis()];
  const int64_t inner = StepOf(shape, op.axis());
  const int64_t outer = Product(shape.first(op.axis()));
  CodeWriter& code = w.code();
  code.OpenLoop("c", channels);
  code.Line("const double factor = (double)", w.X(1), "[c] / ", w.Use("sqrt"),
            "((double)", w.X(4), "[c] + ", CDouble(double{op.epsilon()}), ");");
  code.OpenLoop("o", outer);
  code.OpenLoop("i", inner);
  code.Line("const int32_t at = (o * ", channels, " + c) * ", inner, " + i;");
  code.Line(w.Y(0), "[at] = (", CTypeOf(w.Out(0).type), ")(((double)", w.X(0),
            "[at] - (double)", w.X(3), "[c]) * factor + (double)", w.X(2),
            "[c]);");
  CloseLoops(code, 3);
  w.MayOverwrite(0);
}

void EmitLocalResponse(StepWriter& w) {
  const v1::LocalResponseNormalization& op =
      w.op().local_response_normalization();
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t count = shape[op.axis()];
  const int64_t step = StepOf(shape, op.axis());
  const int64_t before = (int64_t{op.size()} - 1) / 2;
  const int64_t after = op.size() - 1 - before;
  CodeWriter& code = w.code();
  OpenLines(code, shape, op.axis());
  code.OpenLoop("i", count);
  code.Line("double sum = 0;");
  code.Line("int32_t k = i < ", before, " ? 0 : i - ", before, ";");
  code.Line("const int32_t last = i < ", count - 1 - after, " ? i + ", after,
            " : ", count - 1, ";");
  code.Open("for (; k <= last; ++k)");
  code.Line("const double v = (double)", w.X(0), "[first + k * ", step, "];");
  code.Line("sum += v * v;");
  code.Close();
  code.Line(w.Y(0), "[first + i * ", step, "] = (", CTypeOf(w.Out(0).type),
            ")((double)", w.X(0), "[first + i * ", step, "] / ", w.Use("pow"),
            "(", CDouble(double{op.bias()}), " + ",
            CDouble(double{op.alpha()} / op.size()), " * sum, ",
            CDouble(double{op.beta()}), "));");
  CloseLoops(code, 3);
}

void EmitLayerNormalization(StepWriter& w) {
  const v1::LayerNormalization& op = w.op().layer_normalization();
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t count = Product(shape.subspan(op.axis()));
  const std::string divisor = CDouble(static_cast<double>(count));
  CodeWriter& code = w.code();
  code.OpenLoop("r", Product(shape.first(op.axis())));
  code.Line("const int32_t at = r * ", count, ";");
  code.Line("double sum = 0, squares = 0, mean, deviation;");
  code.Line("int32_t i;");
  code.Line("for (i = 0; i < ", count, "; ++i) sum += (double)", w.X(0),
            "[at + i];");
  code.Line("mean = sum / ", divisor, ";");
  code.Open("for (i = 0; i < ", count, "; ++i)");
  code.Line("const double d = (double)", w.X(0), "[at + i] - mean;");
  code.Line("squares += d * d;");
  code.Close();
  code.Line("deviation = ", w.Use("sqrt"), "(squares / ", divisor, " + ",
            CDouble(double{op.epsilon()}), ");");
  code.Open("for (i = 0; i < ", count, "; ++i)");
  code.Line("double v = ((double)", w.X(0), "[at + i] - mean) / deviation;");
  if (w.Has(1)) code.Line("v *= (double)", w.X(1), "[i];");
  if (w.Has(2)) code.Line("v += (double)", w.X(2), "[i];");
  code.Line(w.Y(0), "[at + i] = (", CTypeOf(w.Out(0).type), ")v;");
  CloseLoops(code, 2);
  w.MayOverwrite(0);
}

void EmitRealL2(StepWriter& w) {
  const v1::L2Normalization& op = w.op().l2_normalization();
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t count = shape[op.axis()];
  const int64_t step = StepOf(shape, op.axis());
  CodeWriter& code = w.code();
  OpenLines(code, shape, op.axis());
  code.Line("double sum = 0, size;");
  code.OpenLoop("i", count);
  code.Line("const double v = (double)", w.X(0), "[first + i * ", step, "];");
  code.Line("sum += v * v;");
  code.Close();
  code.Line("size = ", w.Use("sqrt"), "(sum);");
  const std::string epsilon = CDouble(double{op.epsilon()});
  code.Line("if (size < ", epsilon, ") size = ", epsilon, ";");
  code.OpenLoop("i", count);
  code.Line(w.Y(0), "[first + i * ", step, "] = (", CTypeOf(w.Out(0).type),
            ")((double)", w.X(0), "[first + i * ", step, "] / size);");
  CloseLoops(code, 3);
  w.MayOverwrite(0);
}

// Whether results are in [-1, 1) in steps of 1/128, for which ops/ has fixed
// point.
bool IsFixedL2(const StepWriter& w, int64_t count) {
  constexpr int64_t kMaxFixedLine = 33025;
  const ops::QuantizationView q = w.OutQuantization(0);
  return ElementBytes(w.Out(0).type) == 1 && q.scale[0] == 1.0f / 128 &&
         q.zero_point[0] == (w.Out(0).type == v1::UINT8 ? 128 : 0) &&
         count <= kMaxFixedLine;
}

void EmitQuantizedL2(StepWriter& w) {
  const v1::L2Normalization& op = w.op().l2_normalization();
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t count = shape[op.axis()];
  const int64_t step = StepOf(shape, op.axis());
  const ops::QuantizationView in = w.InQuantization(0);
  const ops::QuantizationView out = w.OutQuantization(0);
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  const std::string limits =
      absl::StrCat(CInteger(range.min), ", ", CInteger(range.max), ")");
  const std::string value = absl::StrCat(w.X(0), "[first + i * ", step, "] - (",
                                         in.zero_point[0], ")");
  const std::string to = absl::StrCat(w.Y(0), "[first + i * ", step, "] = (",
                                      CTypeOf(w.Out(0).type), ")");
  CodeWriter& code = w.code();
  OpenLines(code, shape, op.axis());
  code.Line("int64_t sum = 0;");
  code.OpenLoop("i", count);
  code.Line("const int64_t v = ", value, ";");
  code.Line("sum += v * v;");
  code.Close();
  code.OpenBlock();
  if (IsFixedL2(w, count)) {
    code.Line("int32_t m, shift;");
    code.Line(w.Use("inverse_root"), "((int32_t)sum, &m, &shift);");
    code.OpenLoop("i", count);
    code.Line(to, w.Use("finish_up"), "(", value, ", m, 24 - shift, ",
              out.zero_point[0], ", ", limits, ";");
    code.Close();
  } else {
    const std::string scale = CDouble(double{in.scale[0]});
    const std::string epsilon = CDouble(double{op.epsilon()});
    code.Line("double size = ", scale, " * ", w.Use("sqrt"), "((double)sum);");
    code.Line("if (size < ", epsilon, ") size = ", epsilon, ";");
    code.OpenLoop("i", count);
    code.Line("const double real = ", scale, " * (double)(", value,
              ") / size;");
    code.Line(to, w.Use("limited"), "(", w.Use("round"), "(real / ",
              CDouble(double{out.scale[0]}), ") + ", out.zero_point[0], ", ",
              limits, ";");
    code.Close();
  }
  code.Close();
  CloseLoops(code, 2);
  w.MayOverwrite(0);
}

}  // namespace

absl::Status EmitNormalization(StepWriter& w) {
  switch (w.op().op_case()) {
    case v1::OpAttributes::kBatchNormalization:
      EmitBatchNormalization(w);
      break;
    case v1::OpAttributes::kLocalResponseNormalization:
      EmitLocalResponse(w);
      break;
    case v1::OpAttributes::kLayerNormalization:
      EmitLayerNormalization(w);
      break;
    default:
      if (IsFloat(w.Out(0).type)) {
        EmitRealL2(w);
      } else {
        EmitQuantizedL2(w);
      }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
