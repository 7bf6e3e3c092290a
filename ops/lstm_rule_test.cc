// The LSTM of integers against its rule, docs/numerics.md section 3.18, written
// a second time: every value to the bit.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/evaluate.h"
#include "ops/fixed_point.h"
#include "ops/requantize.h"
#include "ops/squash_table.h"
#include "ops/testing/test_tensor.h"

namespace edgekiln::ops {
namespace {

constexpr int64_t kSteps = 4, kBatch = 2, kInput = 5, kUnits = 6;
enum Gate { kIn = 0, kOut = 1, kForget = 2, kFresh = 3 };

struct LstmCase {
  std::string name;
  v1::Lstm::Coupling coupling = v1::Lstm::NOT_COUPLED;
  bool reverse = false;
  std::vector<int32_t> lengths = {};
  int cell_exponent = -11;
  float cell_clip = 0;
  // Of int8 only.
  bool peepholes = false;
  bool projects = false;
  float projection_clip = 0;
  bool normalises = false;
};

void PrintTo(const LstmCase& row, std::ostream* out) { *out << row.name; }

template <typename T>
struct Tensors {
  static constexpr bool kWide = sizeof(T) == 2;
  using Bias = std::conditional_t<kWide, int64_t, int32_t>;

  explicit Tensors(const LstmCase& c)
      : outputs(c.projects ? 4 : kUnits),
        x{{kSteps, kBatch, kInput},
          {},
          {kWide ? 1.0f / 8192 : 1.0f / 64},
          {kWide ? 0 : 5}},
        w{{4 * kUnits, kInput}},
        r{{4 * kUnits, outputs}},
        bias{{4 * kUnits}},
        lengths{{kBatch}, c.lengths},
        h{{kBatch, outputs},
          {},
          {kWide ? 1.0f / 30000 : 1.0f / 128},
          {kWide ? 0 : -4}},
        cell{{kBatch, kUnits}, {}, {std::ldexp(1.0f, c.cell_exponent)}, {0}},
        peephole{{3 * kUnits}, {}, {1.0f / 7000}, {0}},
        projection{{outputs, kUnits}, {}, {0.011f}, {0}},
        projection_bias{{outputs}},
        norm{{4 * kUnits}, {}, {1.0f / 3000}, {0}} {
    TestRandom random(23);
    for (TestTensor<int8_t>* matrix : {&w, &r}) {
      for (int64_t row = 0; row < 4 * kUnits; ++row) {
        matrix->scale.push_back(random.Float(0.004f, 0.02f));
        matrix->zero_point.push_back(0);
      }
      random.Fill(*matrix);
    }
    random.Fill(x);
    random.Fill(bias);
    random.Fill(h);
    random.Fill(cell);
    random.Fill(peephole);
    random.Fill(projection);
    random.Fill(projection_bias);
    random.Fill(norm);
  }

  int64_t outputs;
  TestTensor<T> x;
  TestTensor<int8_t> w, r;
  TestTensor<Bias> bias;
  TestTensor<int32_t> lengths;
  TestTensor<T> h;
  TestTensor<int16_t> cell, peephole;
  TestTensor<int8_t> projection;
  TestTensor<int32_t> projection_bias;
  TestTensor<int16_t> norm;
  // Of the sums before normalization; then of what is projected.
  std::array<float, 4> gate_scale = {0.0005f, 0.0007f, 0.0003f, 0.0006f};
  float hidden_scale = 0.009f;
  int32_t hidden_zero = -7;
};

int16_t Sat(int64_t value) { return SaturatedTo<int16_t>(value); }

int64_t RescaleBy(int64_t value, double factor) {
  return Rescale(static_cast<int32_t>(value), QuantizeMultiplier(factor));
}

int64_t HalfAway(double value) {
  return static_cast<int64_t>(std::round(value));
}

using Values = std::vector<int16_t>;

// One step of one batch row; replaces h and c.
class Int8Rule {
 public:
  Int8Rule(const LstmCase& row, const Tensors<int8_t>& tensors)
      : case_(row), t_(tensors) {}

  void Step(const int8_t* x, int8_t* h, int16_t* c) const {
    const int n = case_.cell_exponent;
    Values in = Active(kIn, x, h, c), forget = Active(kForget, x, h, c);
    const Values fresh = Active(kFresh, x, h, c);
    for (int64_t u = 0; u < kUnits; ++u) {
      if (case_.coupling == v1::Lstm::INPUT_FROM_FORGET) {
        in[u] = static_cast<int16_t>(32767 - forget[u]);
      } else if (case_.coupling == v1::Lstm::FORGET_FROM_INPUT) {
        forget[u] = static_cast<int16_t>(32767 - in[u]);
      }
      c[u] = Sat(HalfAway(forget[u] * c[u] * 0x1p-15) +
                 HalfAway(std::ldexp(in[u] * fresh[u], -(30 + n))));
      const auto most = static_cast<int16_t>(case_.cell_clip * (1 << -n));
      if (most > 0) c[u] = std::clamp<int16_t>(c[u], -most, most);
    }
    const Values out = Active(kOut, x, h, c);
    const float scale = case_.projects ? t_.hidden_scale : t_.h.scale[0];
    const int32_t zero = case_.projects ? t_.hidden_zero : t_.h.zero_point[0];
    const auto factor = static_cast<float>(0x1p-15 / double{scale} * 0x1p-15);
    std::vector<int8_t> hidden;
    for (int64_t u = 0; u < kUnits; ++u) {
      const int32_t product = out[u] * FixedTanh(c[u], 15 + n);
      hidden.push_back(
          SaturatedTo<int8_t>(RescaleBy(product, double{factor}) + zero));
    }
    Project(hidden, h);
  }

 private:
  void Project(const std::vector<int8_t>& hidden, int8_t* h) const {
    if (!case_.projects) std::copy(hidden.begin(), hidden.end(), h);
    for (int64_t p = 0; case_.projects && p < t_.outputs; ++p) {
      int64_t sum = t_.projection_bias.values[p];
      for (int64_t u = 0; u < kUnits; ++u) {
        sum +=
            (hidden[u] - t_.hidden_zero) * t_.projection.values[p * kUnits + u];
      }
      const float factor =
          t_.projection.scale[0] * t_.hidden_scale / t_.h.scale[0];
      h[p] = SaturatedTo<int8_t>(RescaleBy(sum, double{factor}) +
                                 t_.h.zero_point[0]);
      const auto most =
          static_cast<int8_t>(case_.projection_clip / t_.h.scale[0]);
      if (most > 0) h[p] = std::clamp<int8_t>(h[p], -most, most);
    }
  }

  Values Active(Gate k, const int8_t* x, const int8_t* h,
                const int16_t* c) const {
    const float step = case_.normalises ? t_.gate_scale[k] : 0x1p-12f;
    Values sums;
    for (int64_t u = 0; u < kUnits; ++u) {
      const int64_t row = k * kUnits + u;
      int64_t sum = case_.normalises ? 0 : t_.bias.values[row];
      for (int64_t i = 0; i < kInput; ++i) {
        sum += (x[i] - t_.x.zero_point[0]) * t_.w.values[row * kInput + i];
      }
      int64_t from_state = 0;
      for (int64_t i = 0; i < t_.outputs; ++i) {
        from_state +=
            (h[i] - t_.h.zero_point[0]) * t_.r.values[row * t_.outputs + i];
      }
      const float w = t_.w.scale[row] * t_.x.scale[0] / step;
      const float r = t_.r.scale[row] * t_.h.scale[0] / step;
      sum = Sat(RescaleBy(sum, double{w}));
      sum = Sat(sum + RescaleBy(from_state, double{r}));
      if (case_.peepholes && k != kFresh && u < t_.outputs) {
        const auto p = static_cast<float>(
            std::ldexp(double{t_.peephole.scale[0]}, case_.cell_exponent) /
            double{step});
        sum = Sat(sum + RescaleBy(t_.peephole.values[row] * c[u], double{p}));
      }
      sums.push_back(static_cast<int16_t>(sum));
    }
    if (case_.normalises) Normalise(k, sums);
    for (int16_t& v : sums) {
      v = k == kFresh ? FixedTanh(v, 3) : FixedSigmoid(v, 3);
    }
    return sums;
  }

  void Normalise(Gate k, Values& sums) const {
    int64_t sum = 0, squares = 0;
    for (const int64_t v : sums) {
      sum += v;
      squares += v * v;
    }
    const int64_t mean = 1024 * sum / kUnits;
    const int64_t steps = (1 << 20) / kUnits;
    int64_t variance = (squares * steps - mean * mean) / (1 << 20);
    if (variance < 1) {
      variance = std::max(1, static_cast<int>(10000 * t_.norm.scale[0]));
    }
    for (int64_t u = 0; u < kUnits; ++u) {
      const int64_t row = k * kUnits + u;
      const auto centred = static_cast<int32_t>(1024 * sums[u] - mean);
      const int64_t t =
          int64_t{Rescale(centred,
                          FixedInverseSqrt(static_cast<int32_t>(variance)))} *
              t_.norm.values[row] +
          t_.bias.values[row];
      sums[u] = Sat(RescaleBy((t > 0 ? t + 512 : t - 512) / 1024,
                              double{t_.norm.scale[0]} * 4096));
    }
  }

  const LstmCase& case_;
  const Tensors<int8_t>& t_;
};

class Int16Rule {
 public:
  Int16Rule(const LstmCase& row, const Tensors<int16_t>& tensors)
      : case_(row), t_(tensors) {}

  void Step(const int16_t* x, int16_t* h, int16_t* c) const {
    const double c_scale = t_.cell.scale[0];
    Values in = Active(kIn, x, h), forget = Active(kForget, x, h);
    const Values fresh = Active(kFresh, x, h), out = Active(kOut, x, h);
    for (int64_t u = 0; u < kUnits; ++u) {
      if (case_.coupling == v1::Lstm::INPUT_FROM_FORGET) {
        in[u] = static_cast<int16_t>(32767 - forget[u]);
      } else if (case_.coupling == v1::Lstm::FORGET_FROM_INPUT) {
        forget[u] = static_cast<int16_t>(32767 - in[u]);
      }
      c[u] = Sat(Sat(RescaleBy(forget[u] * c[u], 0x1p-15)) +
                 Sat(RescaleBy(in[u] * fresh[u], 0x1p-30 / c_scale)));
      const auto most = static_cast<int16_t>(double{case_.cell_clip} / c_scale);
      if (most > 0) c[u] = std::clamp<int16_t>(c[u], -most, most);
      const double place =
          std::floor(std::ldexp(3.0 * c[u], case_.cell_exponent + 12) + 0.5);
      h[u] = Sat(RescaleBy(out[u] * table_.Tanh(static_cast<int64_t>(place)),
                           0x1p-30 / double{t_.h.scale[0]}));
    }
  }

 private:
  Values Active(Gate k, const int16_t* x, const int16_t* h) const {
    Values values;
    for (int64_t row = k * kUnits; row < (k + 1) * kUnits; ++row) {
      int64_t from_input = t_.bias.values[row], from_state = 0;
      for (int64_t i = 0; i < kInput; ++i) {
        from_input += x[i] * t_.w.values[row * kInput + i];
      }
      for (int64_t i = 0; i < kUnits; ++i) {
        from_state += h[i] * t_.r.values[row * kUnits + i];
      }
      const auto rescaled = [](int64_t sum, float factor) {
        return Sat(RescaleWide(sum, QuantizeMultiplier(double{factor} * 4096)));
      };
      const int16_t sum =
          Sat(rescaled(from_input, t_.x.scale[0] * t_.w.scale[row]) +
              rescaled(from_state, t_.h.scale[0] * t_.r.scale[row]));
      values.push_back(k == kFresh ? table_.Tanh(3 * sum)
                                   : table_.Sigmoid(3 * sum));
    }
    return values;
  }

  const LstmCase& case_;
  const Tensors<int16_t>& t_;
  const SquashTable table_;
};

v1::OpAttributes OpOf(const LstmCase& c, const Tensors<int8_t>& t) {
  v1::OpAttributes op;
  v1::Lstm& lstm = *op.mutable_lstm();
  lstm.set_coupling(c.coupling);
  lstm.set_reverse(c.reverse);
  lstm.set_cell_clip(c.cell_clip);
  lstm.set_projection_clip(c.projection_clip);
  if (!c.normalises && !c.projects) return op;
  for (const float scale : t.gate_scale) {
    lstm.add_intermediate()->add_scale(scale);
    lstm.mutable_intermediate()->rbegin()->add_zero_point(0);
  }
  v1::Quantization& hidden = *lstm.add_intermediate();
  if (!c.projects) return op;
  hidden.add_scale(t.hidden_scale);
  hidden.add_zero_point(t.hidden_zero);
  return op;
}

template <typename T, typename Rule>
void ExpectRule(const LstmCase& c) {
  const Tensors<T> t(c);
  TestTensor<T> all{{kSteps, kBatch, t.outputs}, {}, t.h.scale, t.h.zero_point};
  TestTensor<T> h = t.h;
  TestTensor<int16_t> cell = t.cell;
  const auto or_none = [](bool present, const TensorView& view) {
    return present ? view : TensorView{};
  };
  std::vector<TensorView> inputs = {
      t.x.view(),
      t.w.view(),
      t.r.view(),
      t.bias.view(),
      or_none(!c.lengths.empty(), t.lengths.view()),
      t.h.view(),
      t.cell.view(),
      or_none(c.peepholes, t.peephole.view()),
      or_none(c.projects, t.projection.view()),
      or_none(c.projects, t.projection_bias.view()),
      or_none(c.normalises, t.norm.view())};
  const absl::Status status =
      Evaluate(OpOf(c, Tensors<int8_t>(c)), inputs,
               {all.mutable_view(), h.mutable_view(), cell.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;

  const Rule rule(c, t);
  std::vector<T> want_all(all.values.size(), static_cast<T>(t.h.zero_point[0]));
  std::vector<T> want_h = t.h.values;
  std::vector<int16_t> want_cell = t.cell.values;
  for (int64_t n = 0; n < kBatch; ++n) {
    const int64_t length = c.lengths.empty() ? kSteps : c.lengths[n];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t at = (c.reverse ? length - 1 - i : i) * kBatch + n;
      T* state = want_h.data() + n * t.outputs;
      rule.Step(t.x.values.data() + at * kInput, state,
                want_cell.data() + n * kUnits);
      std::copy_n(state, t.outputs, want_all.begin() + at * t.outputs);
    }
  }
  EXPECT_EQ(all.values, want_all);
  EXPECT_EQ(h.values, want_h);
  EXPECT_EQ(cell.values, want_cell);
}

std::string NameOf(const testing::TestParamInfo<LstmCase>& info) {
  return info.param.name;
}

const LstmCase kPlain[] = {
    {.name = "Plain"},
    {.name = "FineCells", .cell_exponent = -14},
    {.name = "CoarseCells", .cell_exponent = -9},
    {.name = "Reversed", .reverse = true},
    {.name = "Lengths", .lengths = {1, 3}},
    {.name = "ReversedLengths", .reverse = true, .lengths = {3, 0}},
    {.name = "CellClip", .cell_clip = 0.3f},
    {.name = "ForgetFromInput", .coupling = v1::Lstm::FORGET_FROM_INPUT},
    {.name = "InputFromForget", .coupling = v1::Lstm::INPUT_FROM_FORGET}};

class LstmRuleTest : public testing::TestWithParam<LstmCase> {};

TEST_P(LstmRuleTest, Int8) { ExpectRule<int8_t, Int8Rule>(GetParam()); }

TEST_P(LstmRuleTest, Int16) { ExpectRule<int16_t, Int16Rule>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, LstmRuleTest, testing::ValuesIn(kPlain), NameOf);

const LstmCase kExtras[] = {
    {.name = "Peepholes", .peepholes = true},
    {.name = "Projection", .projects = true},
    // Units that are no outputs have no peepholes.
    {.name = "PeepholesAndProjection", .peepholes = true, .projects = true},
    {.name = "ProjectionClip", .projects = true, .projection_clip = 0.2f},
    {.name = "Normalised", .normalises = true},
    {.name = "Everything",
     .coupling = v1::Lstm::INPUT_FROM_FORGET,
     .reverse = true,
     .lengths = {4, 2},
     .cell_exponent = -12,
     .cell_clip = 2,
     .peepholes = true,
     .projects = true,
     .projection_clip = 0.5f,
     .normalises = true}};

class LstmExtrasRuleTest : public testing::TestWithParam<LstmCase> {};

TEST_P(LstmExtrasRuleTest, Int8) { ExpectRule<int8_t, Int8Rule>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(All, LstmExtrasRuleTest, testing::ValuesIn(kExtras),
                         NameOf);

}  // namespace
}  // namespace edgekiln::ops
