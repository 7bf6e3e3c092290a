#include <algorithm>
#include <string>
#include <vector>

#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "ops/strided_copy.h"

// Ops whose indices are data: each is checked where it is read, and the layer
// fails as the interpreter does.
namespace edgekiln::compiler {
namespace {

using ops::RowMajorSteps;

// Declares `name`, a checked position along an axis of `extent` elements.
void EmitPosition(StepWriter& w, const std::string& name,
                  const std::string& index, int64_t extent) {
  CodeWriter& code = w.code();
  code.Line("int64_t ", name, " = ", index, ";");
  code.Line("if (", name, " < -", extent, " || ", name, " >= ", extent,
            ") return 1;");
  code.Line("if (", name, " < 0) ", name, " += ", extent, ";");
  w.SetCanFail();
}

// Declares `at`, where the slice that tuple `k` names begins.
void EmitOffset(StepWriter& w, const std::string& k, int64_t length,
                absl::Span<const int64_t> shape,
                const std::vector<int64_t>& steps) {
  CodeWriter& code = w.code();
  code.Line("int32_t at = 0;");
  for (int64_t d = 0; d < length; ++d) {
    code.OpenBlock();
    EmitPosition(w, "p",
                 absl::StrCat(w.X(1), "[", k, " * ", length, " + ", d, "]"),
                 shape[d]);
    code.Line("at += (int32_t)p * ", steps[d], ";");
    code.Close();
  }
}

void EmitGather(StepWriter& w) {
  const v1::Gather& op = w.op().gather();
  const auto x = absl::MakeConstSpan(w.In(0).shape);
  const auto indices = absl::MakeConstSpan(w.In(1).shape);
  const int64_t extent = x[op.axis()];
  const int64_t batches = Product(x.first(op.batch_dims()));
  const int64_t outer =
      Product(x.subspan(op.batch_dims(), op.axis() - op.batch_dims()));
  const int64_t picks = Product(indices.subspan(op.batch_dims()));
  const int64_t run = Product(x.subspan(op.axis() + 1));
  CodeWriter& code = w.code();
  code.OpenLoop("b", batches);
  code.OpenLoop("o", outer);
  code.OpenLoop("k", picks);
  EmitPosition(w, "at", absl::StrCat(w.X(1), "[b * ", picks, " + k]"), extent);
  code.OpenLoop("i", run);
  code.Line(w.Y(0), "[((b * ", outer, " + o) * ", picks, " + k) * ", run,
            " + i] = ", w.X(0), "[((b * ", outer, " + o) * ", extent,
            " + (int32_t)at) * ", run, " + i];");
  CloseLoops(code, 4);
}

// The index of an element of `shape` with position `at` along `axis`.
std::string WithAxis(absl::Span<const int64_t> shape,
                     const std::vector<int64_t>& steps, int32_t axis) {
  std::vector<int64_t> extents(shape.begin(), shape.end());
  extents[axis] = 1;
  return absl::StrCat(IndexOf(extents, steps), " + (int32_t)at * ",
                      steps[axis]);
}

void EmitGatherElements(StepWriter& w) {
  const int32_t axis = w.op().gather_elements().axis();
  const std::vector<int64_t>& out = w.Out(0).shape;
  const std::string i = IndexOf(out, RowMajorSteps(out));
  CodeWriter& code = w.code();
  const int opened = OpenLoops(code, out);
  EmitPosition(w, "at", absl::StrCat(w.X(1), "[", i, "]"), w.In(0).shape[axis]);
  code.Line(w.Y(0), "[", i, "] = ", w.X(0), "[",
            WithAxis(out, RowMajorSteps(w.In(0).shape), axis), "];");
  CloseLoops(code, opened);
}

void EmitGatherNd(StepWriter& w) {
  const int64_t batch_dims = w.op().gather_nd().batch_dims();
  const auto x = absl::MakeConstSpan(w.In(0).shape);
  const auto indices = absl::MakeConstSpan(w.In(1).shape);
  const auto rest = x.subspan(batch_dims);
  const int64_t batches = Product(x.first(batch_dims));
  const int64_t picks =
      Product(indices.subspan(batch_dims, indices.size() - 1 - batch_dims));
  const int64_t length = indices.back();
  const int64_t run = Product(rest.subspan(length));
  CodeWriter& code = w.code();
  code.OpenLoop("b", batches);
  code.OpenLoop("k", picks);
  EmitOffset(w, absl::StrCat("(b * ", picks, " + k)"), length, rest,
             RowMajorSteps(rest));
  code.OpenLoop("i", run);
  code.Line(w.Y(0), "[(b * ", picks, " + k) * ", run, " + i] = ", w.X(0),
            "[b * ", Product(rest), " + at + i];");
  CloseLoops(code, 3);
}

std::string Reduced(v1::ScatterReduction reduction, v1::ElementType type,
                    const std::string& there, const std::string& value) {
  const std::string t(CTypeOf(type));
  const std::string wrap = IsFloat(type)             ? "(" + t + ")"
                           : ElementBytes(type) == 8 ? "(uint64_t)"
                                                     : "(uint32_t)";
  const std::string nan =
      IsFloat(type) ? absl::StrCat(" || ", value, " != ", value) : "";
  switch (reduction) {
    case v1::SCATTER_ADD:
      return absl::StrCat("(", t, ")(", wrap, there, " + ", wrap, value, ")");
    case v1::SCATTER_MUL:
      return absl::StrCat("(", t, ")(", wrap, there, " * ", wrap, value, ")");
    case v1::SCATTER_MAX:
      return absl::StrCat(value, " > ", there, nan, " ? ", value, " : ", there);
    case v1::SCATTER_MIN:
      return absl::StrCat(value, " < ", there, nan, " ? ", value, " : ", there);
    default:
      return value;
  }
}

void EmitStartCopy(StepWriter& w) {
  CodeWriter& code = w.code();
  code.OpenLoop("i", w.Out(0).num_elements());
  code.Line(w.Y(0), "[i] = ", w.X(0), "[i];");
  code.Close();
}

void EmitScatterElements(StepWriter& w) {
  const v1::ScatterElements& op = w.op().scatter_elements();
  const std::vector<int64_t>& indices = w.In(1).shape;
  const std::vector<int64_t>& out = w.Out(0).shape;
  EmitStartCopy(w);
  if (w.In(1).num_elements() == 0) return;
  CodeWriter& code = w.code();
  const std::string i = IndexOf(indices, RowMajorSteps(indices));
  const int opened = OpenLoops(code, indices);
  EmitPosition(w, "at", absl::StrCat(w.X(1), "[", i, "]"), out[op.axis()]);
  code.Line("const int32_t to = ",
            WithAxis(indices, RowMajorSteps(out), op.axis()), ";");
  code.Line("const ", CTypeOf(w.Out(0).type), " value = ", w.X(2), "[", i,
            "];");
  code.Line(w.Y(0), "[to] = ",
            Reduced(op.reduction(), w.Out(0).type, absl::StrCat(w.Y(0), "[to]"),
                    "value"),
            ";");
  CloseLoops(code, opened);
}

void EmitScatterNd(StepWriter& w) {
  const std::vector<int64_t>& indices = w.In(1).shape;
  const auto out = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t length = indices.back();
  const int64_t tuples =
      Product(absl::MakeConstSpan(indices).first(indices.size() - 1));
  const int64_t run = Product(out.subspan(length));
  EmitStartCopy(w);
  if (tuples * run == 0) return;
  CodeWriter& code = w.code();
  code.OpenLoop("k", tuples);
  EmitOffset(w, "k", length, out, RowMajorSteps(out));
  code.OpenLoop("i", run);
  code.Line("const ", CTypeOf(w.Out(0).type), " value = ", w.X(2), "[k * ", run,
            " + i];");
  code.Line(w.Y(0), "[at + i] = ",
            Reduced(w.op().scatter_nd().reduction(), w.Out(0).type,
                    absl::StrCat(w.Y(0), "[at + i]"), "value"),
            ";");
  CloseLoops(code, 2);
}

void EmitReverseSequence(StepWriter& w) {
  const v1::ReverseSequence& op = w.op().reverse_sequence();
  const auto shape = absl::MakeConstSpan(w.Out(0).shape);
  const std::vector<int64_t> steps = RowMajorSteps(shape);
  const int64_t time = shape[op.time_axis()];
  const size_t inner =
      static_cast<size_t>(std::max(op.batch_axis(), op.time_axis()) + 1);
  const int64_t run = Product(shape.subspan(inner));
  CodeWriter& code = w.code();
  code.OpenLoop("r", Product(shape.first(inner)));
  code.Line("const int32_t to = r * ", run, ";");
  code.Line("const int32_t b = to / ", steps[op.batch_axis()], " % ",
            shape[op.batch_axis()], ";");
  code.Line("const int32_t t = to / ", steps[op.time_axis()], " % ", time, ";");
  code.Line("const int64_t length = ", w.X(1), "[b];");
  code.Line("int32_t from = to;");
  code.Line("if (length < 0 || length > ", time, ") return 1;");
  code.Line("if (t < length) from += ((int32_t)length - 1 - 2 * t) * ",
            steps[op.time_axis()], ";");
  code.OpenLoop("i", run);
  code.Line(w.Y(0), "[to + i] = ", w.X(0), "[from + i];");
  CloseLoops(code, 2);
  w.SetCanFail();
}

}  // namespace

absl::Status EmitIndexed(StepWriter& w) {
  switch (w.op().op_case()) {
    case v1::OpAttributes::kGather:
      EmitGather(w);
      break;
    case v1::OpAttributes::kGatherElements:
      EmitGatherElements(w);
      break;
    case v1::OpAttributes::kGatherNd:
      EmitGatherNd(w);
      break;
    case v1::OpAttributes::kScatterElements:
      EmitScatterElements(w);
      break;
    case v1::OpAttributes::kScatterNd:
      EmitScatterNd(w);
      break;
    default:
      EmitReverseSequence(w);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
