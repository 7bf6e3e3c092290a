#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "ops/families.h"
#include "ops/float16.h"
#include "ops/kernels.h"
#include "ops/rules.h"

// Cells that carry a state from step to step. Their element types are
// recurrent_types.cc's.
namespace edgekiln::ops {
namespace {

// Input `index` has this shape; it may be absent if it is `optional`.
absl::Status WantShape(Views inputs, size_t index, const Shape& shape,
                       bool optional) {
  const TensorView input = InputOr(inputs, index);
  if (!input.present() && optional) return absl::OkStatus();
  if (input.present() && input.shape == absl::MakeConstSpan(shape)) {
    return absl::OkStatus();
  }
  return BadShape(
      input.present()
          ? absl::StrCat("input ", index, " of shape ", ShapeText(input.shape))
          : absl::StrCat("input ", index, " is missing"),
      ShapeText(shape));
}

// Extents of an LSTM, GRU or RNN, from x [T,N,I] and its initial states.
struct CellShape {
  int64_t steps, batch, input, hidden, outputs;
};

absl::StatusOr<CellShape> CellShapeOf(Views inputs, size_t state, size_t cell,
                                      int64_t gates) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 3));
  EK_RETURN_IF_ERROR(WantRank(inputs, 0, 3));
  for (const size_t i : {state, cell}) {
    if (!InputOr(inputs, i).present()) {
      return BadShape(absl::StrCat("input ", i, " is missing"),
                      "an initial state");
    }
    EK_RETURN_IF_ERROR(WantRank(inputs, i, 2));
  }
  const CellShape s{inputs[0].shape[0], inputs[0].shape[1], inputs[0].shape[2],
                    inputs[cell].shape[1], inputs[state].shape[1]};
  const int64_t rows = gates * s.hidden;
  EK_RETURN_IF_ERROR(WantShape(inputs, 1, {rows, s.input}, false));
  EK_RETURN_IF_ERROR(WantShape(inputs, 2, {rows, s.outputs}, false));
  EK_RETURN_IF_ERROR(WantShape(inputs, state, {s.batch, s.outputs}, false));
  EK_RETURN_IF_ERROR(WantShape(inputs, cell, {s.batch, s.hidden}, false));
  return s;
}

absl::StatusOr<std::vector<Shape>> LstmShapes(Views inputs) {
  EK_ASSIGN_OR_RETURN(const CellShape s, CellShapeOf(inputs, 5, 6, 4));
  EK_RETURN_IF_ERROR(WantShape(inputs, 3, {4 * s.hidden}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 4, {s.batch}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 7, {3 * s.hidden}, true));
  EK_RETURN_IF_ERROR(
      WantShape(inputs, 8, {s.outputs, s.hidden}, s.outputs == s.hidden));
  EK_RETURN_IF_ERROR(WantShape(inputs, 9, {s.outputs}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 10, {4 * s.hidden}, true));
  return std::vector<Shape>{
      {s.steps, s.batch, s.outputs}, {s.batch, s.outputs}, {s.batch, s.hidden}};
}

absl::StatusOr<std::vector<Shape>> GruShapes(Views inputs) {
  EK_ASSIGN_OR_RETURN(const CellShape s, CellShapeOf(inputs, 6, 6, 3));
  EK_RETURN_IF_ERROR(WantShape(inputs, 3, {3 * s.hidden}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 4, {3 * s.hidden}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 5, {s.batch}, true));
  return std::vector<Shape>{{s.steps, s.batch, s.hidden}, {s.batch, s.hidden}};
}

absl::StatusOr<std::vector<Shape>> RnnShapes(Views inputs) {
  EK_ASSIGN_OR_RETURN(const CellShape s, CellShapeOf(inputs, 6, 6, 1));
  EK_RETURN_IF_ERROR(WantShape(inputs, 3, {s.hidden}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 4, {s.hidden}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 5, {s.batch}, true));
  return std::vector<Shape>{{s.steps, s.batch, s.hidden}, {s.batch, s.hidden}};
}

absl::StatusOr<std::vector<Shape>> SvdfShapes(const v1::Svdf& op,
                                              Views inputs) {
  EK_RETURN_IF_ERROR(WantInputs(inputs, 3));
  for (const size_t i : {0, 1, 2}) {
    EK_RETURN_IF_ERROR(WantRank(inputs, i, 2));
  }
  const int64_t batch = inputs[0].shape[0];
  const int64_t filters = inputs[1].shape[0];
  const int64_t memory = inputs[2].shape[1];
  if (op.rank() < 1 || filters % op.rank() != 0 || memory < 1) {
    return BadShape(absl::StrCat(filters, " filters of rank ", op.rank(),
                                 " over ", memory, " steps"),
                    "filters that divide into units, and steps");
  }
  EK_RETURN_IF_ERROR(
      WantShape(inputs, 1, {filters, inputs[0].shape[1]}, false));
  EK_RETURN_IF_ERROR(WantShape(inputs, 2, {filters, memory}, false));
  EK_RETURN_IF_ERROR(WantShape(inputs, 3, {filters / op.rank()}, true));
  EK_RETURN_IF_ERROR(WantShape(inputs, 4, {batch, filters * memory}, false));
  return std::vector<Shape>{{batch, filters / op.rank()},
                            {batch, filters * memory}};
}

}  // namespace

absl::StatusOr<std::vector<Shape>> InferRecurrent(const v1::OpAttributes& op,
                                                  Views inputs) {
  switch (op.op_case()) {
    case v1::OpAttributes::kLstm:
      return LstmShapes(inputs);
    case v1::OpAttributes::kGru:
      return GruShapes(inputs);
    case v1::OpAttributes::kRnn:
      return RnnShapes(inputs);
    case v1::OpAttributes::kSvdf:
      return SvdfShapes(op.svdf(), inputs);
    default:
      return NoSuchOp(op);
  }
}

absl::Status ComputeRecurrent(const v1::OpAttributes& op, Inputs inputs,
                              Outputs outputs, CpuPath path) {
  if (outputs[0].type == v1::FLOAT16) {
    return ComputeInFloat(inputs, outputs, [&](Inputs from, Outputs to) {
      return ComputeRecurrent(op, from, to, path);
    });
  }
  switch (op.op_case()) {
    case v1::OpAttributes::kLstm:
      if (outputs[0].type == v1::INT8) {
        return LstmInteger(op.lstm(), inputs, outputs);
      }
      if (outputs[0].type == v1::INT16) {
        return LstmInt16(op.lstm(), inputs, outputs);
      }
      return Lstm(op.lstm(), inputs, outputs, path);
    case v1::OpAttributes::kGru:
      return Gru(op.gru(), inputs, outputs, path);
    case v1::OpAttributes::kRnn:
      return Rnn(op.rnn(), inputs, outputs, path);
    case v1::OpAttributes::kSvdf:
      if (outputs[0].type == v1::INT8) {
        return SvdfInteger(op.svdf(), inputs, outputs);
      }
      return Svdf(op.svdf(), inputs, outputs, path);
    default:
      return NoSuchOp(op);
  }
}

}  // namespace edgekiln::ops
