#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

#include "gtest/gtest.h"
#include "ops/float16.h"
#include "ops/requantize.h"
#include "ops/testing/test_tensor.h"

// Convolutions with groups in one to three dimensions, transposed ones and
// pools against their definitions, coordinate by coordinate.
namespace edgekiln::ops {
namespace {

using Index = std::vector<int64_t>;

int64_t Flat(const Index& shape, const Index& at) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d) offset = offset * shape[d] + at[d];
  return offset;
}

// Calls fn(position) for every position of `shape`.
template <typename Fn>
void ForEachIndex(const Index& shape, const Fn& fn) {
  Index at(shape.size(), 0);
  for (int64_t i = 0; i < NumElements(shape); ++i) {
    int64_t rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) {
      at[d] = rest % shape[d];
    }
    fn(at);
  }
}

v1::Window RandomWindow(TestRandom& random, int dims, int most_padding) {
  v1::Window window;
  for (int d = 0; d < dims; ++d) {
    window.add_stride(static_cast<int32_t>(random.Int(1, 3)));
    window.add_dilation(static_cast<int32_t>(random.Int(1, 2)));
    window.add_pad_before(static_cast<int32_t>(random.Int(0, most_padding)));
    window.add_pad_after(static_cast<int32_t>(random.Int(0, most_padding)));
  }
  return window;
}

v1::Window2d Window2dOf(const v1::Window& window) {
  v1::Window2d w;
  w.set_stride_h(window.stride(0));
  w.set_stride_w(window.stride(1));
  w.set_dilation_h(window.dilation(0));
  w.set_dilation_w(window.dilation(1));
  w.set_pad_top(window.pad_before(0));
  w.set_pad_left(window.pad_before(1));
  w.set_pad_bottom(window.pad_after(0));
  w.set_pad_right(window.pad_after(1));
  return w;
}

// A random layer with everything but values.
struct Layer {
  v1::OpAttributes op;
  v1::Window window;
  Index x, w, y;
  int64_t groups = 1;
  bool transposed = false;
  int dims() const { return window.stride_size(); }

  // Pairs (x element, w element) that output element `at` is the sum of.
  std::vector<std::pair<int64_t, int64_t>> Terms(const Index& at) const {
    std::vector<std::pair<int64_t, int64_t>> terms;
    const int64_t channels = w.back();
    const int64_t group = at.back() / (w[0] / groups);
    ForEachIndex(Index(w.begin() + 1, w.end()), [&](const Index& k) {
      Index from{at[0]}, weight{at.back()};
      for (int d = 0; d < dims(); ++d) {
        int64_t place = 0;
        if (transposed) {
          place = at[1 + d] + window.pad_before(d) - k[d] * window.dilation(d);
          if (place % window.stride(d) != 0) return;
          place /= window.stride(d);
        } else {
          place = at[1 + d] * window.stride(d) - window.pad_before(d) +
                  k[d] * window.dilation(d);
        }
        if (place < 0 || place >= x[1 + d]) return;
        from.push_back(place);
      }
      from.push_back(group * channels + k.back());
      weight.insert(weight.end(), k.begin(), k.end());
      terms.push_back({Flat(x, from), Flat(w, weight)});
    });
    return terms;
  }
};

Layer RandomLayer(uint32_t seed) {
  TestRandom random(seed);
  Layer layer;
  layer.transposed = seed % 3 == 2;
  const int dims = layer.transposed ? static_cast<int>(random.Int(1, 3))
                   : seed % 3 == 0  ? 2
                                    : 3;
  layer.window = RandomWindow(random, dims, layer.transposed ? 1 : 2);
  layer.groups = random.Int(1, 3);
  const int64_t channels = random.Int(1, 5);
  const int64_t outputs = layer.groups * random.Int(1, 19);
  layer.x = {random.Int(1, 2)};
  layer.w = {outputs};
  layer.y = {layer.x[0]};
  auto& transposed = *layer.op.mutable_transposed_conv();
  for (int d = 0; d < dims; ++d) {
    const int64_t in = random.Int(layer.transposed ? 2 : 5, 6);
    const int64_t kernel = random.Int(layer.transposed ? 2 : 1, 3);
    const int64_t reach = (kernel - 1) * layer.window.dilation(d) + 1;
    const int64_t pads = layer.window.pad_before(d) + layer.window.pad_after(d);
    const int64_t extra = random.Int(0, layer.window.stride(d) - 1);
    layer.x.push_back(in);
    layer.w.push_back(kernel);
    layer.y.push_back(layer.transposed
                          ? (in - 1) * layer.window.stride(d) + reach + extra -
                                pads
                          : (in + pads - reach) / layer.window.stride(d) + 1);
    transposed.add_output_pad(static_cast<int32_t>(extra));
  }
  layer.x.push_back(channels * layer.groups);
  layer.w.push_back(channels);
  layer.y.push_back(outputs);
  const auto groups = static_cast<int32_t>(layer.groups);
  if (layer.transposed) {
    *transposed.mutable_window() = layer.window;
    transposed.set_groups(groups);
  } else if (dims == 2) {
    *layer.op.mutable_conv2d()->mutable_window() = Window2dOf(layer.window);
    layer.op.mutable_conv2d()->set_groups(groups);
  } else {
    *layer.op.mutable_conv3d()->mutable_window() = layer.window;
    layer.op.mutable_conv3d()->set_groups(groups);
  }
  return layer;
}

class LayerTest : public testing::TestWithParam<uint32_t> {
 protected:
  const Layer layer_ = RandomLayer(GetParam());
  TestRandom random_{GetParam() + 100};
};

TEST_P(LayerTest, FloatAndDoubleAreSumsOfProducts) {
  TestTensor<float> x{layer_.x}, w{layer_.w}, bias{{layer_.y.back()}};
  TestTensor<double> xd{layer_.x}, wd{layer_.w}, bd{bias.shape};
  random_.Fill(x);
  random_.Fill(w);
  random_.Fill(bias);
  xd.values.assign(x.values.begin(), x.values.end());
  wd.values.assign(w.values.begin(), w.values.end());
  bd.values.assign(bias.values.begin(), bias.values.end());
  TestTensor<float> y{layer_.y};
  TestTensor<double> yd{layer_.y};
  const auto status = Compute(layer_.op, {x.view(), w.view(), bias.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_TRUE(Compute(layer_.op, {xd.view(), wd.view(), bd.view()}, yd).ok());
  ForEachIndex(layer_.y, [&](const Index& at) {
    double sum = bias.values[at.back()];
    for (const auto& [i, j] : layer_.Terms(at)) {
      sum += double{x.values[i]} * double{w.values[j]};
    }
    const int64_t o = Flat(layer_.y, at);
    ASSERT_NEAR(y.values[o], sum, 1e-4);
    ASSERT_NEAR(yd.values[o], sum, 1e-12);
  });
}

TEST_P(LayerTest, Int32Wraps) {
  TestTensor<int32_t> x{layer_.x}, w{layer_.w}, y{layer_.y};
  random_.Fill(x);
  random_.Fill(w);
  for (int32_t& value : x.values) value *= 400000;
  const auto status = Compute(layer_.op, {x.view(), w.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  ForEachIndex(layer_.y, [&](const Index& at) {
    int64_t sum = 0;
    for (const auto& [i, j] : layer_.Terms(at)) {
      sum += int64_t{x.values[i]} * w.values[j];
    }
    ASSERT_EQ(y.values[Flat(layer_.y, at)],
              static_cast<int32_t>(static_cast<uint64_t>(sum)));
  });
}

// uint8 activations and int8 weights with a zero point per channel.
TEST_P(LayerTest, MixedBytesAreExact) {
  TestTensor<uint8_t> x{layer_.x, {}, {0.05f}, {131}};
  TestTensor<int8_t> w{layer_.w}, y{layer_.y, {}, {0.3f}, {-3}};
  for (int64_t o = 0; o < layer_.w[0]; ++o) {
    w.scale.push_back(random_.Float(0.001f, 0.03f));
    w.zero_point.push_back(static_cast<int32_t>(random_.Int(-5, 5)));
  }
  TestTensor<int32_t> bias{{layer_.y.back()}};
  random_.Fill(x);
  random_.Fill(w);
  random_.Fill(bias);
  const auto status = Compute(layer_.op, {x.view(), w.view(), bias.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  ForEachIndex(layer_.y, [&](const Index& at) {
    const int64_t o = at.back();
    int64_t sum = bias.values[o];
    for (const auto& [i, j] : layer_.Terms(at)) {
      sum += int64_t{x.values[i] - 131} * (w.values[j] - w.zero_point[o]);
    }
    const double factor = double{0.05f} * double{w.scale[o]} / double{0.3f};
    const int64_t want =
        Rescale(static_cast<int32_t>(sum), QuantizeMultiplier(factor)) - 3;
    ASSERT_EQ(y.values[Flat(layer_.y, at)],
              std::clamp<int64_t>(want, -128, 127));
  });
}

// 16-bit activations: sums of 64 bits, a multiplier of 15.
TEST_P(LayerTest, Int16FollowsItsRule) {
  const bool narrow = GetParam() % 2 == 0;
  TestTensor<int16_t> x{layer_.x, {}, {0.001f}, {0}};
  TestTensor<int16_t> y{layer_.y, {}, {0.004f}, {0}};
  TestTensor<int8_t> w{layer_.w, {}, {0.02f}, {0}};
  TestTensor<int64_t> bias{{layer_.y.back()}};
  TestTensor<int32_t> bias32{{layer_.y.back()}};
  random_.Fill(x);
  random_.Fill(w);
  random_.Fill(bias);
  bias32.values.assign(bias.values.begin(), bias.values.end());
  const auto status = Compute(
      layer_.op, {x.view(), w.view(), narrow ? bias32.view() : bias.view()}, y);
  ASSERT_TRUE(status.ok()) << status;
  const FixedPointMultiplier m =
      QuantizeMultiplier(double{0.001f} * double{0.02f} / double{0.004f});
  ForEachIndex(layer_.y, [&](const Index& at) {
    int64_t sum = bias.values[at.back()];
    for (const auto& [i, j] : layer_.Terms(at)) {
      sum += int64_t{x.values[i]} * w.values[j];
    }
    const int n = 15 - m.shift;
    const int64_t reduced = (int64_t{m.multiplier} + 32768) >> 16;
    const int64_t want = narrow
                             ? Rescale(static_cast<int32_t>(sum), m)
                             : (sum * reduced + (int64_t{1} << (n - 1))) >> n;
    ASSERT_EQ(y.values[Flat(layer_.y, at)],
              std::clamp<int64_t>(want, -32768, 32767));
  });
}

INSTANTIATE_TEST_SUITE_P(Random, LayerTest, testing::Range(0u, 18u));

class PoolTest : public testing::TestWithParam<uint32_t> {};

TEST_P(PoolTest, IsItsDefinition) {
  TestRandom random(GetParam());
  const int dims = static_cast<int>(GetParam() % 3) + 1;
  v1::OpAttributes op;
  v1::Pool& pool = *op.mutable_pool();
  *pool.mutable_window() = RandomWindow(random, dims, 1);
  pool.set_column_major(GetParam() % 2 == 1);
  pool.set_count_include_pad(GetParam() % 4 < 2);
  Index shape{random.Int(1, 2)}, out{shape[0]}, kernel, space;
  for (int d = 0; d < dims; ++d) {
    kernel.push_back(random.Int(2, 3));
    space.push_back(random.Int(5, 7));
    shape.push_back(space.back());
    pool.add_kernel(static_cast<int32_t>(kernel[d]));
    out.push_back((space[d] + pool.window().pad_before(d) +
                   pool.window().pad_after(d) -
                   (kernel[d] - 1) * pool.window().dilation(d) - 1) /
                      pool.window().stride(d) +
                  1);
  }
  shape.push_back(random.Int(1, 5));
  out.push_back(shape.back());
  TestTensor<float> x{shape}, largest{out}, mean{out};
  TestTensor<int64_t> where{out};
  random.Fill(x);
  // Some equal values, so that "the first" means something.
  for (float& value : x.values) value = std::round(value * 2);
  pool.set_function(v1::Pool::MAXIMUM);
  ASSERT_TRUE(
      Evaluate(op, {x.view()}, {largest.mutable_view(), where.mutable_view()})
          .ok());
  pool.set_function(v1::Pool::AVERAGE);
  ASSERT_TRUE(Compute(op, {x.view()}, mean).ok());
  ForEachIndex(out, [&](const Index& at) {
    double sum = 0, count = 0, best = -1e9;
    int64_t best_index = -1;
    ForEachIndex(kernel, [&](const Index& k) {
      Index from{at[0]}, place;
      for (int d = 0; d < dims; ++d) {
        place.push_back(at[1 + d] * pool.window().stride(d) -
                        pool.window().pad_before(d) +
                        k[d] * pool.window().dilation(d));
        if (place[d] < 0 || place[d] >= space[d]) return;
      }
      from.insert(from.end(), place.begin(), place.end());
      from.push_back(at.back());
      const double value = x.values[Flat(shape, from)];
      sum += value;
      count += 1;
      if (value <= best) return;
      best = value;
      Index reversed(place.rbegin(), place.rend());
      Index extents(space.rbegin(), space.rend());
      const int64_t inside =
          pool.column_major() ? Flat(extents, reversed) : Flat(space, place);
      best_index =
          (at[0] * shape.back() + at.back()) * NumElements(space) + inside;
    });
    const int64_t o = Flat(out, at);
    ASSERT_EQ(largest.values[o], best);
    ASSERT_EQ(where.values[o], best_index);
    if (pool.count_include_pad()) {
      count = static_cast<double>(NumElements(kernel));
    }
    ASSERT_NEAR(mean.values[o], sum / count, 1e-6);
  });
}

INSTANTIATE_TEST_SUITE_P(Random, PoolTest, testing::Range(0u, 24u));

class MaxPoolTest : public testing::TestWithParam<uint32_t> {
 protected:
  // One to three dimensions; pads up to what leaves each window an element of
  // the input.
  MaxPoolTest() {
    const int dims = static_cast<int>(GetParam() % 3) + 1;
    pool_.set_function(v1::Pool::MAXIMUM);
    v1::Window& window = *pool_.mutable_window();
    window = RandomWindow(random_, dims, 0);
    x_ = {random_.Int(1, 2)};
    y_ = {x_[0]};
    for (int d = 0; d < dims; ++d) {
      const int64_t kernel = random_.Int(1, 4);
      const int64_t reach = (kernel - 1) * window.dilation(d);
      // A window that starts or ends with the padding meets the input if this
      // is not narrower than a step.
      const int64_t in = random_.Int(window.dilation(d), 7);
      const int64_t before = reach - random_.Int(0, 1) * (reach / 2);
      int64_t after = reach - random_.Int(0, 1) * (reach / 2);
      if (in + before + after < reach + 1) after = reach;
      window.set_pad_before(d, static_cast<int32_t>(before));
      window.set_pad_after(d, static_cast<int32_t>(after));
      pool_.add_kernel(static_cast<int32_t>(kernel));
      kernel_.push_back(kernel);
      x_.push_back(in);
      y_.push_back((in + before + after - reach - 1) / window.stride(d) + 1);
    }
    x_.push_back(random_.Int(1, 35));
    y_.push_back(x_.back());
  }

  // The largest value of each window.
  template <typename T>
  void ExpectLargest(TestTensor<T> x) {
    random_.Fill(x);
    for (T& value : x.values) {
      // Some windows of the least there is, and some equal values.
      if (random_.Int(0, 1) == 0) value = std::numeric_limits<T>::lowest();
      if (random_.Int(0, 3) == 0) value = T{1};
    }
    TestTensor<T> y{y_, {}, x.scale, x.zero_point};
    const auto status = Compute(op_, {x.view()}, y);
    ASSERT_TRUE(status.ok()) << status;
    ForEachIndex(y_, [&](const Index& at) {
      T best = std::numeric_limits<T>::lowest();
      ForEachIndex(kernel_, [&](const Index& k) {
        Index from{at[0]};
        for (size_t d = 0; d < k.size(); ++d) {
          const auto i = static_cast<int>(d);
          from.push_back(at[1 + d] * pool_.window().stride(i) -
                         pool_.window().pad_before(i) +
                         k[d] * pool_.window().dilation(i));
          if (from.back() < 0 || from.back() >= x_[1 + d]) return;
        }
        from.push_back(at.back());
        best = std::max(best, x.values[Flat(x_, from)]);
      });
      ASSERT_EQ(y.values[Flat(y_, at)], best);
    });
  }

  TestRandom random_{GetParam()};
  v1::OpAttributes op_;
  v1::Pool& pool_ = *op_.mutable_pool();
  Index x_, y_, kernel_;
};

TEST_P(MaxPoolTest, IsTheLargestOfEachWindow) {
  ExpectLargest<float>({x_});
  ExpectLargest<double>({x_});
  ExpectLargest<int8_t>({x_, {}, {0.5f}, {-3}});
  ExpectLargest<uint8_t>({x_, {}, {0.5f}, {7}});
  ExpectLargest<int16_t>({x_, {}, {0.5f}, {0}});
  ExpectLargest<int32_t>({x_});
}

INSTANTIATE_TEST_SUITE_P(Random, MaxPoolTest, testing::Range(0u, 60u));

TEST(Float16Test, ComputesInFloatAndRoundsOnce) {
  v1::OpAttributes op;
  op.mutable_fully_connected();
  // 2048 + 1 is no half; 2048 + 1 + 1 is, if the sum is a float's.
  const std::vector<uint16_t> x = {HalfFromFloat(2048), HalfFromFloat(1),
                                   HalfFromFloat(1)};
  const std::vector<uint16_t> w(3, HalfFromFloat(1));
  std::vector<uint16_t> y(1);
  const Index row = {1, 3}, one = {1, 1};
  const TensorView xv{v1::FLOAT16, row, x.data()};
  const TensorView wv{v1::FLOAT16, row, w.data()};
  const MutableTensorView yv{v1::FLOAT16, one, y.data()};
  const auto status = Evaluate(op, {xv, wv}, {yv});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(FloatFromHalf(y[0]), 2050.0f);
}

TEST(Float16Test, EveryHalfSurvivesAndTiesGoToEven) {
  for (uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<uint16_t>(i);
    const float value = FloatFromHalf(half);
    if (std::isnan(value)) continue;
    ASSERT_EQ(HalfFromFloat(value), half);
  }
  EXPECT_EQ(HalfFromFloat(2049), HalfFromFloat(2048));
  EXPECT_EQ(HalfFromFloat(2051), HalfFromFloat(2052));
  EXPECT_EQ(HalfFromFloat(65519), HalfFromFloat(65504));
  EXPECT_TRUE(std::isinf(FloatFromHalf(HalfFromFloat(65520))));
  EXPECT_EQ(HalfFromFloat(0x1p-25f), 0);
  EXPECT_EQ(HalfFromFloat(0x1.8p-25f), 1);
}

}  // namespace
}  // namespace edgekiln::ops
