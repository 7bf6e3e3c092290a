#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/testing/op_maker.h"

// Recurrent cells.
namespace edgekiln::compiler {

v1::CellActivation OpMaker::RandomActivation() {
  v1::CellActivation activation;
  static constexpr v1::Unary::Function kFunctions[] = {
      v1::Unary::SIGMOID, v1::Unary::TANH, v1::Unary::SOFTSIGN,
      v1::Unary::HARD_SIGMOID, v1::Unary::ELU};
  switch (Below(3)) {
    case 0:
      activation.set_relu(true);
      break;
    case 1:
      activation.set_identity(true);
      break;
    default:
      activation.mutable_function()->set_function(kFunctions[Below(5)]);
      activation.mutable_function()->set_alpha(0.5f);
      activation.mutable_function()->set_beta(0.25f);
  }
  return activation;
}

bool OpMaker::MakeRecurrent(const std::string& kind) {
  if (kind == "lstm") {
    MakeLstm();
  } else if (kind == "gru" || kind == "rnn") {
    MakeGruOrRnn(kind == "gru");
  } else if (kind == "svdf") {
    MakeSvdf();
  } else {
    return false;
  }
  return true;
}

void OpMaker::MakeGruOrRnn(bool gru) {
  const int64_t steps = 1 + Below(4), batch = 1 + Below(2);
  const int64_t depth = 1 + Below(3), h = 1 + Below(4);
  const int64_t rows = gru ? 3 * h : h;
  if (gru) {
    v1::Gru& op = *op_.mutable_gru();
    op.set_reverse(OneOf(2));
    op.set_linear_before_reset(OneOf(2));
    if (OneOf(2)) op.set_clip(0.8f);
    if (OneOf(2)) *op.mutable_gate() = RandomActivation();
    if (OneOf(2)) *op.mutable_hidden() = RandomActivation();
  } else {
    v1::Rnn& op = *op_.mutable_rnn();
    op.set_reverse(OneOf(2));
    if (OneOf(2)) op.set_clip(0.8f);
    if (OneOf(2)) *op.mutable_hidden() = RandomActivation();
  }
  const TensorId lengths =
      OneOf(2) ? kNoTensor
               : InputOf({batch}, v1::INT32, false, absl::StrCat("n#", steps));
  const TensorId x = Input({steps, batch, depth});
  const auto constant = [&](Shape shape) {
    return ConstantOf(std::move(shape), type_, quantized_);
  };
  Emit({x, constant({rows, depth}), constant({rows, h}),
        OneOf(2) ? kNoTensor : constant({rows}),
        OneOf(2) ? kNoTensor : constant({rows}), lengths, Input({batch, h})});
}

void OpMaker::MakeLstm() {
  const int64_t steps = 1 + Below(4), batch = 1 + Below(2);
  const int64_t depth = 1 + Below(3), h = 1 + Below(4);
  const bool projects = OneOf(3);
  const int64_t p = projects ? 1 + Below(4) : h;
  v1::Lstm& op = *op_.mutable_lstm();
  op.set_reverse(OneOf(2));
  op.set_coupling(static_cast<v1::Lstm::Coupling>(Below(3)));
  const bool real = !quantized_;
  if (real && OneOf(3)) op.set_clip(0.8f);
  if (OneOf(3)) op.set_cell_clip(0.7f);
  if (projects && OneOf(2)) op.set_projection_clip(0.6f);
  if (real && OneOf(3)) *op.mutable_gate() = RandomActivation();
  if (real && OneOf(3)) *op.mutable_cell() = RandomActivation();
  if (real && OneOf(3)) *op.mutable_hidden() = RandomActivation();
  const bool bytes = quantized_ && type_ == v1::INT8;
  const auto constant = [&](Shape shape, v1::ElementType type, bool quantized) {
    const TensorId id = ConstantOf(std::move(shape), type, quantized);
    if (quantized) Of(id).quantization->zero_point[0] = 0;
    return id;
  };
  const v1::ElementType weights = quantized_ ? v1::INT8 : type_;
  const v1::ElementType vectors = quantized_ ? v1::INT16 : type_;
  const v1::ElementType bias = bytes        ? v1::INT32
                               : quantized_ ? v1::INT64
                                            : type_;
  const TensorId x = Input({steps, batch, depth});
  const TensorId state = Input({batch, p});
  const TensorId cell =
      InputOf({batch, h}, quantized_ ? v1::INT16 : type_, quantized_);
  if (quantized_) Of(cell).quantization->scale = {1.0f / 2048};
  const bool norm = OneOf(4) && !(quantized_ && !bytes);
  if (quantized_ && norm) {
    for (int g = 0; g < 4; ++g) {
      v1::Quantization& q = *op.add_intermediate();
      q.add_scale(0.002f * static_cast<float>(1 + Below(4)));
      q.add_zero_point(0);
    }
    v1::Quantization& q = *op.add_intermediate();
    if (projects) {
      q.add_scale(0.008f);
      q.add_zero_point(static_cast<int32_t>(Below(20)) - 10);
    }
  }
  std::vector<TensorId> inputs{
      x,
      constant({4 * h, depth}, weights, quantized_),
      constant({4 * h, p}, weights, quantized_),
      OneOf(3) ? kNoTensor : constant({4 * h}, bias, false),
      OneOf(2) ? kNoTensor
               : InputOf({batch}, v1::INT32, false, absl::StrCat("n#", steps)),
      state,
      cell,
      OneOf(3) ? constant({3 * h}, vectors, quantized_) : kNoTensor,
      projects ? constant({p, h}, weights, quantized_) : kNoTensor,
      projects && OneOf(2)
          ? constant({p}, quantized_ ? v1::INT32 : type_, false)
          : kNoTensor,
      norm ? constant({4 * h}, vectors, quantized_) : kNoTensor};
  EmitShaped(std::move(inputs), {{steps, batch, p}, {batch, p}, {batch, h}}, 0,
             type_);
  if (!quantized_) return;
  const std::vector<TensorId> out = graph_.ops.back().outputs;
  SameQuantization(state, out[0]);
  SameQuantization(state, out[1]);
  Of(out[2]).type = v1::INT16;
  SameQuantization(cell, out[2]);
}

void OpMaker::MakeSvdf() {
  const int64_t batch = 1 + Below(2), depth = 1 + Below(4);
  const int64_t rank = 1 + Below(2), units = 1 + Below(3);
  const int64_t filters = rank * units, memory = 1 + Below(4);
  op_.mutable_svdf()->set_rank(static_cast<int32_t>(rank));
  if (OneOf(2)) RandomClamp(op_.mutable_svdf()->mutable_clamp());
  const v1::ElementType state_type = quantized_ && OneOf(2) ? v1::INT16 : type_;
  const auto constant = [&](Shape shape, v1::ElementType type) {
    const TensorId id = ConstantOf(std::move(shape), type, quantized_);
    if (quantized_) Of(id).quantization->zero_point[0] = 0;
    return id;
  };
  const TensorId x = Input({batch, depth});
  const TensorId state =
      InputOf({batch, filters * memory}, state_type, quantized_);
  EmitShaped(
      {x, constant({filters, depth}, type_),
       constant({filters, memory}, state_type),
       OneOf(2) ? kNoTensor
                : ConstantOf({units}, quantized_ ? v1::INT32 : type_, false),
       state},
      {{batch, units}, {batch, filters * memory}}, 0, type_);
  const TensorId next = graph_.ops.back().outputs[1];
  Of(next).type = state_type;
  SameQuantization(state, next);
  // What it keeps is a state of the graph; its output becomes one in Take().
  graph_.states.push_back({state, next});
}

}  // namespace edgekiln::compiler
