#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/strided_copy.h"
#include "ops/evaluate.h"
#include "ops/quantized_parameters.h"
#include "ops/strided_copy.h"

namespace edgekiln::compiler {
namespace {

using ops::RowMajorSteps;
using ops::StridedLoop;

void EmitTranspose(StepWriter& w) {
  const std::vector<int64_t> steps = RowMajorSteps(w.In(0).shape);
  std::vector<StridedLoop> loops;
  for (const int32_t from : w.op().transpose().permutation()) {
    loops.push_back({w.In(0).shape[from], steps[from]});
  }
  EmitStridedCopy(w.code(), w.X(0), 0, std::move(loops), w.Y(0));
}

void EmitSlice(StepWriter& w) {
  const v1::Slice& op = w.op().slice();
  const std::vector<int64_t> steps = RowMajorSteps(w.In(0).shape);
  int64_t first = 0;
  std::vector<StridedLoop> loops;
  for (int d = 0; d < op.begin_size(); ++d) {
    first += op.begin(d) * steps[d];
    loops.push_back({op.extent(d), op.stride(d) * steps[d]});
  }
  EmitStridedCopy(w.code(), w.X(0), first, std::move(loops), w.Y(0));
}

void EmitBroadcastTo(StepWriter& w) {
  EmitElementwise(w, 1, [](const OperandNames& x) { return x[0]; });
}

void EmitTile(StepWriter& w) {
  const std::vector<int64_t> steps = RowMajorSteps(w.In(0).shape);
  std::vector<StridedLoop> loops;
  for (size_t d = 0; d < steps.size(); ++d) {
    loops.push_back({w.Out(0).shape[d] / w.In(0).shape[d], 0});
    loops.push_back({w.In(0).shape[d], steps[d]});
  }
  EmitStridedCopy(w.code(), w.X(0), 0, std::move(loops), w.Y(0));
}

absl::Status EmitConcat(StepWriter& w) {
  const int32_t axis = w.op().concat().axis();
  const auto out = absl::MakeConstSpan(w.Out(0).shape);
  const int64_t inner = Product(out.subspan(axis + 1));
  const int64_t outer = Product(out.first(axis));
  const int64_t out_row = out[axis] * inner;
  CodeWriter& code = w.code();
  int64_t at = 0;
  for (size_t i = 0; i < w.inputs(); ++i) {
    const int64_t row = w.In(i).shape[axis] * inner;
    if (row == 0) continue;
    code.OpenLoop("o", outer);
    code.OpenLoop("i", row);
    const std::string x = absl::StrCat(w.X(i), "[o * ", row, " + i]");
    std::string value = x;
    if (!(w.InQuantization(i) == w.OutQuantization(0))) {
      EK_ASSIGN_OR_RETURN(
          const ops::RescaleParameters p,
          ops::ChangeOfScale({}, w.op().rounding(), w.InQuantization(i),
                             w.OutQuantization(0), w.Out(0).type));
      value = absl::StrCat(
          "(", CTypeOf(w.Out(0).type), ")",
          FinishCall(w, absl::StrCat(x, " - (", p.input_zero_point, ")"),
                     p.multiplier, p.output_zero_point, p.clamp));
    }
    code.Line(w.Y(0), "[o * ", out_row, " + ", at, " + i] = ", value, ";");
    CloseLoops(code, 2);
    at += row;
  }
  return absl::OkStatus();
}

// One element of padding, as the op itself makes it: padded by one on an empty
// tensor of one dimension.
absl::StatusOr<std::string> PaddingElement(StepWriter& w) {
  v1::OpAttributes op;
  v1::Pad& pad = *op.mutable_pad();
  pad.set_value(w.op().pad().value());
  pad.add_before(1);
  pad.add_after(0);
  const int64_t none[] = {0};
  const int64_t one[] = {1};
  uint64_t element = 0;
  ops::TensorView x = w.InView(0);
  x.shape = none;
  x.data = &element;
  const ops::MutableTensorView y{x.type, one, &element, x.quantization};
  EK_RETURN_IF_ERROR(ops::Evaluate(op, {&x, 1}, {&y, 1}));
  return std::string(reinterpret_cast<const char*>(&element),
                     static_cast<size_t>(ElementBytes(x.type)));
}

absl::Status EmitConstantPad(StepWriter& w) {
  const v1::Pad& pad = w.op().pad();
  EK_ASSIGN_OR_RETURN(const std::string element, PaddingElement(w));
  std::string value;
  AppendInitialiser(w.In(0).type, element, value);
  value = value.substr(2, value.find(',') - 2);
  CodeWriter& code = w.code();
  code.OpenLoop("i", w.Out(0).num_elements());
  code.Line(w.Y(0), "[i] = ", value, ";");
  code.Close();
  const std::vector<int64_t>& shape = w.In(0).shape;
  if (w.In(0).num_elements() == 0) return absl::OkStatus();
  const std::vector<int64_t> from = RowMajorSteps(shape);
  const std::vector<int64_t> to = RowMajorSteps(w.Out(0).shape);
  int64_t first = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    first += pad.before(static_cast<int>(d)) * to[d];
  }
  const int opened = OpenLoops(code, shape);
  code.Line(w.Y(0), "[", first, " + ", IndexOf(shape, to), "] = ", w.X(0), "[",
            IndexOf(shape, from), "];");
  CloseLoops(code, opened);
  return absl::OkStatus();
}

int64_t FloorModulo(int64_t value, int64_t period) {
  const int64_t rest = value % period;
  return rest < 0 ? rest + period : rest;
}

int64_t SourceOf(v1::Pad::Mode mode, int64_t position, int64_t extent) {
  switch (mode) {
    case v1::Pad::REFLECT: {
      if (extent == 1) return 0;
      const int64_t at = FloorModulo(position, 2 * (extent - 1));
      return std::min(at, 2 * (extent - 1) - at);
    }
    case v1::Pad::SYMMETRIC: {
      const int64_t at = FloorModulo(position, 2 * extent);
      return std::min(at, 2 * extent - 1 - at);
    }
    case v1::Pad::WRAP:
      return FloorModulo(position, extent);
    default:
      return std::min(std::max<int64_t>(position, 0), extent - 1);
  }
}

// Where each position along each axis comes from: a table per axis.
void EmitCopyingPad(StepWriter& w) {
  const v1::Pad& pad = w.op().pad();
  const std::vector<int64_t>& shape = w.In(0).shape;
  const std::vector<int64_t>& out = w.Out(0).shape;
  const std::vector<int64_t> steps = RowMajorSteps(shape);
  CodeWriter& code = w.code();
  std::string from = "0";
  for (size_t d = 0; d < shape.size(); ++d) {
    const int64_t before = pad.before(static_cast<int>(d));
    if (out[d] == 1) continue;
    std::vector<int32_t> table;
    for (int64_t i = 0; i < out[d]; ++i) {
      table.push_back(static_cast<int32_t>(
          SourceOf(pad.mode(), i - before, shape[d]) * steps[d]));
    }
    absl::StrAppend(&from, " + ", w.Array(v1::INT32, table), "[i", d, "]");
  }
  const int opened = OpenLoops(code, out);
  code.Line(w.Y(0), "[", IndexOf(out, RowMajorSteps(out)), "] = ", w.X(0), "[",
            from, "];");
  CloseLoops(code, opened);
}

void EmitReshape(StepWriter& w) {
  w.code().OpenLoop("i", w.Out(0).num_elements());
  w.code().Line(w.Y(0), "[i] = ", w.X(0), "[i];");
  w.code().Close();
}

}  // namespace

absl::Status EmitMovement(StepWriter& w) {
  switch (w.op().op_case()) {
    case v1::OpAttributes::kReshape:
      EmitReshape(w);
      break;
    case v1::OpAttributes::kTranspose:
      EmitTranspose(w);
      break;
    case v1::OpAttributes::kSlice:
      EmitSlice(w);
      break;
    case v1::OpAttributes::kBroadcastTo:
      EmitBroadcastTo(w);
      break;
    case v1::OpAttributes::kTile:
      EmitTile(w);
      break;
    case v1::OpAttributes::kConcat:
      return EmitConcat(w);
    default:
      if (w.op().pad().mode() == v1::Pad::CONSTANT) return EmitConstantPad(w);
      EmitCopyingPad(w);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
