// LSTM and GRU, every attribute of theirs, against the equations of the
// standard, one element at a time.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/test_model.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {
namespace {

using onnx_import::TestModel;

constexpr int64_t kSteps = 4, kBatch = 2, kInput = 3, kHidden = 5;

// A function as a model names it, with the parameters that it is given.
struct Function {
  std::string name;
  std::optional<float> alpha = std::nullopt;
  std::optional<float> beta = std::nullopt;
};

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
  ADD_FAILURE() << f.name;
  return 0;
}

struct RecurrentCase {
  const char* name;
  std::string direction = "forward";
  std::vector<Function> functions = {};  // Of all directions; empty: default.
  bool bias = true, lengths = false, initial = false, peepholes = false;
  bool batch_first = false;
  float clip = 0;
  bool flag = false;  // input_forget or linear_before_reset.

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

void PrintTo(const RecurrentCase& row, std::ostream* out) { *out << row.name; }

// The values of one model in the order that the standard states.
struct Values {
  std::vector<float> x, w, r, b, h0, c0, p;
  std::vector<int32_t> lengths = {kSteps, kSteps};
};

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

// [outer, middle, inner] -> [middle, outer, inner].
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

TestModel ModelOf(const RecurrentCase& c, const Values& v, bool lstm) {
  const int64_t d = c.directions();
  const int64_t rows = (lstm ? 4 : 3) * kHidden;
  TestModel model(14);
  model
      .Input("x", c.batch_first ? std::vector<int64_t>{kBatch, kSteps, kInput}
                                : std::vector<int64_t>{kSteps, kBatch, kInput})
      .Floats("w", {d, rows, kInput}, v.w)
      .Floats("r", {d, rows, kHidden}, v.r)
      .Floats("b", {d, 2 * rows}, v.b)
      .Floats("p", {d, 3 * kHidden}, v.p)
      .Output("y")
      .Output("h");
  onnx::TensorProto* lengths = model.proto().mutable_graph()->add_initializer();
  lengths->set_name("lengths");
  lengths->set_data_type(onnx::TensorProto::INT32);
  lengths->add_dims(kBatch);
  for (const int32_t length : v.lengths) lengths->add_int32_data(length);
  const std::vector<int64_t> state =
      c.batch_first ? std::vector<int64_t>{kBatch, d, kHidden}
                    : std::vector<int64_t>{d, kBatch, kHidden};
  const auto laid = [&](const std::vector<float>& values) {
    return c.batch_first ? Turned(values, d, kBatch, kHidden) : values;
  };
  model.Floats("h0", state, laid(v.h0)).Floats("c0", state, laid(v.c0));
  const auto given = [](bool is, const char* name) {
    return is ? std::string(name) : std::string();
  };
  std::vector<std::string> inputs = {"x",
                                     "w",
                                     "r",
                                     given(c.bias, "b"),
                                     given(c.lengths, "lengths"),
                                     given(c.initial, "h0")};
  if (lstm) {
    inputs.push_back(given(c.initial, "c0"));
    inputs.push_back(given(c.peepholes, "p"));
    model.Output("c");
  }
  model.Node(lstm ? "LSTM" : "GRU", inputs,
             lstm ? std::vector<std::string>{"y", "h", "c"}
                  : std::vector<std::string>{"y", "h"});
  model.Int("hidden_size", kHidden).String("direction", c.direction);
  model.Int("layout", c.batch_first ? 1 : 0);
  model.Int(lstm ? "input_forget" : "linear_before_reset", c.flag ? 1 : 0);
  if (c.clip > 0) model.Float("clip", c.clip);
  if (c.functions.empty()) return model;
  std::vector<std::string> names;
  std::vector<float> alphas, betas;
  for (const Function& f : c.functions) {
    names.push_back(f.name);
    if (f.alpha) alphas.push_back(*f.alpha);
    if (f.beta) betas.push_back(*f.beta);
  }
  model.Strings("activations", names)
      .FloatList("activation_alpha", alphas)
      .FloatList("activation_beta", betas);
  return model;
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

struct Expected {
  std::vector<float> y, h, c;
};

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

void ExpectNear(const std::string& bytes, const std::vector<float>& want) {
  std::vector<float> got(bytes.size() / sizeof(float));
  std::memcpy(got.data(), bytes.data(), bytes.size());
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], want[i], 1e-5) << "element " << i;
  }
}

class OnnxRecurrentTest : public testing::TestWithParam<RecurrentCase> {
 protected:
  void ExpectFollowsTheStandard(bool lstm) {
    const RecurrentCase& c = GetParam();
    const Values v = RandomValues(c, lstm ? 4 : 3);
    const Expected want = Reference(c, v, lstm);
    absl::StatusOr<Graph> graph = ImportOnnx(ModelOf(c, v, lstm).bytes());
    ASSERT_TRUE(graph.ok()) << graph.status();
    const std::vector<float> x =
        c.batch_first ? Turned(v.x, kSteps, kBatch, kInput) : v.x;
    const absl::string_view bytes(reinterpret_cast<const char*>(x.data()),
                                  x.size() * sizeof(float));
    for (const bool simplified : {false, true}) {
      if (simplified) {
        ASSERT_TRUE(Simplify(*graph).ok());
      }
      const auto outputs = Evaluate(*graph, {bytes});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      ExpectNear((*outputs)[0], want.y);
      ExpectNear((*outputs)[1], want.h);
      if (lstm) ExpectNear((*outputs)[2], want.c);
    }
  }
};

using OnnxLstmTest = OnnxRecurrentTest;
using OnnxGruTest = OnnxRecurrentTest;

TEST_P(OnnxLstmTest, FollowsTheStandard) { ExpectFollowsTheStandard(true); }

TEST_P(OnnxGruTest, FollowsTheStandard) { ExpectFollowsTheStandard(false); }

INSTANTIATE_TEST_SUITE_P(
    All, OnnxLstmTest,
    testing::Values(
        RecurrentCase{.name = "plain"},
        RecurrentCase{.name = "no bias", .bias = false},
        RecurrentCase{.name = "everything at once",
                      .direction = "bidirectional",
                      .functions = {{"HardSigmoid", 0.3f, 0.4f},
                                    {"ScaledTanh", 1.2f, 0.7f},
                                    {"Affine", 0.5f, 0.25f},
                                    {"Sigmoid"},
                                    {"Elu", 0.6f},
                                    {"ThresholdedRelu", 0.1f}},
                      .lengths = true,
                      .initial = true,
                      .peepholes = true,
                      .batch_first = true,
                      .clip = 0.8f},
        RecurrentCase{.name = "default parameters",
                      .direction = "reverse",
                      .functions = {{"HardSigmoid"}, {"Elu"}, {"LeakyRelu"}},
                      .lengths = true,
                      .initial = true,
                      .flag = true},
        RecurrentCase{.name = "default parameters of the others",
                      .functions = {{"Affine"}, {"ThresholdedRelu"}, {"Relu"}},
                      .peepholes = true,
                      .clip = 2},
        RecurrentCase{.name = "soft functions",
                      .direction = "bidirectional",
                      .functions = {{"Softsign"},
                                    {"Softplus"},
                                    {"LeakyRelu", 0.3f},
                                    {"Affine", -0.5f, 0.1f},
                                    {"LeakyRelu", -0.2f},
                                    {"Tanh"}},
                      .initial = true,
                      .peepholes = true,
                      .flag = true}));

INSTANTIATE_TEST_SUITE_P(
    All, OnnxGruTest,
    testing::Values(RecurrentCase{.name = "plain"},
                    RecurrentCase{
                        .name = "no bias", .bias = false, .flag = true},
                    RecurrentCase{.name = "everything at once",
                                  .direction = "bidirectional",
                                  .functions = {{"HardSigmoid", 0.3f, 0.4f},
                                                {"ScaledTanh", 1.2f, 0.7f},
                                                {"Affine", 0.5f, 0.25f},
                                                {"ThresholdedRelu", 0.1f}},
                                  .lengths = true,
                                  .initial = true,
                                  .batch_first = true,
                                  .clip = 0.8f,
                                  .flag = true},
                    RecurrentCase{.name = "soft functions",
                                  .direction = "reverse",
                                  .functions = {{"Softsign"}, {"Softplus"}},
                                  .lengths = true,
                                  .initial = true},
                    RecurrentCase{.name = "one-sided functions",
                                  .direction = "bidirectional",
                                  .functions = {{"Sigmoid"},
                                                {"Elu", 0.6f},
                                                {"LeakyRelu", 0.3f},
                                                {"Relu"}},
                                  .clip = 0.5f}));

TEST(OnnxActivationsTest, ScaledTanhHasNoDefaults) {
  const RecurrentCase c = {
      .name = "", .functions = {{"Sigmoid"}, {"ScaledTanh", 1.0f}, {"Tanh"}}};
  const absl::StatusOr<Graph> graph =
      ImportOnnx(ModelOf(c, RandomValues(c, 4), true).bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("activation_beta"), std::string::npos)
      << graph.status();
}

TEST(OnnxActivationsTest, UnknownFunctionsAreNamed) {
  const RecurrentCase c = {.name = "",
                           .functions = {{"Sigmoid"}, {"Swish"}, {"Tanh"}}};
  const absl::StatusOr<Graph> graph =
      ImportOnnx(ModelOf(c, RandomValues(c, 4), true).bytes());
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.status().message().find("'Swish'"), std::string::npos)
      << graph.status();
}

}  // namespace
}  // namespace edgekiln::compiler
