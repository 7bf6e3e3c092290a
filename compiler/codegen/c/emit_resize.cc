#include <algorithm>
#include <string>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/quantized_parameters.h"
#include "ops/resize_taps.h"
#include "ops/strided_copy.h"

// Resize: which elements an output reads, with which weights, is known here;
// the code has a table of them per axis.
namespace edgekiln::compiler {
namespace {

// The axes that are resampled; what lies behind them stays side by side.
struct Axes {
  std::vector<ops::AxisTaps> taps;
  std::vector<int64_t> out;
  std::vector<int64_t> step;  // Elements of the input per index.
  int64_t inner = 1;
};

Axes AxesOf(const StepWriter& w) {
  const v1::Resize& op = w.op().resize();
  const std::vector<int64_t>& in = w.In(0).shape;
  const std::vector<int64_t>& out = w.Out(0).shape;
  Axes axes;
  for (size_t axis = 0; axis < in.size(); ++axis) {
    axes.taps.emplace_back(op, static_cast<int>(axis), in[axis], out[axis]);
  }
  size_t count = in.size();
  while (count > 0 && axes.taps[count - 1].identity())
    axes.inner *= in[--count];
  axes.taps.erase(axes.taps.begin() + static_cast<int64_t>(count),
                  axes.taps.end());
  axes.out.assign(out.begin(), out.begin() + static_cast<int64_t>(count));
  axes.step.resize(count);
  int64_t step = axes.inner;
  for (size_t axis = count; axis-- > 0; step *= in[axis])
    axes.step[axis] = step;
  return axes;
}

// Tables of one axis: where the taps of each position begin, their offsets and
// weights.
struct AxisTables {
  std::string begin, offset, weight;
};

AxisTables TablesOf(StepWriter& w, const Axes& axes, size_t axis,
                    bool weights) {
  std::vector<int32_t> begin{0};
  std::vector<int32_t> offset;
  std::vector<double> weight;
  for (int64_t i = 0; i < axes.out[axis]; ++i) {
    for (const ops::Tap& tap : axes.taps[axis].at(i)) {
      offset.push_back(static_cast<int32_t>(tap.index * axes.step[axis]));
      weight.push_back(tap.weight);
    }
    begin.push_back(static_cast<int32_t>(offset.size()));
  }
  AxisTables tables;
  tables.offset = w.Array(v1::INT32, offset);
  if (!weights) return tables;
  tables.begin = w.Array(v1::INT32, begin);
  tables.weight = w.Array(v1::FLOAT64, weight);
  return tables;
}

std::string Extrapolation(const StepWriter& w) {
  const double value = w.op().resize().extrapolation_value();
  return CDouble(value);
}

// `sum` as the element type: FromReal() of ops/resize.cc.
std::string FromReal(StepWriter& w, const std::string& value) {
  const v1::ElementType type = w.Out(0).type;
  const std::string t(CTypeOf(type));
  if (IsFloat(type)) return absl::StrCat("(", t, ")", value);
  CodeWriter& code = w.code();
  code.Line("const double rounded = ", w.Use("round"), "((double)", value,
            ");");
  switch (type) {
    case v1::INT64:
      return "!(rounded > -0x1p63) ? -9223372036854775807 - 1 : rounded >= "
             "0x1p63 ? 9223372036854775807 : (int64_t)rounded";
    case v1::UINT64:
      return "!(rounded > 0.0) ? 0 : rounded >= 0x1p64 ? "
             "18446744073709551615u : (uint64_t)rounded";
    case v1::UINT32:
      return "!(rounded > 0.0) ? 0 : rounded >= 4294967295.0 ? 4294967295u : "
             "(uint32_t)rounded";
    default: {
      const ops::QuantizedRange range =
          ops::RangeOf(type == v1::BOOL ? v1::UINT8 : type);
      return absl::StrCat("(", t, ")", w.Use("limited"), "(rounded, ",
                          CInteger(range.min), ", ", CInteger(range.max), ")");
    }
  }
}

// Sums over all combinations of taps, the last axis fastest, weights multiplied
// from the first axis to the last.
void EmitInterpolation(StepWriter& w) {
  const Axes axes = AxesOf(w);
  const std::string sum_type =
      w.Out(0).type == v1::FLOAT32 ? "float" : "double";
  std::vector<AxisTables> tables;
  for (size_t axis = 0; axis < axes.taps.size(); ++axis) {
    tables.push_back(TablesOf(w, axes, axis, true));
  }
  CodeWriter& code = w.code();
  const std::vector<int64_t> steps = ops::RowMajorSteps(axes.out);
  for (size_t axis = 0; axis < axes.out.size(); ++axis) {
    code.OpenLoop(absl::StrCat("i", axis), axes.out[axis]);
  }
  code.OpenLoop("c", axes.inner);
  code.Line(sum_type, " sum = 0;");
  if (w.op().resize().coordinates() == v1::Resize::TF_CROP_AND_RESIZE) {
    code.Line("int32_t reads = 0;");
  }
  std::string offset = "c";
  std::string weight = "1.0";
  for (size_t axis = 0; axis < axes.out.size(); ++axis) {
    const std::string k = absl::StrCat("k", axis);
    const std::string begin = absl::StrCat(tables[axis].begin, "[i", axis);
    code.Line("int32_t ", k, ";");
    code.Open("for (", k, " = ", begin, "]; ", k, " < ", begin, " + 1]; ++", k,
              ")");
    absl::StrAppend(&offset, " + ", tables[axis].offset, "[", k, "]");
    code.Line("const double w", axis, " = ", weight, " * ", tables[axis].weight,
              "[", k, "];");
    weight = absl::StrCat("w", axis);
  }
  code.OpenBlock();
  code.Line("const ", sum_type, " weight = (", sum_type, ")", weight, ";");
  code.Line("sum += weight * (", sum_type, ")", w.X(0), "[", offset, "];");
  const bool crops =
      w.op().resize().coordinates() == v1::Resize::TF_CROP_AND_RESIZE;
  if (crops) code.Line("++reads;");
  code.Close();
  CloseLoops(code, static_cast<int>(axes.out.size()));
  code.OpenBlock();
  const std::string value =
      crops
          ? absl::StrCat("(reads == 0 ? ", Extrapolation(w), " : (double)sum)")
          : "sum";
  const std::string result = FromReal(w, value);
  code.Line(w.Y(0), "[(", axes.out.empty() ? "0" : IndexOf(axes.out, steps),
            ") * ", axes.inner, " + c] = (", CTypeOf(w.Out(0).type), ")(",
            result, ");");
  code.Close();
  CloseLoops(code, static_cast<int>(axes.out.size()) + 1);
}

void EmitNearest(StepWriter& w) {
  const Axes axes = AxesOf(w);
  CodeWriter& code = w.code();
  std::string from = "c";
  for (size_t axis = 0; axis < axes.out.size(); ++axis) {
    absl::StrAppend(&from, " + ", TablesOf(w, axes, axis, false).offset, "[i",
                    axis, "]");
  }
  for (size_t axis = 0; axis < axes.out.size(); ++axis) {
    code.OpenLoop(absl::StrCat("i", axis), axes.out[axis]);
  }
  code.OpenLoop("c", axes.inner);
  code.Line(w.Y(0), "[(", IndexOf(axes.out, ops::RowMajorSteps(axes.out)),
            ") * ", axes.inner, " + c] = ", w.X(0), "[", from, "];");
  CloseLoops(code, static_cast<int>(axes.out.size()) + 1);
}

bool IsFixed(const StepWriter& w) {
  const v1::Resize& op = w.op().resize();
  const std::vector<int64_t>& in = w.In(0).shape;
  const std::vector<int64_t>& out = w.Out(0).shape;
  const bool coordinates = op.coordinates() == v1::Resize::HALF_PIXEL ||
                           op.coordinates() == v1::Resize::ASYMMETRIC ||
                           op.coordinates() == v1::Resize::ALIGN_CORNERS;
  return op.mode() == v1::Resize::LINEAR && w.In(0).quantization.has_value() &&
         coordinates && !op.antialias() && op.scale().empty() &&
         in.size() == 4 && in[0] == out[0] && in[3] == out[3];
}

// Low and high index and weight of each output position: FixedTaps of
// ops/resize.cc.
std::string FixedTable(StepWriter& w, int64_t in, int64_t out) {
  const v1::Resize& op = w.op().resize();
  std::vector<int32_t> table;
  const bool corners = op.coordinates() == v1::Resize::ALIGN_CORNERS && out > 1;
  const int64_t from = corners ? in - 1 : in;
  const int64_t to = corners ? out - 1 : out;
  const int64_t scale = (1024 * from + to / 2) / to;
  for (int64_t at = 0; at < out; ++at) {
    int64_t place = at * scale;
    if (op.coordinates() == v1::Resize::HALF_PIXEL) place += scale / 2 - 512;
    const int64_t low = std::min(std::max<int64_t>(place / 1024, 0), in - 1);
    table.push_back(static_cast<int32_t>(low));
    table.push_back(
        static_cast<int32_t>(std::min((place + 1023) / 1024, in - 1)));
    table.push_back(static_cast<int32_t>(place - 1024 * low));
  }
  return w.Array(v1::INT32, table);
}

void EmitFixed(StepWriter& w) {
  const std::vector<int64_t>& in = w.In(0).shape;
  const std::vector<int64_t>& out = w.Out(0).shape;
  const std::string rows = FixedTable(w, in[1], out[1]);
  const std::string columns = FixedTable(w, in[2], out[2]);
  const ops::QuantizedRange range = ops::RangeOf(w.Out(0).type);
  CodeWriter& code = w.code();
  code.OpenLoop("b", out[0]);
  code.OpenLoop("y", out[1]);
  code.OpenLoop("x", out[2]);
  code.Line("const int32_t *const r = ", rows, " + 3 * y;");
  code.Line("const int32_t *const q = ", columns, " + 3 * x;");
  code.OpenLoop("c", in[3]);
  const auto at = [&](const char* row, const char* column) {
    return absl::StrCat("(int64_t)", w.X(0), "[((b * ", in[1], " + ", row,
                        ") * ", in[2], " + ", column, ") * ", in[3], " + c]");
  };
  code.Line("const int64_t left = (1024 - r[2]) * ", at("r[0]", "q[0]"),
            " + r[2] * ", at("r[1]", "q[0]"), ";");
  code.Line("const int64_t right = (1024 - r[2]) * ", at("r[0]", "q[1]"),
            " + r[2] * ", at("r[1]", "q[1]"), ";");
  code.Line("const int64_t sum = (1024 - q[2]) * left + q[2] * right;");
  code.Line(w.Y(0), "[((b * ", out[1], " + y) * ", out[2], " + x) * ", in[3],
            " + c] = (", CTypeOf(w.Out(0).type), ")", w.Use("limit"),
            "((sum + 524288) >> 20, ", CInteger(range.min), ", ",
            CInteger(range.max), ");");
  CloseLoops(code, 4);
}

}  // namespace

absl::Status EmitResize(StepWriter& w) {
  const v1::Resize& op = w.op().resize();
  const bool crops = op.coordinates() == v1::Resize::TF_CROP_AND_RESIZE;
  if (op.mode() == v1::Resize::NEAREST && !crops) {
    EmitNearest(w);
  } else if (IsFixed(w)) {
    EmitFixed(w);
  } else {
    EmitInterpolation(w);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
