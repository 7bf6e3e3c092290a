#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/dot_arithmetic.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/broadcast.h"
#include "ops/window.h"

namespace edgekiln::compiler {
namespace {

using ops::WindowGeometry;

// A convolution of any kind: over up to three dimensions, in groups, transposed
// or depthwise.
struct Window {
  WindowGeometry g;
  int64_t groups = 1;
  bool transposed = false;
  int64_t multiplier = 0;  // Of a depthwise convolution; else 0.

  int64_t channels_in() const { return multiplier > 0 ? 1 : g.in_c / groups; }
  int64_t channels_out() const { return g.out_c / groups; }
};

Window WindowOf(const StepWriter& w) {
  const auto x = absl::MakeConstSpan(w.In(0).shape);
  const auto weights = absl::MakeConstSpan(w.In(1).shape);
  const auto out = absl::MakeConstSpan(w.Out(0).shape);
  const auto kernel = weights.subspan(1, weights.size() - 2);
  const v1::OpAttributes& op = w.op();
  if (op.has_depthwise_conv2d()) {
    return {ops::GeometryOf(op.depthwise_conv2d().window(), x, kernel, out), 1,
            false, op.depthwise_conv2d().depth_multiplier()};
  }
  if (op.has_conv2d()) {
    return {ops::GeometryOf(op.conv2d().window(), x, kernel, out),
            std::max(op.conv2d().groups(), 1)};
  }
  if (op.has_conv3d()) {
    return {ops::GeometryOf(op.conv3d().window(), x, kernel, out),
            std::max(op.conv3d().groups(), 1)};
  }
  return {ops::GeometryOf(op.transposed_conv().window(), x, kernel, out),
          std::max(op.transposed_conv().groups(), 1), true};
}

const v1::Clamp& ClampOf(const v1::OpAttributes& op) {
  switch (op.op_case()) {
    case v1::OpAttributes::kConv2D:
      return op.conv2d().clamp();
    case v1::OpAttributes::kConv3D:
      return op.conv3d().clamp();
    case v1::OpAttributes::kDepthwiseConv2D:
      return op.depthwise_conv2d().clamp();
    case v1::OpAttributes::kTransposedConv:
      return op.transposed_conv().clamp();
    case v1::OpAttributes::kFullyConnected:
      return op.fully_connected().clamp();
    default:
      return v1::Clamp::default_instance();
  }
}

constexpr const char* kAxis[3] = {"z", "y", "x"};

// Declares i<axis>, the input coordinate of step k<axis>, and whether it is
// inside; returns the condition, "" for always.
std::string Coordinate(CodeWriter& code, const Window& window, int d) {
  const WindowGeometry& g = window.g;
  const std::string a = kAxis[d];
  const std::string at = g.out[d] == 1 ? "0" : absl::StrCat("o", a);
  const std::string k = g.kernel[d] == 1 ? "0" : absl::StrCat("k", a);
  if (window.transposed) {
    code.Line("const int32_t t", a, " = ", at, " + ", g.pad[d], " - ", k, " * ",
              g.dilation[d], ";");
    code.Line("const int32_t i", a, " = t", a, " / ", g.stride[d], ";");
    return absl::StrCat("t", a, " >= 0 && t", a, " % ", g.stride[d],
                        " == 0 && i", a, " < ", g.in[d]);
  }
  code.Line("const int32_t i", a, " = ", at, " * ", g.stride[d], " - ",
            g.pad[d], " + ", k, " * ", g.dilation[d], ";");
  const int64_t lowest = -g.pad[d];
  const int64_t highest = (g.out[d] - 1) * g.stride[d] - g.pad[d] +
                          (g.kernel[d] - 1) * g.dilation[d];
  if (lowest >= 0 && highest < g.in[d]) return "";
  return absl::StrCat("i", a, " >= 0 && i", a, " < ", g.in[d]);
}

// The index of a position of the window.
std::string TapOf(const WindowGeometry& g) {
  const int64_t steps[3] = {g.kernel[1] * g.kernel[2], g.kernel[2], 1};
  std::vector<std::string> terms;
  for (int d = 0; d < 3; ++d) {
    if (g.kernel[d] == 1) continue;
    terms.push_back(absl::StrCat("k", kAxis[d], " * ", steps[d]));
  }
  return terms.empty() ? "0" : absl::StrJoin(terms, " + ");
}

// The sum of one output element.
void EmitWindowSum(StepWriter& w, const Window& window,
                   const DotArithmetic& dot) {
  const WindowGeometry& g = window.g;
  CodeWriter& code = w.code();
  int opened = 0;
  std::string inside;
  for (int d = 0; d < 3; ++d) {
    if (g.kernel[d] > 1) {
      code.OpenLoop(absl::StrCat("k", kAxis[d]), g.kernel[d]);
      ++opened;
    }
    const std::string condition = Coordinate(code, window, d);
    if (condition.empty()) continue;
    absl::StrAppend(&inside, inside.empty() ? "" : " && ", condition);
  }
  const std::string tap = TapOf(g);
  const int64_t channels = window.channels_in();
  const std::string pixel =
      absl::StrCat("(((b * ", g.in[0], " + iz) * ", g.in[1], " + iy) * ",
                   g.in[2], " + ix) * ", g.in_c);
  std::string first;
  std::string weights;
  if (window.multiplier > 0) {
    first = absl::StrCat(pixel, " + o / ", window.multiplier);
    weights = absl::StrCat("(", tap, ") * ", g.out_c, " + o");
  } else {
    first = window.groups == 1
                ? pixel
                : absl::StrCat(pixel, " + o / ", window.channels_out(), " * ",
                               channels);
    weights =
        absl::StrCat("(o * ", g.positions(), " + ", tap, ") * ", channels);
  }
  const std::string type(CTypeOf(w.In(0).type));
  const std::string weight_type(CTypeOf(w.In(1).type));
  code.Line("const ", weight_type, " *const pw = ", w.X(1), " + ", weights,
            ";");
  if (!inside.empty()) code.Open("if (", inside, ")");
  code.Line("const ", type, " *const px = ", w.X(0), " + ", first, ";");
  if (channels > 1) {
    code.OpenLoop("c", channels);
    code.Line(dot.AddProduct("sum", "px[c]", "pw[c]"));
    code.Close();
  } else {
    code.Line(dot.AddProduct("sum", "px[0]", "pw[0]"));
  }
  const std::string padding = dot.AddPadding("sum", "pw[c]");
  if (!inside.empty()) {
    code.Close();
    if (!padding.empty() && window.multiplier == 0) {
      code.Open("if (!(", inside, "))");
      code.OpenLoop("c", channels);
      code.Line(padding);
      code.Close();
      code.Close();
    }
  }
  CloseLoops(code, opened);
}

absl::Status EmitConvolution(StepWriter& w) {
  const Window window = WindowOf(w);
  const WindowGeometry& g = window.g;
  EK_ASSIGN_OR_RETURN(DotArithmetic dot,
                      DotArithmetic::Of(w, ClampOf(w.op()), g.out_c));
  dot.Prepare("o");
  CodeWriter& code = w.code();
  code.OpenLoop("b", g.batch);
  int opened = 1;
  for (int d = 0; d < 3; ++d) {
    if (g.out[d] == 1) continue;
    code.OpenLoop(absl::StrCat("o", kAxis[d]), g.out[d]);
    ++opened;
  }
  code.OpenLoop("o", g.out_c);
  code.Line(dot.sum_type(), " sum = 0;");
  EmitWindowSum(w, window, dot);
  std::string pixel = "b";
  for (int d = 0; d < 3; ++d) {
    if (g.out[d] == 1) continue;
    pixel = absl::StrCat("(", pixel, " * ", g.out[d], " + o", kAxis[d], ")");
  }
  dot.Finish("sum", "o", absl::StrCat(pixel, " * ", g.out_c, " + o"));
  CloseLoops(code, opened + 1);
  return absl::OkStatus();
}

absl::Status EmitFullyConnected(StepWriter& w) {
  const int64_t columns = w.In(1).shape[0];
  const int64_t depth = w.In(1).shape[1];
  const int64_t rows = w.Out(0).num_elements() / columns;
  EK_ASSIGN_OR_RETURN(DotArithmetic dot,
                      DotArithmetic::Of(w, ClampOf(w.op()), columns));
  dot.Prepare("o");
  CodeWriter& code = w.code();
  code.OpenLoop("r", rows);
  code.OpenLoop("o", columns);
  code.Line(dot.sum_type(), " sum = 0;");
  code.OpenLoop("k", depth);
  code.Line(dot.AddProduct("sum", absl::StrCat(w.X(0), "[r * ", depth, " + k]"),
                           absl::StrCat(w.X(1), "[o * ", depth, " + k]")));
  code.Close();
  dot.Finish("sum", "o", absl::StrCat("r * ", columns, " + o"));
  CloseLoops(code, 2);
  return absl::OkStatus();
}

absl::Status EmitMatMul(StepWriter& w) {
  const auto out = absl::MakeConstSpan(w.Out(0).shape);
  const auto a = absl::MakeConstSpan(w.In(0).shape);
  const auto b = absl::MakeConstSpan(w.In(1).shape);
  const int64_t rows = out[out.size() - 2];
  const int64_t columns = out.back();
  const int64_t depth = a.back();
  EK_ASSIGN_OR_RETURN(DotArithmetic dot,
                      DotArithmetic::Of(w, ClampOf(w.op()), columns));
  dot.Prepare("o");
  const std::vector<int64_t> batch(out.begin(), out.end() - 2);
  std::vector<int64_t> a_steps =
      ops::BroadcastStrides(a.first(a.size() - 2), batch);
  std::vector<int64_t> b_steps =
      ops::BroadcastStrides(b.first(b.size() - 2), batch);
  std::vector<int64_t> steps(batch.size(), 1);
  for (size_t d = batch.size(); d-- > 0;) {
    if (d + 1 < batch.size()) steps[d] = steps[d + 1] * batch[d + 1];
  }
  for (int64_t& step : a_steps) step *= rows * depth;
  for (int64_t& step : b_steps) step *= depth * columns;
  for (int64_t& step : steps) step *= rows * columns;
  CodeWriter& code = w.code();
  const int opened = OpenLoops(code, batch);
  code.Line("const int32_t a = ", IndexOf(batch, a_steps), ";");
  code.Line("const int32_t b = ", IndexOf(batch, b_steps), ";");
  code.Line("const int32_t y = ", IndexOf(batch, steps), ";");
  code.OpenLoop("r", rows);
  code.OpenLoop("o", columns);
  code.Line(dot.sum_type(), " sum = 0;");
  code.OpenLoop("k", depth);
  code.Line(
      dot.AddProduct("sum", absl::StrCat(w.X(0), "[a + r * ", depth, " + k]"),
                     absl::StrCat(w.X(1), "[b + k * ", columns, " + o]")));
  code.Close();
  dot.Finish("sum", "o", absl::StrCat("y + r * ", columns, " + o"));
  CloseLoops(code, opened + 2);
  return absl::OkStatus();
}

}  // namespace

absl::Status EmitDot(StepWriter& w) {
  if (w.op().has_fully_connected()) return EmitFullyConnected(w);
  if (w.op().has_mat_mul()) return EmitMatMul(w);
  return EmitConvolution(w);
}

}  // namespace edgekiln::compiler
