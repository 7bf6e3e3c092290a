#include <algorithm>
#include <string>
#include <vector>

#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/window.h"

namespace edgekiln::compiler {
namespace {

using ops::WindowGeometry;

struct Pooling {
  WindowGeometry g;
  v1::Pool::Function function = v1::Pool::MAXIMUM;
  const v1::Clamp& clamp;
  bool count_include_pad = false;
  bool column_major = false;
  int32_t p = 0;
};

Pooling PoolingOf(const StepWriter& w) {
  const auto x = absl::MakeConstSpan(w.In(0).shape);
  const auto out = absl::MakeConstSpan(w.Out(0).shape);
  const v1::OpAttributes& op = w.op();
  if (op.has_average_pool2d()) {
    const v1::AveragePool2d& pool = op.average_pool2d();
    return {ops::GeometryOf(pool.window(), x,
                            {pool.kernel_h(), pool.kernel_w()}, out),
            v1::Pool::AVERAGE, pool.clamp(), pool.count_include_pad()};
  }
  if (op.has_max_pool2d()) {
    const v1::MaxPool2d& pool = op.max_pool2d();
    return {ops::GeometryOf(pool.window(), x,
                            {pool.kernel_h(), pool.kernel_w()}, out),
            v1::Pool::MAXIMUM, pool.clamp()};
  }
  const v1::Pool& pool = op.pool();
  const std::vector<int64_t> kernel(pool.kernel().begin(), pool.kernel().end());
  return {ops::GeometryOf(pool.window(), x, kernel, out),
          pool.function(),
          pool.clamp(),
          pool.count_include_pad(),
          pool.column_major(),
          pool.p()};
}

constexpr const char* kAxis[3] = {"z", "y", "x"};

// Loops over the positions of the window inside the input; `at` is the pixel of
// the image.
int OpenPositions(CodeWriter& code, const WindowGeometry& g) {
  int opened = 0;
  for (int d = 0; d < 3; ++d) {
    const std::string a = kAxis[d];
    if (g.kernel[d] == 1 && g.pad[d] == 0) continue;
    code.OpenLoop(absl::StrCat("k", a), g.kernel[d]);
    code.Line("const int32_t i", a, " = o", a, " * ", g.stride[d], " - ",
              g.pad[d], " + k", a, " * ", g.dilation[d], ";");
    code.Open("if (i", a, " >= 0 && i", a, " < ", g.in[d], ")");
    opened += 2;
  }
  if (opened == 0) {
    code.OpenBlock();
    ++opened;
  }
  std::string at;
  for (int d = 0; d < 3; ++d) {
    const bool fixed = g.kernel[d] == 1 && g.pad[d] == 0;
    const std::string i = fixed
                              ? absl::StrCat("o", kAxis[d], " * ", g.stride[d])
                              : absl::StrCat("i", kAxis[d]);
    at = d == 0 ? i : absl::StrCat("(", at, ") * ", g.in[d], " + ", i);
  }
  code.Line("const int32_t at = ", at, ";");
  return opened;
}

// Limits `value`, a variable of the output's type or wider, as the clamp says.
void EmitLimit(StepWriter& w, const Pooling& pooling,
               const std::string& value) {
  const Tensor& out = w.Out(0);
  if (IsFloat(out.type))
    return EmitRealClamp(w, out.type, pooling.clamp, value);
  if (!out.quantization.has_value()) return;
  const ops::QuantizedRange full = ops::RangeOf(out.type);
  const ops::QuantizedRange range = ops::ClampRange(
      pooling.clamp, w.op().rounding(), w.OutQuantization(0), out.type);
  if (range.min > full.min) {
    w.code().Line("if (", value, " < ", range.min, ") ", value, " = ",
                  range.min, ";");
  }
  if (range.max < full.max) {
    w.code().Line("if (", value, " > ", range.max, ") ", value, " = ",
                  range.max, ";");
  }
}

std::string Element(StepWriter& w, const WindowGeometry& g) {
  if (w.InChannelFirst(0)) {
    return absl::StrCat(w.X(0), "[(b * ", g.in_c, " + c) * ", g.input_pixels(),
                        " + at]");
  }
  return absl::StrCat(w.X(0), "[(b * ", g.input_pixels(), " + at) * ", g.in_c,
                      " + c]");
}

void EmitFloatAverage(StepWriter& w, const Pooling& pooling) {
  const WindowGeometry& g = pooling.g;
  const std::string type(CTypeOf(w.Out(0).type));
  CodeWriter& code = w.code();
  code.Line(type, " sum = 0;");
  code.Line("int32_t count = 0;");
  // Each column by itself, then the columns: the roundings of ops/pool.cc.
  code.OpenLoop("kx", g.kernel[2]);
  code.Line(type, " column = 0;");
  code.Line("const int32_t ix = ox * ", g.stride[2], " - ", g.pad[2],
            " + kx * ", g.dilation[2], ";");
  code.Line("if (ix < 0 || ix >= ", g.in[2], ") continue;");
  code.OpenLoop("kz", g.kernel[0]);
  code.Line("const int32_t iz = oz * ", g.stride[0], " - ", g.pad[0],
            " + kz * ", g.dilation[0], ";");
  code.Line("if (iz < 0 || iz >= ", g.in[0], ") continue;");
  code.OpenLoop("ky", g.kernel[1]);
  code.Line("const int32_t iy = oy * ", g.stride[1], " - ", g.pad[1],
            " + ky * ", g.dilation[1], ";");
  code.Line("if (iy < 0 || iy >= ", g.in[1], ") continue;");
  code.Line("const int32_t at = (iz * ", g.in[1], " + iy) * ", g.in[2],
            " + ix;");
  code.Line("column += ", Element(w, g), ";");
  code.Line("++count;");
  CloseLoops(code, 2);
  code.Line("sum += column;");
  code.Close();
  const std::string counted = pooling.count_include_pad
                                  ? absl::StrCat(g.positions())
                                  : std::string("count");
  code.Line(type, " mean = ", counted, " == 0 ? 0 : sum / (", type, ")",
            counted, ";");
  EmitLimit(w, pooling, "mean");
}

void EmitStepsAverage(StepWriter& w, const Pooling& pooling) {
  const WindowGeometry& g = pooling.g;
  const bool wide = w.Out(0).type == v1::INT16;
  const int64_t zero = w.InQuantization(0).zero_point[0];
  CodeWriter& code = w.code();
  code.Line(wide ? "int64_t" : "int32_t", " sum = 0;");
  code.Line("int32_t inside = 0;");
  const int opened = OpenPositions(code, g);
  code.Line("sum += ", Element(w, g), ";");
  code.Line("++inside;");
  CloseLoops(code, opened);
  const std::string count = pooling.count_include_pad
                                ? absl::StrCat(g.positions())
                                : std::string("inside");
  // Sums of so many bytes stay in 32 bits, and so does the division.
  constexpr int64_t kMostPositions = 1 << 22;
  const bool even = w.op().rounding() == v1::HALF_EVEN;
  if (!even && ElementBytes(w.Out(0).type) == 1 &&
      g.positions() <= kMostPositions) {
    code.Line("int32_t mean = ", count, " == 0 ? ", zero, " : ",
              w.Use("average32"), "(sum + (", count, " - inside) * (", zero,
              "), ", count, ");");
    EmitLimit(w, pooling, "mean");
    return;
  }
  const std::string mean =
      even ? absl::StrCat(zero, " + ", w.Use("average_even"),
                          "((int64_t)sum - (int64_t)inside * (", zero, "), ",
                          count, ")")
           : absl::StrCat(w.Use("average"), "((int64_t)sum + (int64_t)(", count,
                          " - inside) * (", zero, "), ", count, ")");
  code.Line("int64_t mean = ", count, " == 0 ? ", zero, " : ", mean, ";");
  EmitLimit(w, pooling, "mean");
}

void EmitNorm(StepWriter& w, const Pooling& pooling) {
  const std::string type(CTypeOf(w.Out(0).type));
  CodeWriter& code = w.code();
  code.Line("double sum = 0;");
  const int opened = OpenPositions(code, pooling.g);
  code.Line("sum += ", w.Use("pow"), "(", w.Use("fabs"), "((double)",
            Element(w, pooling.g), "), ", pooling.p, ");");
  CloseLoops(code, opened);
  code.Line(type, " mean = (", type, ")", w.Use("pow"), "(sum, 1.0 / ",
            pooling.p, ");");
  EmitLimit(w, pooling, "mean");
}

std::string Lowest(StepWriter& w) {
  switch (w.Out(0).type) {
    case v1::FLOAT32:
      return absl::StrCat("(float)-", w.Use("infinity"), "()");
    case v1::FLOAT64:
      return absl::StrCat("-", w.Use("infinity"), "()");
    case v1::INT64:
      return "-9223372036854775807 - 1";
    case v1::UINT32:
    case v1::UINT64:
      return "0";
    default:
      return CInteger(ops::RangeOf(w.Out(0).type).min);
  }
}

void EmitMaximum(StepWriter& w, const Pooling& pooling) {
  const WindowGeometry& g = pooling.g;
  const bool indices = w.outputs() > 1;
  CodeWriter& code = w.code();
  code.Line(CTypeOf(w.Out(0).type), " mean = ", Lowest(w), ";");
  if (indices) code.Line("int32_t where = -1;");
  const int opened = OpenPositions(code, g);
  const std::string x = Element(w, g);
  if (indices) {
    code.Open("if (where < 0 || mean < ", x, ")");
    code.Line("mean = ", x, ";");
    code.Line("where = at;");
    code.Close();
  } else {
    code.Line("if (mean < ", x, ") mean = ", x, ";");
  }
  CloseLoops(code, opened);
  EmitLimit(w, pooling, "mean");
  if (!indices) return;
  code.Line("if (where < 0) where = 0;");
  const std::string index =
      pooling.column_major
          ? absl::StrCat("((int64_t)(where % ", g.in[2], ") * ", g.in[1],
                         " + where / ", g.in[2], " % ", g.in[1], ") * ",
                         g.in[0], " + where / ", g.in[1] * g.in[2])
          : std::string("where");
  code.Line(w.Y(1), "[to] = (int64_t)(b * ", g.in_c, " + c) * ",
            g.input_pixels(), " + ", index, ";");
}

}  // namespace

absl::Status EmitPooling(StepWriter& w) {
  const Pooling pooling = PoolingOf(w);
  const WindowGeometry& g = pooling.g;
  CodeWriter& code = w.code();
  code.OpenLoop("b", g.batch);
  const bool channel_first = w.OutChannelFirst(0);
  if (channel_first) code.OpenLoop("c", g.in_c);
  for (int d = 0; d < 3; ++d) {
    code.OpenLoop(absl::StrCat("o", kAxis[d]), g.out[d]);
  }
  if (channel_first) {
    code.Line("const int32_t to = ((b * ", g.out_c, " + c) * ", g.out[1],
              " + oy) * ", g.out[2], " + ox;");
  } else {
    code.OpenLoop("c", g.in_c);
    code.Line("const int32_t to = (((b * ", g.out[0], " + oz) * ", g.out[1],
              " + oy) * ", g.out[2], " + ox) * ", g.out_c, " + c;");
  }
  if (pooling.function == v1::Pool::MAXIMUM) {
    EmitMaximum(w, pooling);
  } else if (pooling.function == v1::Pool::LP_NORM) {
    EmitNorm(w, pooling);
  } else if (IsFloat(w.Out(0).type)) {
    EmitFloatAverage(w, pooling);
  } else {
    EmitStepsAverage(w, pooling);
  }
  code.Line(w.Y(0), "[to] = (", CTypeOf(w.Out(0).type), ")mean;");
  CloseLoops(code, 5);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
