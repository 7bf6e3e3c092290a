#include "tests/chips/random_graphs.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace edgekiln::tests {

using compiler::Graph;
using compiler::TensorId;

Graph RandomConv(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 20)});
  x = builder.Conv(x, rng.InRange(1, 70), RandomWindow(rng, h, w, true),
                   rng.Below(2) == 0);
  return builder.Finish({x});
}

Graph RandomDepthwise(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 20)});
  x = builder.Depthwise(x, rng.InRange(1, 5), RandomWindow(rng, h, w, true),
                        rng.Below(2) == 0);
  return builder.Finish({x});
}

Graph RandomFullyConnected(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  TensorId x = builder.Input({rng.InRange(1, 9), rng.InRange(1, 60)});
  x = builder.FullyConnected(x, rng.InRange(1, 90));
  return builder.Finish({x});
}

Graph RandomPool(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  const TensorId x = builder.Input({1, h, w, rng.InRange(1, 40)});
  const WindowCase window = RandomWindow(rng, h, w, false);
  const TensorId y = rng.Below(2) == 0 ? builder.AveragePool(x, window)
                                       : builder.MaxPool(x, window);
  return builder.Finish({y});
}

Graph RandomResidualNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(5, 13), w = rng.InRange(5, 13);
  WindowCase same;
  same.kernel[0] = same.kernel[1] = 3;
  for (int32_t& pad : same.pad) pad = 1;
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 4)});
  x = builder.Conv(x, rng.InRange(4, 30), same, true);
  for (int block = 0; block < 2; ++block) {
    TensorId y = builder.Depthwise(x, 1, same, true);
    y = builder.Conv(y, builder.shape(x)[3], {}, false);
    x = builder.Add(x, y);
    if (rng.Below(3) == 0) x = builder.Add(x, x);
  }
  WindowCase pool;
  pool.kernel[0] = builder.shape(x)[1];
  pool.kernel[1] = builder.shape(x)[2];
  const TensorId features = builder.AveragePool(x, pool);
  TensorId y = builder.Reshape(features, {1, builder.shape(features)[3]});
  y = builder.FullyConnected(y, 10);
  return builder.Finish({y, x});
}

Graph RandomChain(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(4, 14);
  const int64_t w = rng.InRange(4, 14);
  TensorId x = builder.Input({1, h, w, rng.InRange(1, 9)});
  x = builder.Conv(x, rng.InRange(1, 40), RandomWindow(rng, h, w, true), true);
  x = builder.Depthwise(
      x, rng.InRange(1, 3),
      RandomWindow(rng, builder.shape(x)[1], builder.shape(x)[2], true), false);
  const TensorId y = builder.Conv(x, builder.shape(x)[3], {}, false);
  x = builder.Add(x, y);
  return builder.Finish({x});
}

Graph RandomMaps(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const bool image = rng.Below(2) == 0;
  TensorId x = builder.Input(image ? std::vector<int64_t>{1, rng.InRange(1, 13),
                                                          rng.InRange(1, 13),
                                                          rng.InRange(1, 40)}
                                   : RandomShape(rng, rng.InRange(1, 400)));
  // Half to even, their products are ties as floats as well: scales are powers
  // of two then.
  const float slopes[] = {0, 0.125f, 0.25f, 0.5f, 0.2f, 1, 1.5f};
  TensorId before = x;
  const auto add = [&](char layer) {
    switch (layer) {
      case 'r':
        return builder.Relu(x);
      case 'l':
        return builder.LeakyRelu(x, slopes[rng.Below(std::size(slopes))]);
      case 'a':
        return builder.Abs(x);
      case 'm':
        return builder.Minimum(x, before);
      default:
        return builder.Maximum(before, x);
    }
  };
  std::string layers = "rlamM";
  for (size_t i = layers.size() - 1; i > 0; --i) {
    std::swap(layers[i], layers[rng.Below(i + 1)]);
  }
  for (const char layer : layers) {
    before = std::exchange(x, add(layer));
    if (rng.Below(4) == 0) before = x;
  }
  return builder.Finish({x});
}

Graph RandomElementwiseNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  TensorId x = builder.Input(
      {1, rng.InRange(1, 13), rng.InRange(1, 13), rng.InRange(1, 40)});
  for (int layer = 0; layer < 2; ++layer) {
    const TensorId before = x;
    x = builder.Add(x, x);
    if (rng.Below(2) == 0) x = builder.Add(before, x);
    if (rng.Below(2) == 0) {
      const std::vector<int64_t> shape = builder.shape(x);
      x = builder.Reshape(x, RandomShape(rng, builder.num_elements(x)));
      x = builder.Reshape(x, shape);
    }
    x = builder.MaxPool(
        x, RandomWindow(rng, builder.shape(x)[1], builder.shape(x)[2], false));
  }
  return builder.Finish({x});
}

}  // namespace edgekiln::tests
