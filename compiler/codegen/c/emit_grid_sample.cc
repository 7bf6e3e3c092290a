#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"

// ops/grid_sample.cc, operation by operation, in the element type @T.
namespace edgekiln::compiler {
namespace {

// Declares @A_at, a position along one axis of @N elements, from `grid`.
constexpr char kPosition[] = R"(@T @A_at = @P;
if (!(@A_at > -0x1p40)) @A_at = -(@T)0x1p40;
if (@A_at > 0x1p40) @A_at = (@T)0x1p40;
@R
@O
)";

// Taps of @A: indices @A_e (-1: a zero) and weights @A_w.
std::string WeightsOf(v1::GridSample::Mode mode, const std::string& a) {
  switch (mode) {
    case v1::GridSample::NEAREST:
      return absl::StrCat(a, "_w[0] = 1;\n");
    case v1::GridSample::LINEAR:
      return absl::StrCat(a, "_w[0] = 1 - d;\n", a, "_w[1] = d;\n");
    default:
      return absl::StrReplaceAll(
          R"(const @T f = 1 + d;
const @T n = 1 - d;
const @T g = 2 - d;
@A_w[0] = (((@T)-0.75 * f - (@T)-3.75) * f + (@T)-6.0) * f - (@T)-3.0;
@A_w[1] = ((@T)1.25 * d - (@T)2.25) * d * d + 1;
@A_w[2] = ((@T)1.25 * n - (@T)2.25) * n * n + 1;
@A_w[3] = (((@T)-0.75 * g - (@T)-3.75) * g + (@T)-6.0) * g - (@T)-3.0;
)",
          {{"@A", a}});
  }
}

int TapCount(v1::GridSample::Mode mode) {
  return mode == v1::GridSample::NEAREST  ? 1
         : mode == v1::GridSample::LINEAR ? 2
                                          : 4;
}

class Writer {
 public:
  Writer(StepWriter& w, const v1::GridSample& op) : w_(w), op_(op) {}

  void Axis(const std::string& a, const std::string& grid, int64_t extent) {
    const bool corners = op_.align_corners();
    const std::string low = corners ? "0" : "(@T)-0.5";
    const std::string high = corners
                                 ? absl::StrCat("(@T)", extent - 1)
                                 : absl::StrCat("((@T)", extent, " - (@T)0.5)");
    const std::string position =
        corners ? absl::StrCat("(", grid, " + 1) / 2 * ((@T)", extent, " - 1)")
                : absl::StrCat("((", grid, " + 1) * (@T)", extent, " - 1) / 2");
    const std::string at = a + "_at";
    std::string inside;  // Empty: a position outside stays there.
    if (op_.padding() == v1::GridSample::BORDER) {
      inside = absl::StrCat(at, " < 0 ? 0 : ", at, " > (@T)", extent,
                            " - 1 ? (@T)", extent, " - 1 : ", at);
    } else if (op_.padding() == v1::GridSample::REFLECTION) {
      inside =
          absl::StrCat("(@T)", Reflect(), "(", at, ", ", low, ", ", high, ")");
    }
    if (!inside.empty()) {
      inside = absl::StrCat("if (!(", at, " >= ", low, " && ", at, " <= ", high,
                            ")) ", at, " = ", inside, ";");
    }
    const std::string rounded =
        op_.mode() == v1::GridSample::NEAREST
            ? absl::StrCat(at, " = (@T)", w_.Use("nearbyint"), "((double)", at,
                           ");")
            : "";
    Lines(absl::StrReplaceAll(
        kPosition,
        {{"@P", position}, {"@R", rounded}, {"@O", inside}, {"@A", a}}));
    Taps(a, low, high, extent);
  }

 private:
  void Taps(const std::string& a, const std::string& low,
            const std::string& high, int64_t extent) {
    const int count = TapCount(op_.mode());
    CodeWriter& code = w_.code();
    Lines(absl::StrCat("int32_t ", a, "_e[", count, "];\n@T ", a, "_w[", count,
                       "];\n"));
    code.OpenBlock();
    Lines(absl::StrCat("const @T below = (@T)", w_.Use("floor"), "((double)", a,
                       "_at);\n"));
    if (count > 1) Lines(absl::StrCat("const @T d = ", a, "_at - below;\n"));
    Lines("int32_t i;\n");
    Lines(absl::StrCat("const int64_t from = (int64_t)below",
                       count == 4 ? " - 1" : "", ";\n"));
    code.OpenBlock();
    Lines(WeightsOf(op_.mode(), a));
    code.Close();
    code.Open("for (i = 0; i < ", count, "; ++i)");
    code.Line("int64_t e = from + i;");
    code.Open("if (e < 0 || e >= ", extent, ")");
    if (op_.padding() == v1::GridSample::ZEROS) {
      code.Line("e = -1;");
    } else {
      if (op_.padding() == v1::GridSample::REFLECTION) {
        Lines(absl::StrCat("e = (int64_t)(@T)", Reflect(), "((@T)e, ", low,
                           ", ", high, ");\n"));
      }
      code.Line("e = e < 0 ? 0 : e > ", extent - 1, " ? ", extent - 1, " : e;");
    }
    code.Close();
    code.Line(a, "_e[i] = (int32_t)e;");
    code.Close();
    code.Close();
  }

  std::string Reflect() {
    return w_.Use(w_.Out(0).type == v1::FLOAT64 ? "reflect" : "reflectf");
  }

  void Lines(const std::string& text) {
    const std::string type(CTypeOf(w_.Out(0).type));
    std::string rest = absl::StrReplaceAll(text, {{"@T", type}});
    size_t begin = 0;
    while (begin < rest.size()) {
      const size_t end = rest.find('\n', begin);
      if (end > begin) w_.code().Line(rest.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  StepWriter& w_;
  const v1::GridSample& op_;
};

}  // namespace

absl::Status EmitGridSample(StepWriter& w) {
  const v1::GridSample& op = w.op().grid_sample();
  const std::vector<int64_t>& shape = w.In(0).shape;
  const int64_t height = shape[1], width = shape[2], channels = shape[3];
  const int64_t pixels = w.Out(0).shape[1] * w.Out(0).shape[2];
  const std::string type(CTypeOf(w.Out(0).type));
  const int count = TapCount(op.mode());
  CodeWriter& code = w.code();
  code.OpenLoop("b", shape[0]);
  code.OpenLoop("p", pixels);
  code.Line("const ", type, " *const grid = ", w.X(1), " + 2 * (b * ", pixels,
            " + p);");
  code.Line(type, " *const to = ", w.Y(0), " + (b * ", pixels, " + p) * ",
            channels, ";");
  Writer writer(w, op);
  writer.Axis("x", "grid[0]", width);
  writer.Axis("y", "grid[1]", height);
  code.OpenLoop("c", channels);
  code.Line("to[c] = 0;");
  code.Close();
  code.OpenLoop("r", count);
  code.OpenLoop("q", count);
  code.Line("const ", type, " weight = y_w[r] * x_w[q];");
  code.Line("const ", type, " *from;");
  code.Line("if (y_e[r] < 0 || x_e[q] < 0) continue;");
  code.Line("from = ", w.X(0), " + ((b * ", height, " + y_e[r]) * ", width,
            " + x_e[q]) * ", channels, ";");
  code.OpenLoop("c", channels);
  code.Line("to[c] += weight * from[c];");
  CloseLoops(code, 5);
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
