#include "compiler/codegen/c/float_lstm.h"

#include <string>

#include "compiler/codegen/c/cell_writer.h"
#include "compiler/codegen/c/emit_common.h"
#include "ops/lstm_steps.h"

namespace edgekiln::compiler {
namespace {

using ops::kCell;
using ops::kForget;
using ops::kInput;
using ops::kOutput;

constexpr double kLayerNormEpsilon = 1e-8;

class FloatLstm {
 public:
  explicit FloatLstm(StepWriter& w)
      : w_(w),
        op_(w.op().lstm()),
        code_(w.code()),
        steps_(w.In(0).shape[0]),
        batch_(w.In(0).shape[1]),
        input_(w.In(0).shape[2]),
        hidden_(w.In(6).shape[1]),
        outputs_(w.In(5).shape[1]),
        type_(w.Out(0).type),
        t_(CTypeOf(type_)),
        norm_(w.Has(10)) {}

  void Emit() {
    state_ = w_.Scratch(type_, batch_ * outputs_);
    cell_ = w_.Scratch(type_, batch_ * hidden_);
    gates_ = w_.Scratch(type_, 4 * hidden_);
    EmitCopy(code_, w_.X(5), state_, batch_ * outputs_);
    EmitCopy(code_, w_.X(6), cell_, batch_ * hidden_);
    code_.OpenLoop("e", steps_ * batch_ * outputs_);
    code_.Line(w_.Y(0), "[e] = 0;");
    code_.Close();
    OpenSteps(w_, steps_, batch_, op_.reverse(), 4);
    code_.Line(t_, " *const s = ", state_, " + n * ", outputs_, ";");
    code_.Line(t_, " *const c = ", cell_, " + n * ", hidden_, ";");
    Sums();
    Step();
    code_.OpenLoop("u", outputs_);
    code_.Line(w_.Y(0), "[(t * ", batch_, " + n) * ", outputs_,
               " + u] = s[u];");
    CloseLoops(code_, 3);
    if (w_.outputs() > 1) EmitCopy(code_, state_, w_.Y(1), batch_ * outputs_);
    if (w_.outputs() > 2) EmitCopy(code_, cell_, w_.Y(2), batch_ * hidden_);
  }

 private:
  std::string Gate(int gate) const {
    return absl::StrCat(gates_, "[", gate * hidden_, " + u]");
  }

  void Sums() {
    code_.OpenLoop("u", 4 * hidden_);
    code_.Line(t_, " a = 0, r = 0;");
    code_.OpenLoop("k", input_);
    code_.Line("a += ", w_.X(0), "[(t * ", batch_, " + n) * ", input_,
               " + k] * ", w_.X(1), "[u * ", input_, " + k];");
    code_.Close();
    code_.OpenLoop("k", outputs_);
    code_.Line("r += s[k] * ", w_.X(2), "[u * ", outputs_, " + k];");
    code_.Close();
    code_.Line("a += r;");
    if (w_.Has(3) && !norm_) code_.Line("a += ", w_.X(3), "[u];");
    code_.Line(gates_, "[u] = a;");
    code_.Close();
  }

  void Normalise(int gate) {
    const std::string count = CDouble(static_cast<double>(hidden_));
    code_.Line("double sum = 0, squares = 0, mean, deviation;");
    code_.OpenLoop("u", hidden_);
    code_.Line("sum += (double)", Gate(gate), ";");
    code_.Close();
    code_.Line("mean = sum / ", count, ";");
    code_.OpenLoop("u", hidden_);
    code_.Line("const double d = (double)", Gate(gate), " - mean;");
    code_.Line("squares += d * d;");
    code_.Close();
    code_.Line("deviation = ", w_.Use("sqrt"), "(squares / ", count, " + ",
               CDouble(kLayerNormEpsilon), ");");
    code_.OpenLoop("u", hidden_);
    code_.Line("double v = ((double)", Gate(gate),
               " - mean) / deviation * (double)", w_.X(10), "[", gate * hidden_,
               " + u];");
    if (w_.Has(3)) {
      code_.Line("v += (double)", w_.X(3), "[", gate * hidden_, " + u];");
    }
    code_.Line(Gate(gate), " = (", t_, ")v;");
    code_.Close();
  }

  // One gate from its sums to its activation, in place.
  void Finish(int gate, const v1::CellActivation& f, bool present,
              v1::Unary::Function absent) {
    code_.OpenBlock();
    if (w_.Has(7) && gate != kCell) {
      code_.OpenLoop("u", hidden_);
      code_.Line(Gate(gate), " += ", w_.X(7), "[", gate * hidden_,
                 " + u] * c[u];");
      code_.Close();
    }
    if (norm_) Normalise(gate);
    code_.OpenLoop("u", hidden_);
    code_.Line(t_, " v = ", Gate(gate), ";");
    EmitBounded(w_, type_, "v", op_.clip());
    code_.OpenBlock();
    code_.Line("const double x = (double)v;");
    code_.Line(Gate(gate), " = (", t_, ")(",
               ActivationOf(w_, f, present, absent, "x"), ");");
    CloseLoops(code_, 3);
  }

  void FinishGate(int gate) {
    Finish(gate, op_.gate(), op_.has_gate(), v1::Unary::SIGMOID);
  }

  void Rest(int of, int gate) {
    code_.OpenLoop("u", hidden_);
    code_.Line(Gate(gate), " = 1 - ", Gate(of), ";");
    code_.Close();
  }

  void Step() {
    if (op_.coupling() != v1::Lstm::INPUT_FROM_FORGET) FinishGate(kInput);
    if (op_.coupling() == v1::Lstm::FORGET_FROM_INPUT) {
      Rest(kInput, kForget);
    } else {
      FinishGate(kForget);
    }
    if (op_.coupling() == v1::Lstm::INPUT_FROM_FORGET) Rest(kForget, kInput);
    Finish(kCell, op_.cell(), op_.has_cell(), v1::Unary::TANH);
    code_.OpenLoop("u", hidden_);
    code_.Line(t_, " v = (", t_, ")((double)", Gate(kForget),
               " * (double)c[u] + (double)", Gate(kInput), " * (double)",
               Gate(kCell), ");");
    EmitBounded(w_, type_, "v", op_.cell_clip());
    code_.Line("c[u] = v;");
    code_.Close();
    FinishGate(kOutput);
    code_.OpenLoop("u", hidden_);
    code_.Line("const double x = (double)c[u];");
    code_.Line(
        Gate(kOutput), " = (", t_, ")((double)", Gate(kOutput), " * (",
        ActivationOf(w_, op_.hidden(), op_.has_hidden(), v1::Unary::TANH, "x"),
        "));");
    code_.Close();
    Project();
  }

  void Project() {
    code_.OpenLoop("u", outputs_);
    if (!w_.Has(8)) {
      code_.Line("s[u] = ", Gate(kOutput), ";");
    } else {
      code_.Line(t_, " v = 0;");
      code_.OpenLoop("k", hidden_);
      code_.Line("v += ", gates_, "[", kOutput * hidden_, " + k] * ", w_.X(8),
                 "[u * ", hidden_, " + k];");
      code_.Close();
      if (w_.Has(9)) code_.Line("v += ", w_.X(9), "[u];");
      EmitBounded(w_, type_, "v", op_.projection_clip());
      code_.Line("s[u] = v;");
    }
    code_.Close();
  }

  StepWriter& w_;
  const v1::Lstm& op_;
  CodeWriter& code_;
  const int64_t steps_, batch_, input_, hidden_, outputs_;
  const v1::ElementType type_;
  const std::string t_;
  const bool norm_;
  std::string state_, cell_, gates_;
};

}  // namespace

void EmitFloatLstm(StepWriter& w) { FloatLstm(w).Emit(); }

}  // namespace edgekiln::compiler
