#include "compiler/codegen/c/row_ring.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "compiler/codegen/c/c_text.h"

namespace edgekiln::compiler {

namespace {

// Where the windows along a dimension end.
int64_t EndOf(const ops::WindowGeometry& g, int d) {
  return (g.out[d] - 1) * g.stride[d] - g.pad[d] +
         (g.kernel[d] - 1) * g.dilation[d] + 1;
}

bool IsPadded(const ops::WindowGeometry& g) {
  return g.pad[1] > 0 || g.pad[2] > 0 || EndOf(g, 2) > g.in[2] ||
         EndOf(g, 1) > g.in[1];
}

}  // namespace

RowRing::RowRing(StepWriter& w, const ops::WindowGeometry& g)
    : w_(w), g_(g), padded_(IsPadded(g)) {
  slots_ = (g.kernel[1] - 1) * g.dilation[1] + 1;
  width_ = std::max(EndOf(g, 2), g.in[2]) + g.pad[2];
  width_ *= g.in_c;
  if (!padded_) return;
  ring_ = w.Scratch(w.In(0).type, slots_ * width_);
  if (CanOverwrite()) w.MayOverwrite(0);
}

// Whether every output row lies before the first input row that has not been
// copied yet.
bool RowRing::CanOverwrite() const {
  const int64_t out_row = g_.out[2] * g_.out_c;
  const int64_t in_row = g_.in[2] * g_.in_c;
  for (int64_t oy = 0; oy < g_.out[1]; ++oy) {
    const int64_t copied =
        std::max<int64_t>(oy * g_.stride[1] - g_.pad[1] + slots_, 0);
    if (copied < g_.in[1] && (oy + 1) * out_row > copied * in_row) return false;
  }
  return true;
}

void RowRing::Begin() {
  if (!padded_) return;
  CodeWriter& code = w_.code();
  code.Line("int32_t next = ", -g_.pad[1], ", slot = 0;");
  code.OpenLoop("i", slots_ * width_);
  code.Line(ring_, "[i] = ", w_.InQuantization(0).zero_point[0], ";");
  code.Close();
}

void RowRing::Rows() {
  CodeWriter& code = w_.code();
  const int64_t row = g_.in[2] * g_.in_c;
  const absl::string_view type = CTypeOf(w_.In(0).type);
  code.Line("const ", type, " *rows[", g_.kernel[1], "];");
  if (!padded_) {
    for (int64_t k = 0; k < g_.kernel[1]; ++k) {
      code.Line("rows[", k, "] = ", w_.X(0), " + (oy * ", g_.stride[1], " + ",
                k * g_.dilation[1], ") * ", row, ";");
    }
    return;
  }
  // Slot `slot` is the oldest row and the next to be replaced.
  code.Open("for (; next < oy * ", g_.stride[1], " + ", slots_ - g_.pad[1],
            "; ++next)");
  code.Line(type, " *const to = ", ring_, " + slot * ", width_, " + ",
            g_.pad[2] * g_.in_c, ";");
  code.Line("int32_t i;");
  code.Open("if (next >= 0 && next < ", g_.in[1], ")");
  code.Line("const ", type, " *const from = ", w_.X(0), " + next * ", row, ";");
  if (row % 4 == 0 && width_ % 4 == 0 && g_.pad[2] * g_.in_c % 4 == 0) {
    code.Line("for (i = 0; i < ", row / 4, "; ++i) ", w_.Use("copy4"),
              "(to + 4 * i, from + 4 * i);");
  } else {
    code.Line("for (i = 0; i < ", row, "; ++i) to[i] = from[i];");
  }
  code.Close(" else {");
  code.Line("  for (i = 0; i < ", row,
            "; ++i) to[i] = ", w_.InQuantization(0).zero_point[0], ";");
  code.Line("}");
  code.Line("slot = slot == ", slots_ - 1, " ? 0 : slot + 1;");
  code.Close();
  code.OpenBlock();
  code.Line("int32_t at = slot;");
  for (int64_t k = 0; k < g_.kernel[1]; ++k) {
    code.Line("rows[", k, "] = ", ring_, " + at * ", width_, ";");
    if (k + 1 == g_.kernel[1]) break;
    code.Line("at += ", g_.dilation[1], ";");
    code.Line("if (at >= ", slots_, ") at -= ", slots_, ";");
  }
  code.Close();
}

}  // namespace edgekiln::compiler
