#include <string>

#include "compiler/codegen/c/cell_writer.h"
#include "compiler/codegen/c/emit_common.h"
#include "compiler/codegen/c/emitters.h"
#include "compiler/codegen/c/float_lstm.h"
#include "ops/quantized_parameters.h"

// GRU, RNN and SVDF; LSTMs are in files of their own.
namespace edgekiln::compiler {
namespace {

// Declares `name`: the product of `depth` values of `x` and of a row of `w`.
void EmitDotRow(CodeWriter& code, const std::string& type,
                const std::string& name, const std::string& x,
                const std::string& row, int64_t depth) {
  code.Line(type, " ", name, " = 0;");
  code.OpenLoop("k", depth);
  code.Line(name, " += (", x, ")[k] * (", row, ")[k];");
  code.Close();
}

void EmitRnn(StepWriter& w) {
  const v1::Rnn& op = w.op().rnn();
  const int64_t steps = w.In(0).shape[0], batch = w.In(0).shape[1];
  const int64_t depth = w.In(0).shape[2], hidden = w.In(6).shape[1];
  const v1::ElementType type = w.Out(0).type;
  const std::string t(CTypeOf(type));
  const std::string state = w.Scratch(type, batch * hidden);
  const std::string next = w.Scratch(type, hidden);
  CodeWriter& code = w.code();
  EmitCopy(code, w.X(6), state, batch * hidden);
  code.OpenLoop("e", steps * batch * hidden);
  code.Line(w.Y(0), "[e] = 0;");
  code.Close();
  OpenSteps(w, steps, batch, op.reverse(), 5);
  code.Line(t, " *const h = ", state, " + n * ", hidden, ";");
  code.OpenLoop("u", hidden);
  EmitDotRow(code, t, "a",
             absl::StrCat(w.X(0), " + (t * ", batch, " + n) * ", depth),
             absl::StrCat(w.X(1), " + u * ", depth), depth);
  EmitDotRow(code, t, "r", "h", absl::StrCat(w.X(2), " + u * ", hidden),
             hidden);
  code.Line("a = a + r;");
  for (const size_t bias : {3, 4}) {
    code.Line("a += ", w.Has(bias) ? absl::StrCat(w.X(bias), "[u]") : "0", ";");
  }
  EmitBounded(w, type, "a", op.clip());
  code.OpenBlock();
  code.Line("const double x = (double)a;");
  code.Line(next, "[u] = (", t, ")(",
            ActivationOf(w, op.hidden(), op.has_hidden(), v1::Unary::TANH, "x"),
            ");");
  code.Close();
  code.Close();
  code.OpenLoop("u", hidden);
  code.Line("h[u] = ", next, "[u];");
  code.Line(w.Y(0), "[(t * ", batch, " + n) * ", hidden, " + u] = h[u];");
  CloseLoops(code, 3);
  if (w.outputs() > 1) EmitCopy(code, state, w.Y(1), batch * hidden);
}

// The sums of the input and of the state for update and reset, then the
// candidate: ops/gru.cc.
void EmitGru(StepWriter& w) {
  const v1::Gru& op = w.op().gru();
  const int64_t steps = w.In(0).shape[0], batch = w.In(0).shape[1];
  const int64_t depth = w.In(0).shape[2], h = w.In(6).shape[1];
  const v1::ElementType type = w.Out(0).type;
  const std::string t(CTypeOf(type));
  const std::string state = w.Scratch(type, batch * h);
  const std::string gates = w.Scratch(type, 2 * h);
  const std::string candidate = w.Scratch(type, h);
  const auto bias = [&](size_t i, const std::string& at) {
    return w.Has(i) ? absl::StrCat(w.X(i), "[", at, "]") : std::string("0");
  };
  CodeWriter& code = w.code();
  EmitCopy(code, w.X(6), state, batch * h);
  code.OpenLoop("e", steps * batch * h);
  code.Line(w.Y(0), "[e] = 0;");
  code.Close();
  OpenSteps(w, steps, batch, op.reverse(), 5);
  code.Line(t, " *const s = ", state, " + n * ", h, ";");
  const std::string x =
      absl::StrCat(w.X(0), " + (t * ", batch, " + n) * ", depth);
  code.OpenLoop("u", 2 * h);
  EmitDotRow(code, t, "a", x, absl::StrCat(w.X(1), " + u * ", depth), depth);
  EmitDotRow(code, t, "r", "s", absl::StrCat(w.X(2), " + u * ", h), h);
  code.Line("a = ((a + r) + ", bias(3, "u"), ") + ", bias(4, "u"), ";");
  EmitBounded(w, type, "a", op.clip());
  code.OpenBlock();
  code.Line("const double x = (double)a;");
  code.Line(gates, "[u] = (", t, ")(",
            ActivationOf(w, op.gate(), op.has_gate(), v1::Unary::SIGMOID, "x"),
            ");");
  code.Close();
  code.Close();
  const std::string reset = absl::StrCat(gates, "[", h, " + u]");
  if (!op.linear_before_reset()) {
    code.OpenLoop("u", h);
    code.Line(reset, " *= s[u];");
    code.Close();
  }
  code.OpenLoop("u", h);
  const std::string fresh = absl::StrCat(w.X(2), " + (", 2 * h, " + u) * ", h);
  EmitDotRow(code, t, "r",
             op.linear_before_reset() ? "s" : absl::StrCat(gates, " + ", h),
             fresh, h);
  code.Line(candidate,
            "[u] = ", op.linear_before_reset() ? reset + " * (r + " : "r + ",
            bias(4, absl::StrCat(2 * h, " + u")),
            op.linear_before_reset() ? ");" : ";");
  code.Close();
  code.OpenLoop("u", h);
  EmitDotRow(code, t, "a", x,
             absl::StrCat(w.X(1), " + (", 2 * h, " + u) * ", depth), depth);
  code.Line("a = (a + ", candidate, "[u]) + ",
            bias(3, absl::StrCat(2 * h, " + u")), ";");
  EmitBounded(w, type, "a", op.clip());
  code.OpenBlock();
  code.Line("const double x = (double)a;");
  code.Line("const double fresh = (", t, ")(",
            ActivationOf(w, op.hidden(), op.has_hidden(), v1::Unary::TANH, "x"),
            ");");
  code.Line("const double kept = ", gates, "[u];");
  code.Line("s[u] = (", t, ")((1 - kept) * fresh + kept * (double)s[u]);");
  code.Close();
  code.Line(w.Y(0), "[(t * ", batch, " + n) * ", h, " + u] = s[u];");
  CloseLoops(code, 3);
  if (w.outputs() > 1) EmitCopy(code, state, w.Y(1), batch * h);
}

// The oldest step of each filter falls out, the new one comes last.
void EmitShiftedState(StepWriter& w, const std::string& state, int64_t filters,
                      int64_t memory) {
  CodeWriter& code = w.code();
  code.OpenLoop("i", w.In(0).shape[0] * filters);
  code.OpenLoop("m", memory - 1);
  code.Line(state, "[i * ", memory, " + m] = ", w.X(4), "[i * ", memory,
            " + m + 1];");
  code.Close();
}

void EmitRealSvdf(StepWriter& w) {
  const v1::Svdf& op = w.op().svdf();
  const int64_t batch = w.In(0).shape[0], input = w.In(0).shape[1];
  const int64_t filters = w.In(1).shape[0], memory = w.In(2).shape[1];
  const int64_t units = filters / op.rank();
  const v1::ElementType type = w.Out(0).type;
  const std::string t(CTypeOf(type));
  const std::string state = w.Scratch(type, batch * filters * memory);
  CodeWriter& code = w.code();
  EmitShiftedState(w, state, filters, memory);
  EmitDotRow(code, t, "fresh",
             absl::StrCat(w.X(0), " + i / ", filters, " * ", input),
             absl::StrCat(w.X(1), " + i % ", filters, " * ", input), input);
  code.Line(state, "[i * ", memory, " + ", memory - 1, "] = fresh;");
  code.Close();
  code.OpenLoop("i", batch * units);
  code.Line(t, " sum = 0;");
  code.OpenLoop("r", op.rank());
  code.Line("const int32_t filter = i % ", units, " * ", op.rank(), " + r;");
  EmitDotRow(code, t, "dot",
             absl::StrCat(state, " + (i / ", units, " * ", filters,
                          " + filter) * ", memory),
             absl::StrCat(w.X(2), " + filter * ", memory), memory);
  code.Line("sum += dot;");
  code.Close();
  if (w.Has(3)) code.Line("sum += ", w.X(3), "[i % ", units, "];");
  EmitRealClamp(w, type, op.clamp(), "sum");
  code.Line(w.Y(0), "[i] = sum;");
  code.Close();
  if (w.outputs() > 1) EmitCopy(code, state, w.Y(1), batch * filters * memory);
}

void EmitIntegerSvdf(StepWriter& w) {
  const v1::Svdf& op = w.op().svdf();
  const int64_t batch = w.In(0).shape[0], input = w.In(0).shape[1];
  const int64_t filters = w.In(1).shape[0], memory = w.In(2).shape[1];
  const int64_t units = filters / op.rank();
  const v1::ElementType type = w.In(4).type;
  const std::string t(CTypeOf(type));
  const auto scale = [&](size_t i) { return w.InQuantization(i).scale[0]; };
  const float feature = scale(0) * scale(1) / scale(4);
  const float time = scale(4) * scale(2) / w.OutQuantization(0).scale[0];
  const int32_t state_zero = w.InQuantization(4).zero_point[0];
  const std::string state = w.Scratch(type, batch * filters * memory);
  const ops::QuantizedRange full = ops::RangeOf(type);
  CodeWriter& code = w.code();
  EmitShiftedState(w, state, filters, memory);
  code.Line("uint32_t sum = 0;");
  code.OpenLoop("k", input);
  code.Line("sum += (uint32_t)((", w.X(0), "[i / ", filters, " * ", input,
            " + k] - (", w.InQuantization(0).zero_point[0], ")) * ", w.X(1),
            "[i % ", filters, " * ", input, " + k]);");
  code.Close();
  code.Line(
      state, "[i * ", memory, " + ", memory - 1, "] = (", t, ")",
      FinishCall(w, "(int32_t)sum", ops::QuantizeMultiplier(double{feature}),
                 state_zero, full),
      ";");
  code.Close();
  code.OpenLoop("i", batch * units);
  code.Line("uint32_t sum = (uint32_t)(",
            w.Has(3) ? absl::StrCat(w.X(3), "[i % ", units, "]") : "0", ");");
  code.OpenLoop("m", op.rank() * memory);
  code.Line("sum += (uint32_t)(", w.X(2), "[i % ", units, " * ",
            op.rank() * memory, " + m] * (", state, "[(i / ", units, " * ",
            filters, " + i % ", units, " * ", op.rank(), ") * ", memory,
            " + m] - (", state_zero, ")));");
  code.Close();
  code.Line(w.Y(0), "[i] = (int8_t)",
            FinishCall(w, "(int32_t)sum", ops::QuantizeMultiplier(double{time}),
                       w.OutQuantization(0).zero_point[0],
                       ops::ClampRange(op.clamp(), v1::HALF_UP,
                                       w.OutQuantization(0), v1::INT8)),
            ";");
  code.Close();
  if (w.outputs() > 1) EmitCopy(code, state, w.Y(1), batch * filters * memory);
}

}  // namespace

absl::Status EmitRecurrent(StepWriter& w) {
  const v1::ElementType type = w.Out(0).type;
  switch (w.op().op_case()) {
    case v1::OpAttributes::kLstm:
      if (!IsFloat(type)) return EmitIntegerLstm(w);
      EmitFloatLstm(w);
      break;
    case v1::OpAttributes::kGru:
      EmitGru(w);
      break;
    case v1::OpAttributes::kRnn:
      EmitRnn(w);
      break;
    default:
      IsFloat(type) ? EmitRealSvdf(w) : EmitIntegerSvdf(w);
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::compiler
