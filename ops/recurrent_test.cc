#include <cmath>
#include <functional>
#include <vector>

#include "gtest/gtest.h"
#include "ops/testing/test_tensor.h"

// LSTM, GRU, RNN and SVDF against their equations, one element at a time.
namespace edgekiln::ops {
namespace {

constexpr int64_t kSteps = 4, kBatch = 2, kInput = 3, kHidden = 5;

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct LstmCase {
  uint32_t seed;
  bool reverse, lengths, peephole, projection, norm;
  v1::Lstm::Coupling coupling;
  float clip;
};

class LstmTest : public testing::TestWithParam<LstmCase> {};

TEST_P(LstmTest, FollowsItsEquations) {
  const LstmCase& c = GetParam();
  const int64_t outputs = c.projection ? 2 : kHidden;
  TestTensor<float> x{{kSteps, kBatch, kInput}}, w{{4 * kHidden, kInput}},
      r{{4 * kHidden, outputs}}, bias{{4 * kHidden}}, h0{{kBatch, outputs}},
      c0{{kBatch, kHidden}}, peephole{{3 * kHidden}},
      projection{{outputs, kHidden}}, projection_bias{{outputs}},
      norm{{4 * kHidden}};
  TestTensor<int32_t> lengths{{kBatch}, {4, 2}};
  TestRandom random(c.seed);
  for (TestTensor<float>* tensor : {&x, &w, &r, &bias, &h0, &c0, &peephole,
                                    &projection, &projection_bias, &norm}) {
    random.Fill(*tensor);
    for (float& value : tensor->values) value *= 0.5f;
  }
  v1::OpAttributes op;
  v1::Lstm& lstm = *op.mutable_lstm();
  lstm.set_reverse(c.reverse);
  lstm.set_coupling(c.coupling);
  lstm.set_clip(c.clip);
  lstm.set_cell_clip(c.projection ? 0.4f : 0);
  lstm.set_projection_clip(c.projection ? 0.3f : 0);
  const TensorView none;
  const std::vector<TensorView> inputs = {
      x.view(),
      w.view(),
      r.view(),
      bias.view(),
      c.lengths ? lengths.view() : none,
      h0.view(),
      c0.view(),
      c.peephole ? peephole.view() : none,
      c.projection ? projection.view() : none,
      c.projection ? projection_bias.view() : none,
      c.norm ? norm.view() : none};
  TestTensor<float> all{{kSteps, kBatch, outputs}}, h{{kBatch, outputs}},
      cell{{kBatch, kHidden}};
  const absl::Status status = Evaluate(
      op, inputs, {all.mutable_view(), h.mutable_view(), cell.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;

  for (int64_t n = 0; n < kBatch; ++n) {
    std::vector<double> state(h0.values.begin() + n * outputs,
                              h0.values.begin() + (n + 1) * outputs);
    std::vector<double> memory(c0.values.begin() + n * kHidden,
                               c0.values.begin() + (n + 1) * kHidden);
    const int64_t length = c.lengths ? lengths.values[n] : kSteps;
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = c.reverse ? length - 1 - i : i;
      // gate * H + unit; peepholes of the gate `which` see `seen`.
      const auto gate = [&](int which, const std::vector<double>& seen,
                            const std::function<double(double)>& f) {
        std::vector<double> sums(kHidden);
        for (int64_t u = 0; u < kHidden; ++u) {
          const int64_t row = which * kHidden + u;
          double sum = c.norm ? 0 : bias.values[row];
          for (int64_t k = 0; k < kInput; ++k) {
            sum += double{w.values[row * kInput + k]} *
                   x.values[(t * kBatch + n) * kInput + k];
          }
          for (int64_t k = 0; k < outputs; ++k) {
            sum += double{r.values[row * outputs + k]} * state[k];
          }
          if (c.peephole && which < 3) sum += peephole.values[row] * seen[u];
          sums[u] = sum;
        }
        double mean = 0, variance = 0;
        for (const double s : sums) mean += s / kHidden;
        for (const double s : sums)
          variance += (s - mean) * (s - mean) / kHidden;
        for (int64_t u = 0; u < kHidden; ++u) {
          double s = sums[u];
          if (c.norm) {
            s = (s - mean) / std::sqrt(variance + 1e-8) *
                    norm.values[which * kHidden + u] +
                bias.values[which * kHidden + u];
          }
          if (c.clip > 0) s = std::clamp<double>(s, -c.clip, c.clip);
          sums[u] = f(s);
        }
        return sums;
      };
      const auto tanh = [](double v) { return std::tanh(v); };
      auto in = gate(0, memory, Sigmoid);
      auto forget = gate(2, memory, Sigmoid);
      const auto fresh = gate(3, memory, tanh);
      std::vector<double> hidden(kHidden);
      for (int64_t u = 0; u < kHidden; ++u) {
        if (c.coupling == v1::Lstm::FORGET_FROM_INPUT) forget[u] = 1 - in[u];
        if (c.coupling == v1::Lstm::INPUT_FROM_FORGET) in[u] = 1 - forget[u];
        memory[u] = forget[u] * memory[u] + in[u] * fresh[u];
        if (c.projection) {
          memory[u] = std::clamp<double>(memory[u], -0.4f, 0.4f);
        }
      }
      const auto out = gate(1, memory, Sigmoid);
      for (int64_t u = 0; u < kHidden; ++u) {
        hidden[u] = out[u] * std::tanh(memory[u]);
      }
      for (int64_t p = 0; p < outputs; ++p) {
        state[p] = hidden[p];
        if (!c.projection) continue;
        state[p] = projection_bias.values[p];
        for (int64_t u = 0; u < kHidden; ++u) {
          state[p] += projection.values[p * kHidden + u] * hidden[u];
        }
        state[p] = std::clamp<double>(state[p], -0.3f, 0.3f);
      }
      for (int64_t p = 0; p < outputs; ++p) {
        ASSERT_NEAR(all.values[(t * kBatch + n) * outputs + p], state[p], 1e-5);
      }
    }
    for (int64_t t = length; t < kSteps; ++t) {
      ASSERT_EQ(all.values[(t * kBatch + n) * outputs], 0);
    }
    for (int64_t p = 0; p < outputs; ++p) {
      ASSERT_NEAR(h.values[n * outputs + p], state[p], 1e-5);
    }
    for (int64_t u = 0; u < kHidden; ++u) {
      ASSERT_NEAR(cell.values[n * kHidden + u], memory[u], 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LstmTest,
    testing::Values(
        LstmCase{1, false, false, false, false, false, v1::Lstm::NOT_COUPLED,
                 0},
        LstmCase{2, true, true, true, false, false, v1::Lstm::NOT_COUPLED, 0},
        LstmCase{3, false, true, true, false, false,
                 v1::Lstm::FORGET_FROM_INPUT, 0.5f},
        LstmCase{4, false, false, true, true, true, v1::Lstm::INPUT_FROM_FORGET,
                 0},
        LstmCase{5, true, false, false, true, true, v1::Lstm::NOT_COUPLED, 0}));

class GruTest : public testing::TestWithParam<bool> {};

TEST_P(GruTest, FollowsItsEquations) {
  const bool linear = GetParam();
  TestTensor<float> x{{kSteps, kBatch, kInput}}, w{{3 * kHidden, kInput}},
      r{{3 * kHidden, kHidden}}, wb{{3 * kHidden}}, rb{{3 * kHidden}},
      h0{{kBatch, kHidden}};
  TestTensor<int32_t> lengths{{kBatch}, {3, 4}};
  TestRandom random(linear ? 11 : 12);
  for (TestTensor<float>* tensor : {&x, &w, &r, &wb, &rb, &h0}) {
    random.Fill(*tensor);
    for (float& value : tensor->values) value *= 0.5f;
  }
  v1::OpAttributes op;
  op.mutable_gru()->set_linear_before_reset(linear);
  op.mutable_gru()->mutable_hidden()->set_relu(true);
  TestTensor<float> all{{kSteps, kBatch, kHidden}}, h{{kBatch, kHidden}};
  const absl::Status status = Evaluate(op,
                                       {x.view(), w.view(), r.view(), wb.view(),
                                        rb.view(), lengths.view(), h0.view()},
                                       {all.mutable_view(), h.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t n = 0; n < kBatch; ++n) {
    std::vector<double> state(h0.values.begin() + n * kHidden,
                              h0.values.begin() + (n + 1) * kHidden);
    for (int64_t t = 0; t < lengths.values[n]; ++t) {
      const auto from_x = [&](int64_t row) {
        double sum = wb.values[row];
        for (int64_t k = 0; k < kInput; ++k) {
          sum += double{w.values[row * kInput + k]} *
                 x.values[(t * kBatch + n) * kInput + k];
        }
        return sum;
      };
      const auto from_state = [&](int64_t row, const std::vector<double>& s) {
        double sum = 0;
        for (int64_t k = 0; k < kHidden; ++k) {
          sum += double{r.values[row * kHidden + k]} * s[k];
        }
        return sum;
      };
      std::vector<double> z(kHidden), reset(kHidden), gated(kHidden);
      for (int64_t u = 0; u < kHidden; ++u) {
        z[u] = Sigmoid(from_x(u) + from_state(u, state) + rb.values[u]);
        const int64_t row = kHidden + u;
        reset[u] =
            Sigmoid(from_x(row) + from_state(row, state) + rb.values[row]);
        gated[u] = reset[u] * state[u];
      }
      std::vector<double> next(kHidden);
      for (int64_t u = 0; u < kHidden; ++u) {
        const int64_t row = 2 * kHidden + u;
        const double recurrent =
            linear ? reset[u] * (from_state(row, state) + rb.values[row])
                   : from_state(row, gated) + rb.values[row];
        const double fresh = std::max(0.0, from_x(row) + recurrent);
        next[u] = (1 - z[u]) * fresh + z[u] * state[u];
      }
      state = next;
      for (int64_t u = 0; u < kHidden; ++u) {
        ASSERT_NEAR(all.values[(t * kBatch + n) * kHidden + u], state[u], 1e-5);
      }
    }
    for (int64_t u = 0; u < kHidden; ++u) {
      ASSERT_NEAR(h.values[n * kHidden + u], state[u], 1e-5);
    }
  }
}

class RnnTest : public testing::TestWithParam<bool> {};

TEST_P(RnnTest, FollowsItsEquations) {
  TestTensor<float> x{{kSteps, kBatch, kInput}}, w{{kHidden, kInput}},
      r{{kHidden, kHidden}}, wb{{kHidden}}, rb{{kHidden}},
      h0{{kBatch, kHidden}};
  TestTensor<int32_t> lengths{{kBatch}, {4, 2}};
  TestRandom random(5);
  for (TestTensor<float>* tensor : {&x, &w, &r, &wb, &rb, &h0}) {
    random.Fill(*tensor);
  }
  v1::OpAttributes op;
  op.mutable_rnn()->set_reverse(GetParam());
  op.mutable_rnn()->set_clip(GetParam() ? 0.75f : 0);
  TestTensor<float> all{{kSteps, kBatch, kHidden}}, last{{kBatch, kHidden}};
  const absl::Status status =
      Evaluate(op,
               {x.view(), w.view(), r.view(), wb.view(), rb.view(),
                lengths.view(), h0.view()},
               {all.mutable_view(), last.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  for (int64_t n = 0; n < kBatch; ++n) {
    std::vector<double> state(h0.values.begin() + n * kHidden,
                              h0.values.begin() + (n + 1) * kHidden);
    const int64_t length = lengths.values[n];
    for (int64_t i = 0; i < length; ++i) {
      const int64_t t = GetParam() ? length - 1 - i : i;
      std::vector<double> next(kHidden);
      for (int64_t u = 0; u < kHidden; ++u) {
        double sum = double{wb.values[u]} + rb.values[u];
        for (int64_t k = 0; k < kInput; ++k) {
          sum += double{w.values[u * kInput + k]} *
                 x.values[(t * kBatch + n) * kInput + k];
        }
        for (int64_t k = 0; k < kHidden; ++k) {
          sum += double{r.values[u * kHidden + k]} * state[k];
        }
        if (GetParam()) sum = std::clamp(sum, -0.75, 0.75);
        next[u] = std::tanh(sum);
      }
      state = next;
      for (int64_t u = 0; u < kHidden; ++u) {
        ASSERT_NEAR(all.values[(t * kBatch + n) * kHidden + u], state[u], 1e-5);
      }
    }
    for (int64_t t = length; t < kSteps; ++t) {
      ASSERT_EQ(all.values[(t * kBatch + n) * kHidden], 0);
    }
    for (int64_t u = 0; u < kHidden; ++u) {
      ASSERT_NEAR(last.values[n * kHidden + u], state[u], 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Directions, RnnTest, testing::Bool());

INSTANTIATE_TEST_SUITE_P(Resets, GruTest, testing::Bool());

TEST(SvdfTest, RemembersWhatItSaw) {
  constexpr int64_t kFilters = 4, kMemory = 3;
  TestTensor<float> x{{1, kInput}}, w{{kFilters, kInput}},
      time{{kFilters, kMemory}}, bias{{2}}, state{{1, kFilters * kMemory}},
      y{{1, 2}}, next{{1, kFilters * kMemory}};
  TestRandom random(21);
  for (TestTensor<float>* tensor : {&x, &w, &time, &bias, &state}) {
    random.Fill(*tensor);
  }
  v1::OpAttributes op;
  op.mutable_svdf()->set_rank(2);
  op.mutable_svdf()->mutable_clamp()->set_min(0);
  ASSERT_TRUE(
      Evaluate(op, {x.view(), w.view(), time.view(), bias.view(), state.view()},
               {y.mutable_view(), next.mutable_view()})
          .ok());
  for (int64_t unit = 0; unit < 2; ++unit) {
    double sum = bias.values[unit];
    for (int64_t f = 2 * unit; f < 2 * unit + 2; ++f) {
      double fresh = 0;
      for (int64_t k = 0; k < kInput; ++k) {
        fresh += double{x.values[k]} * w.values[f * kInput + k];
      }
      EXPECT_NEAR(next.values[f * kMemory + 2], fresh, 1e-5);
      EXPECT_EQ(next.values[f * kMemory], state.values[f * kMemory + 1]);
      EXPECT_EQ(next.values[f * kMemory + 1], state.values[f * kMemory + 2]);
      for (int64_t m = 0; m < kMemory; ++m) {
        sum +=
            double{next.values[f * kMemory + m]} * time.values[f * kMemory + m];
      }
    }
    EXPECT_NEAR(y.values[unit], std::max(0.0, sum), 1e-5);
  }
}

}  // namespace
}  // namespace edgekiln::ops
