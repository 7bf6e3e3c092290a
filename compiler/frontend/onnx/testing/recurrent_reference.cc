#include "compiler/frontend/onnx/testing/recurrent_reference.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace edgekiln::compiler::onnx_import {
namespace {

// With the defaults of the standard.
double Apply(const Function& f, double x) {
  const double a = f.alpha.value_or(0);
  const double b = f.beta.value_or(0);
  if (f.name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (f.name == "Tanh") return std::tanh(x);
  if (f.name == "Relu") return std::max(x, 0.0);
  if (f.name == "Affine") return f.alpha.value_or(1) * x + b;
  if (f.name == "LeakyRelu") return x < 0 ? f.alpha.value_or(0.01f) * x : x;
  if (f.name == "ThresholdedRelu") return x >= f.alpha.value_or(1) ? x : 0;
  if (f.name == "ScaledTanh") return a * std::tanh(b * x);
  if (f.name == "HardSigmoid") {
    return std::clamp(f.alpha.value_or(0.2f) * x + f.beta.value_or(0.5f), 0.0,
                      1.0);
  }
  if (f.name == "Elu") return x < 0 ? f.alpha.value_or(1) * std::expm1(x) : x;
  if (f.name == "Softsign") return x / (1 + std::fabs(x));
  if (f.name == "Softplus") return std::log1p(std::exp(x));
  return std::numeric_limits<double>::quiet_NaN();
}

using Vector = std::vector<double>;

// One direction of a cell over one row of the batch.
class Cell {
 public:
  Cell(const RecurrentCase& c, const Values& v, bool lstm, int64_t d)
      : c_(c), v_(v), gates_(lstm ? 4 : 3), d_(d) {
    functions_ = c.functions;
    if (functions_.empty()) {
      for (int64_t i = 0; i < c.directions(); ++i) {
        functions_.push_back({"Sigmoid"});
        functions_.push_back({"Tanh"});
        if (lstm) functions_.push_back({"Tanh"});
      }
    }
  }

  // i, o, f, c of the standard, with the peephole that goes with the gate.
  void StepLstm(const float* x, Vector& h, Vector& cell) const {
    const auto gate = [&](int64_t g, const Vector& seen) {
      Vector sums(kHidden);
      for (int64_t u = 0; u < kHidden; ++u) {
        sums[u] = FromInput(x, g, u) + FromState(h, g, u) +
                  (g < 3 ? v_.p[(d_ * 3 + g) * kHidden + u] * seen[u] : 0);
        sums[u] = Apply(F(g < 3 ? 0 : 1), Clipped(sums[u]));
      }
      return sums;
    };
    const Vector in = gate(0, cell);
    Vector forget = gate(2, cell);
    const Vector fresh = gate(3, cell);
    for (int64_t u = 0; u < kHidden; ++u) {
      if (c_.flag) forget[u] = 1 - in[u];
      cell[u] = forget[u] * cell[u] + in[u] * fresh[u];
    }
    const Vector out = gate(1, cell);
    for (int64_t u = 0; u < kHidden; ++u) h[u] = out[u] * Apply(F(2), cell[u]);
  }

  // z, r, h of the standard.
  void StepGru(const float* x, Vector& h) const {
    Vector z(kHidden), reset(kHidden), gated(kHidden), next(kHidden);
    for (int64_t u = 0; u < kHidden; ++u) {
      z[u] = Apply(F(0), Clipped(FromInput(x, 0, u) + FromState(h, 0, u)));
      reset[u] = Apply(F(0), Clipped(FromInput(x, 1, u) + FromState(h, 1, u)));
      gated[u] = reset[u] * h[u];
    }
    for (int64_t u = 0; u < kHidden; ++u) {
      const double state =
          c_.flag ? reset[u] * FromState(h, 2, u) : FromState(gated, 2, u);
      const double fresh = Apply(F(1), Clipped(FromInput(x, 2, u) + state));
      next[u] = (1 - z[u]) * fresh + z[u] * h[u];
    }
    h = next;
  }

 private:
  const Function& F(int64_t i) const {
    return functions_[d_ * (gates_ - 1) + i];
  }

  double Clipped(double sum) const {
    return c_.clip > 0 ? std::clamp<double>(sum, -c_.clip, c_.clip) : sum;
  }

  int64_t Row(int64_t gate, int64_t unit) const {
    return (d_ * gates_ + gate) * kHidden + unit;
  }

  double Bias(int64_t half, int64_t gate, int64_t unit) const {
    return v_.b[((d_ * 2 + half) * gates_ + gate) * kHidden + unit];
  }

  double FromInput(const float* x, int64_t gate, int64_t unit) const {
    double sum = Bias(0, gate, unit);
    for (int64_t k = 0; k < kInput; ++k) {
      sum += double{v_.w[Row(gate, unit) * kInput + k]} * x[k];
    }
    return sum;
  }

  double FromState(const Vector& h, int64_t gate, int64_t unit) const {
    double sum = Bias(1, gate, unit);
    for (int64_t k = 0; k < kHidden; ++k) {
      sum += double{v_.r[Row(gate, unit) * kHidden + k]} * h[k];
    }
    return sum;
  }

  const RecurrentCase& c_;
  const Values& v_;
  const int64_t gates_, d_;
  std::vector<Function> functions_;
};

}  // namespace

Values RandomValues(const RecurrentCase& c, int64_t gates) {
  std::mt19937 engine(7);
  const auto fill = [&engine](int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) {
      value = static_cast<float>(engine() % 2001) / 1000 - 1;
    }
    return values;
  };
  const int64_t d = c.directions();
  const int64_t rows = gates * kHidden;
  Values v;
  v.x = fill(kSteps * kBatch * kInput);
  v.w = fill(d * rows * kInput);
  v.r = fill(d * rows * kHidden);
  v.b = fill(d * 2 * rows);
  v.h0 = fill(d * kBatch * kHidden);
  v.c0 = fill(d * kBatch * kHidden);
  v.p = fill(d * 3 * kHidden);
  if (!c.bias) std::fill(v.b.begin(), v.b.end(), 0.0f);
  if (!c.initial) std::fill(v.h0.begin(), v.h0.end(), 0.0f);
  if (!c.initial) std::fill(v.c0.begin(), v.c0.end(), 0.0f);
  if (!c.peepholes) std::fill(v.p.begin(), v.p.end(), 0.0f);
  if (c.lengths) v.lengths = {2, kSteps};
  return v;
}

std::vector<float> Turned(const std::vector<float>& values, int64_t outer,
                          int64_t middle, int64_t inner) {
  std::vector<float> turned;
  for (int64_t m = 0; m < middle; ++m) {
    for (int64_t o = 0; o < outer; ++o) {
      const auto from = values.begin() + (o * middle + m) * inner;
      turned.insert(turned.end(), from, from + inner);
    }
  }
  return turned;
}

Expected Reference(const RecurrentCase& c, const Values& v, bool lstm) {
  const int64_t d = c.directions();
  Expected e;
  e.y.assign(kSteps * d * kBatch * kHidden, 0);
  for (int64_t i = 0; i < d; ++i) {
    const Cell cell(c, v, lstm, i);
    const bool reverse = c.direction == "reverse" || i == 1;
    for (int64_t n = 0; n < kBatch; ++n) {
      const int64_t at = (i * kBatch + n) * kHidden;
      Vector h(v.h0.begin() + at, v.h0.begin() + at + kHidden);
      Vector memory(v.c0.begin() + at, v.c0.begin() + at + kHidden);
      for (int64_t k = 0; k < v.lengths[n]; ++k) {
        const int64_t t = reverse ? v.lengths[n] - 1 - k : k;
        const float* x = v.x.data() + (t * kBatch + n) * kInput;
        if (lstm) cell.StepLstm(x, h, memory);
        if (!lstm) cell.StepGru(x, h);
        std::copy(h.begin(), h.end(),
                  e.y.begin() + ((t * d + i) * kBatch + n) * kHidden);
      }
      e.h.insert(e.h.end(), h.begin(), h.end());
      e.c.insert(e.c.end(), memory.begin(), memory.end());
    }
  }
  if (c.batch_first) {
    // [T, D, N, H] -> [N, T, D, H].
    e.y = Turned(e.y, kSteps * d, kBatch, kHidden);
    e.h = Turned(e.h, d, kBatch, kHidden);
    e.c = Turned(e.c, d, kBatch, kHidden);
  }
  return e;
}

}  // namespace edgekiln::compiler::onnx_import
