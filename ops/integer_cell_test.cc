#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "gtest/gtest.h"
#include "ops/fixed_point.h"
#include "ops/requantize.h"
#include "ops/testing/test_tensor.h"

// Integer LSTM and SVDF: near the real cells they stand for, and exact where
// their rule is short enough to be written twice.
namespace edgekiln::ops {
namespace {

constexpr int64_t kSteps = 6, kBatch = 2, kInput = 4, kHidden = 3;

template <typename T>
TestTensor<float> Real(const TestTensor<T>& q) {
  TestTensor<float> real{q.shape};
  for (size_t i = 0; i < q.values.size(); ++i) {
    const size_t row = i / static_cast<size_t>(q.elements() / q.shape[0]);
    const size_t s = q.scale.size() > 1 ? row : 0;
    real.values.push_back(q.scale[s] *
                          static_cast<float>(q.values[i] - q.zero_point[s]));
  }
  return real;
}

template <typename T>
void ExpectNear(const TestTensor<T>& integers, const TestTensor<float>& real,
                float most) {
  const TestTensor<float> got = Real(integers);
  for (size_t i = 0; i < got.values.size(); ++i) {
    ASSERT_NEAR(got.values[i], real.values[i], most) << i;
  }
}

template <typename T>
void ExpectNearRealCell(v1::Lstm::Coupling coupling) {
  constexpr bool kWide = sizeof(T) == 2;
  TestTensor<T> x{{kSteps, kBatch, kInput},
                  {},
                  {kWide ? 1.0f / 8192 : 1.0f / 64},
                  {kWide ? 0 : 5}};
  TestTensor<int8_t> w{{4 * kHidden, kInput}}, r{{4 * kHidden, kHidden}};
  TestTensor<T> h0{{kBatch, kHidden},
                   {},
                   {kWide ? 1.0f / 30000 : 1.0f / 128},
                   {kWide ? 0 : -4}};
  TestTensor<int16_t> c0{{kBatch, kHidden}, {}, {1.0f / 2048}, {0}};
  TestTensor<std::conditional_t<kWide, int64_t, int32_t>> bias{{4 * kHidden}};
  TestTensor<float> real_bias{bias.shape};
  TestRandom random(3);
  for (auto* tensor : {&w, &r}) {
    for (int64_t i = 0; i < 4 * kHidden; ++i) {
      tensor->scale.push_back(random.Float(0.004f, 0.012f));
      tensor->zero_point.push_back(0);
    }
    random.Fill(*tensor);
  }
  random.Fill(x);
  random.Fill(h0);
  random.Fill(bias);
  c0.values.assign(static_cast<size_t>(c0.elements()), 700);
  for (int64_t i = 0; i < 4 * kHidden; ++i) {
    real_bias.values.push_back(static_cast<float>(bias.values[i]) * x.scale[0] *
                               w.scale[i]);
  }
  v1::OpAttributes op;
  op.mutable_lstm()->set_coupling(coupling);
  op.mutable_lstm()->set_cell_clip(0.75f);
  TestTensor<T> all{{kSteps, kBatch, kHidden}, {}, h0.scale, h0.zero_point};
  TestTensor<T> h{h0.shape, {}, h0.scale, h0.zero_point};
  TestTensor<int16_t> c{c0.shape, {}, c0.scale, c0.zero_point};
  const TensorView none;
  absl::Status status = Evaluate(
      op,
      {x.view(), w.view(), r.view(), bias.view(), none, h0.view(), c0.view()},
      {all.mutable_view(), h.mutable_view(), c.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  const auto rx = Real(x), rw = Real(w), rr = Real(r), rh = Real(h0),
             rc = Real(c0);
  TestTensor<float> real_all{all.shape}, real_h{h.shape}, real_c{c.shape};
  status = Evaluate(
      op,
      {rx.view(), rw.view(), rr.view(), real_bias.view(), none, rh.view(),
       rc.view()},
      {real_all.mutable_view(), real_h.mutable_view(), real_c.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  const float most = kWide ? 0.002f : 0.03f;
  ExpectNear(all, real_all, most);
  ExpectNear(h, real_h, most);
  ExpectNear(c, real_c, most);
  // The last state is the last step's.
  EXPECT_TRUE(std::equal(h.values.begin(), h.values.end(),
                         all.values.end() - kBatch * kHidden));
}

class IntegerLstmTest : public testing::TestWithParam<v1::Lstm::Coupling> {};

TEST_P(IntegerLstmTest, StaysNearTheRealCell) {
  ExpectNearRealCell<int8_t>(GetParam());
}

TEST_P(IntegerLstmTest, Int16StaysNearTheRealCell) {
  ExpectNearRealCell<int16_t>(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Couplings, IntegerLstmTest,
                         testing::Values(v1::Lstm::NOT_COUPLED,
                                         v1::Lstm::FORGET_FROM_INPUT,
                                         v1::Lstm::INPUT_FROM_FORGET));

// One unit, one step: every rounding by hand.
TEST(IntegerLstmTest, RoundsAsItsRuleSays) {
  TestTensor<int8_t> x{{1, 1, 1}, {40}, {0.03125f}, {0}};  // 1.25
  TestTensor<int8_t> w{{4, 1}, {64, 32, -64, 48}, {0.015625f}, {0}};
  TestTensor<int8_t> r{{4, 1}, {0, 0, 0, 0}, {0.015625f}, {0}};
  TestTensor<int8_t> h0{{1, 1}, {0}, {0.0078125f}, {0}};
  TestTensor<int16_t> c0{{1, 1}, {2048}, {1.0f / 4096}, {0}};  // 0.5
  TestTensor<int8_t> all{{1, 1, 1}, {}, h0.scale, h0.zero_point};
  TestTensor<int8_t> h{{1, 1}, {}, h0.scale, h0.zero_point};
  TestTensor<int16_t> c{{1, 1}, {}, c0.scale, c0.zero_point};
  v1::OpAttributes op;
  op.mutable_lstm();
  const TensorView none;
  ASSERT_TRUE(
      Evaluate(op,
               {x.view(), w.view(), r.view(), none, none, h0.view(), c0.view()},
               {all.mutable_view(), h.mutable_view(), c.mutable_view()})
          .ok());
  // Sums 1.25 * (1, 0.5, -1, 0.75) are whole steps of 2^-12.
  const auto away = [](double v) { return std::round(v); };
  const double kept = away(FixedSigmoid<int16_t>(-5120, 3) * 2048 / 32768.0);
  const double fresh =
      away(FixedSigmoid<int16_t>(5120, 3) *
           static_cast<double>(FixedTanh<int16_t>(3840, 3)) / (1 << 18));
  EXPECT_EQ(c.values[0], kept + fresh);
  const double hidden = FixedSigmoid<int16_t>(2560, 3) *
                        static_cast<double>(FixedTanh(c.values[0], 3));
  EXPECT_EQ(h.values[0], std::floor(hidden / (1 << 30) * 128 + 0.5));
}

TEST(IntegerLstmTest, PeepholesAndProjection) {
  TestTensor<int8_t> x{{1, 1, 1}, {40}, {0.03125f}, {0}};
  TestTensor<int8_t> w{{4, 1}, {64, 32, -64, 48}, {0.015625f}, {0}};
  TestTensor<int8_t> r{{4, 1}, {0, 0, 0, 0}, {0.015625f}, {0}};
  TestTensor<int8_t> h0{{1, 1}, {3}, {0.0078125f}, {3}};
  TestTensor<int16_t> c0{{1, 1}, {2048}, {1.0f / 4096}, {0}};  // 0.5
  // 0.5 * (1, -2, 3): steps of 2^-12 are whole.
  TestTensor<int16_t> peephole{{3}, {1024, -2048, 3072}, {1.0f / 1024}, {0}};
  TestTensor<int8_t> projection{{1, 1}, {100}, {0.01f}, {0}};
  TestTensor<int32_t> projection_bias{{1}, {500}};
  TestTensor<int8_t> all{{1, 1, 1}, {}, h0.scale, h0.zero_point};
  TestTensor<int8_t> h{{1, 1}, {}, h0.scale, h0.zero_point};
  TestTensor<int16_t> c{{1, 1}, {}, c0.scale, c0.zero_point};
  v1::OpAttributes op;
  for (int i = 0; i < 4; ++i) op.mutable_lstm()->add_intermediate();
  v1::Quantization* hidden_steps = op.mutable_lstm()->add_intermediate();
  hidden_steps->add_scale(0.005f);
  hidden_steps->add_zero_point(-7);
  const TensorView none;
  const absl::Status status =
      Evaluate(op,
               {x.view(), w.view(), r.view(), none, none, h0.view(), c0.view(),
                peephole.view(), projection.view(), projection_bias.view()},
               {all.mutable_view(), h.mutable_view(), c.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  const auto fixed = [](double v) { return static_cast<int16_t>(v * 4096); };
  const double forget = FixedSigmoid(fixed(-1.25 + 1.5), 3);
  const double in = FixedSigmoid(fixed(1.25 + 0.5), 3);
  const double fresh = FixedTanh(fixed(0.9375), 3);
  const double cell =
      std::round(forget * 2048 / 32768) + std::round(in * fresh / (1 << 18));
  EXPECT_EQ(c.values[0], cell);
  // The output gate sees the new cell.
  const auto seen =
      static_cast<int16_t>(2560 + std::floor(cell * -2048 / 1024 + 0.5));
  const double out =
      FixedSigmoid(seen, 3) * static_cast<double>(FixedTanh(c.values[0], 3));
  const double hidden = std::floor(out / (1 << 30) / 0.005 + 0.5) - 7;
  const double sum = (hidden + 7) * 100 + 500;
  EXPECT_EQ(h.values[0], std::floor(sum * 0.01 * 0.005 / 0.0078125 + 0.5) + 3);
}

TEST(IntegerLstmTest, NoUnitsAndYetAnOutput) {
  TestTensor<int8_t> x{{1, 1, 1}, {1}, {1}, {0}};
  TestTensor<int8_t> w{{0, 1}, {}, {1}, {0}}, r = w;
  TestTensor<int8_t> h0{{1, 1}, {1}, {1}, {5}}, h = h0;
  TestTensor<int16_t> c0{{1, 0}, {}, {1.0f / 1024}, {0}}, c = c0;
  TestTensor<int8_t> projection{{1, 0}, {}, {1}, {0}};
  TestTensor<int16_t> norm{{0}, {}, {1}, {0}};
  TestTensor<int8_t> all{{1, 1, 1}, {}, {1}, {5}};
  v1::OpAttributes op;
  for (int i = 0; i < 5; ++i) {
    v1::Quantization* steps = op.mutable_lstm()->add_intermediate();
    steps->add_scale(1);
    steps->add_zero_point(0);
  }
  const TensorView none;
  const absl::Status status =
      Evaluate(op,
               {x.view(), w.view(), r.view(), none, none, h0.view(), c0.view(),
                none, projection.view(), none, norm.view()},
               {all.mutable_view(), h.mutable_view(), c.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(all.values, (std::vector<int8_t>{5}));
}

TEST(IntegerLstmTest, Int16HasNoPeepholes) {
  TestTensor<int16_t> x{{1, 1, 1}, {1}, {1}, {0}}, h0 = x, all = x;
  TestTensor<int8_t> w{{4, 1}, {1, 1, 1, 1}, {1}, {0}};
  h0.shape = {1, 1};
  TestTensor<int16_t> c0{{1, 1}, {1}, {1.0f / 1024}, {0}};
  TestTensor<int16_t> peephole{{3}, {1, 1, 1}, {1}, {0}};
  const TensorView none;
  v1::OpAttributes op;
  op.mutable_lstm();
  std::vector<TensorView> inputs = {x.view(), w.view(),  w.view(), none,
                                    none,     h0.view(), c0.view()};
  EXPECT_TRUE(Evaluate(op, inputs, {all.mutable_view()}).ok());
  inputs.push_back(peephole.view());
  EXPECT_FALSE(Evaluate(op, inputs, {all.mutable_view()}).ok());
}

TEST(IntegerLstmTest, NormalizesEachGateByOneScale) {
  TestTensor<int8_t> x{{1, 1, 1}, {1}, {1}, {0}}, all = x;
  TestTensor<int8_t> w{{8, 1}, std::vector<int8_t>(8, 1), {1}, {0}};
  TestTensor<int8_t> r{{8, 2}, std::vector<int8_t>(16, 1), {1}, {0}};
  TestTensor<int8_t> h0{{1, 2}, {1, 1}, {1}, {0}};
  TestTensor<int16_t> c0{{1, 2}, {1, 1}, {1.0f / 1024}, {0}};
  TestTensor<int16_t> norm{{8},
                           std::vector<int16_t>(8, 1),
                           {1, 1, 2, 2, 3, 3, 4, 4},
                           std::vector<int32_t>(8, 0)};
  all.shape = {1, 1, 2};
  v1::OpAttributes op;
  for (int i = 0; i < 5; ++i) {
    v1::Quantization* steps = op.mutable_lstm()->add_intermediate();
    steps->add_scale(1);
    steps->add_zero_point(0);
  }
  const TensorView none;
  const auto compute = [&] {
    return Evaluate(op,
                    {x.view(), w.view(), r.view(), none, none, h0.view(),
                     c0.view(), none, none, none, norm.view()},
                    {all.mutable_view()});
  };
  const absl::Status status = compute();
  EXPECT_TRUE(status.ok()) << status;
  norm.scale[5] = 2;
  EXPECT_FALSE(compute().ok());
}

TEST(IntegerLstmTest, RefusesWhatItsRuleDoesNotHold) {
  TestTensor<int8_t> x{{1, 1, 1}, {1}, {1}, {0}}, all = x;
  TestTensor<int8_t> w{{4, 1}, {1, 1, 1, 1}, {1}, {0}}, r = w;
  TestTensor<int8_t> h0{{1, 1}, {1}, {1}, {0}}, h = h0;
  TestTensor<int16_t> c0{{1, 1}, {1}, {0.25f / 1024}, {0}};
  TestTensor<int16_t> norm{{4}, {1, 1, 1, 1}, {1}, {0}};
  const TensorView none;
  v1::OpAttributes op;
  op.mutable_lstm();
  const auto compute = [&](const TensorView& extra) {
    TestTensor<int16_t> c{{1, 1}, {}, c0.scale, c0.zero_point};
    return Evaluate(op,
                    {x.view(), w.view(), r.view(), none, none, h0.view(),
                     c0.view(), none, none, none, extra},
                    {all.mutable_view(), h.mutable_view(), c.mutable_view()});
  };
  EXPECT_TRUE(compute(none).ok());
  // Normalization without the scales of what it normalises.
  EXPECT_FALSE(compute(norm.view()).ok());
  // Cells in steps of no power of two, and too coarse ones.
  for (const float scale : {0.0003f, 1.0f / 256}) {
    c0.scale = {scale};
    EXPECT_FALSE(compute(none).ok()) << scale;
  }
}

template <typename S>
void ExpectSvdf(int32_t state_zero) {
  constexpr int64_t kFilters = 6, kMemory = 4, kRank = 2;
  TestTensor<int8_t> x{{kBatch, kInput}, {}, {0.5f}, {7}};
  TestTensor<int8_t> w{{kFilters, kInput}, {}, {0.01f}, {0}};
  TestTensor<S> time{{kFilters, kMemory}, {}, {0.002f}, {0}};
  TestTensor<S> state{{kBatch, kFilters * kMemory}, {}, {0.03f}, {state_zero}};
  TestTensor<int32_t> bias{{kFilters / kRank}};
  TestTensor<int8_t> y{{kBatch, kFilters / kRank}, {}, {0.1f}, {-20}};
  TestTensor<S> next{state.shape, {}, state.scale, state.zero_point};
  TestRandom random(9);
  random.Fill(x);
  random.Fill(w);
  random.Fill(time);
  random.Fill(state);
  random.Fill(bias);
  v1::OpAttributes op;
  op.mutable_svdf()->set_rank(kRank);
  op.mutable_svdf()->mutable_clamp()->set_min(0);
  const absl::Status status =
      Evaluate(op, {x.view(), w.view(), time.view(), bias.view(), state.view()},
               {y.mutable_view(), next.mutable_view()});
  ASSERT_TRUE(status.ok()) << status;
  const FixedPointMultiplier feature =
      QuantizeMultiplier(double{0.5f * 0.01f / 0.03f});
  const FixedPointMultiplier result =
      QuantizeMultiplier(double{0.03f * 0.002f / 0.1f});
  for (int64_t n = 0; n < kBatch; ++n) {
    for (int64_t unit = 0; unit < kFilters / kRank; ++unit) {
      int32_t sum = bias.values[unit];
      for (int64_t f = unit * kRank; f < (unit + 1) * kRank; ++f) {
        int32_t dot = 0;
        for (int64_t k = 0; k < kInput; ++k) {
          dot += (x.values[n * kInput + k] - 7) * w.values[f * kInput + k];
        }
        const int64_t at = (n * kFilters + f) * kMemory;
        const int64_t fresh = std::clamp<int64_t>(
            int64_t{Rescale(dot, feature)} + state_zero,
            std::numeric_limits<S>::min(), std::numeric_limits<S>::max());
        for (int64_t m = 0; m < kMemory; ++m) {
          const int64_t want =
              m + 1 < kMemory ? state.values[at + m + 1] : fresh;
          ASSERT_EQ(next.values[at + m], want);
          sum += static_cast<int32_t>(want - state_zero) *
                 time.values[f * kMemory + m];
        }
      }
      EXPECT_EQ(
          y.values[n * kFilters / kRank + unit],
          std::clamp<int64_t>(int64_t{Rescale(sum, result)} - 20, -20, 127));
    }
  }
}

TEST(IntegerSvdfTest, FollowsItsRule) {
  ExpectSvdf<int16_t>(0);
  ExpectSvdf<int8_t>(11);
}

TEST(IntegerSvdfTest, RefusesStatesOfAnotherScale) {
  TestTensor<int8_t> x{{1, 1}, {1}, {1}, {0}}, w = x, y = x;
  TestTensor<int16_t> time{{1, 1}, {1}, {1}, {0}}, state = time, next = time;
  next.scale = {2};
  v1::OpAttributes op;
  op.mutable_svdf()->set_rank(1);
  EXPECT_FALSE(
      Evaluate(op,
               {x.view(), w.view(), time.view(), TensorView{}, state.view()},
               {y.mutable_view(), next.mutable_view()})
          .ok());
}

}  // namespace
}  // namespace edgekiln::ops
