#include "tests/chips/diana_case.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "simfarm/conformance/register_job/diana_analog_programs.h"
#include "simfarm/conformance/register_job/diana_programs.h"
#include "simfarm/conformance/register_job/hand_counted_programs.h"
#include "simfarm/conformance/register_job/naive_program.h"
#include "tests/chips/case_parts.h"

namespace edgekiln::tests {
namespace {

v1::ResolvedTarget DianaTarget(const std::string& settings, int64_t l1_bytes) {
  return ExtendingTarget("diana", settings, l1_bytes);
}

// What sizes of tiles do not depend on.
std::string RandomDianaSettings(Rng& rng) {
  return SettingsText(
      {{"job_cycles", OneOf<int64_t>(rng, {425, 5000})},
       {"tile_cycles", OneOf<int64_t>(rng, {0, 50})},
       {"depthwise_cycles", OneOf<int64_t>(rng, {100, 175, 4000})},
       {"dma_setup_cycles", OneOf<int64_t>(rng, {0, 40, 3000})},
       {"dma_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16})},
       {"fetch_bytes_per_cycle", OneOf<int64_t>(rng, {1, 16})},
       {"analog_job_cycles", OneOf<int64_t>(rng, {300, 2025})},
       {"analog_position_cycles", OneOf<int64_t>(rng, {1, 9, 500})},
       {"cell_bytes_per_cycle", OneOf<int64_t>(rng, {1, 7, 64})},
       {"poll_cycles", OneOf<int64_t>(rng, {1, 8, 100})}});
}

// Kernels of 1, 3, 5 or 7, padded to whole images.
WindowCase RandomDianaWindow(Rng& rng) {
  WindowCase window;
  window.stride[0] = window.stride[1] = static_cast<int32_t>(rng.InRange(1, 2));
  for (int axis = 0; axis < 2; ++axis) {
    window.kernel[axis] = OneOf<int64_t>(rng, {1, 3, 5, 7});
    const auto pad = static_cast<int32_t>(window.kernel[axis] / 2);
    window.pad[2 * axis] = window.pad[2 * axis + 1] = pad;
  }
  return window;
}

// An image, often of one row, one column or one pixel.
compiler::TensorId RandomDianaImage(QuantizedGraphBuilder& builder,
                                    int64_t channels) {
  Rng& rng = builder.rng();
  const auto extent = [&] {
    return rng.Below(3) == 0 ? 1 : rng.InRange(2, 11);
  };
  const int64_t h = extent();
  return builder.Input({1, h, extent(), channels});
}

compiler::Graph RandomDianaConv(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const compiler::TensorId x =
      RandomDianaImage(builder, OneOf<int64_t>(rng, {1, 2, 16, 17, 35}));
  return builder.Finish(
      {builder.Conv(x, OneOf<int64_t>(rng, {2, 15, 16, 17, 33}),
                    RandomDianaWindow(rng), rng.Below(2) == 0)});
}

compiler::Graph RandomDianaDepthwise(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const compiler::TensorId x =
      RandomDianaImage(builder, OneOf<int64_t>(rng, {1, 3, 4, 5, 15, 16, 17}));
  return builder.Finish(
      {builder.Depthwise(x, 1, RandomDianaWindow(rng), rng.Below(2) == 0)});
}

// Kernels that get a row or a column of zeros.
compiler::Graph RandomDianaEvenKernels(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const auto window = [&] {
    WindowCase window;
    window.stride[0] = window.stride[1] =
        static_cast<int32_t>(rng.InRange(1, 2));
    for (int axis = 0; axis < 2; ++axis) {
      const auto half = static_cast<int32_t>(rng.InRange(1, 3));
      window.kernel[axis] = axis == 0 || rng.Below(2) == 0 ? 2 * half : 1;
      if (window.kernel[axis] == 1) continue;
      window.pad[2 * axis] = half - static_cast<int32_t>(rng.Below(2));
      window.pad[2 * axis + 1] = half;
    }
    return window;
  };
  compiler::TensorId x = RandomDianaImage(builder, rng.InRange(1, 18));
  x = builder.Conv(x, rng.InRange(2, 20), window(), rng.Below(2) == 0);
  return builder.Finish({builder.Depthwise(x, 1, window(), false)});
}

// Kernels and strides that the arrays have for the phases of the image alone,
// behind another layer and by themselves.
compiler::Graph RandomDianaPhases(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const auto window = [&] {
    WindowCase window;
    for (int axis = 0; axis < 2; ++axis) {
      window.kernel[axis] = rng.InRange(axis == 0 ? 8 : 2, 10);
      window.stride[axis] = static_cast<int32_t>(rng.InRange(1, 3));
      if (axis == 0) window.stride[axis] = std::max(window.stride[axis], 2);
      const auto half = static_cast<int32_t>(window.kernel[axis] / 2);
      window.pad[2 * axis] = half - static_cast<int32_t>(rng.Below(2));
      window.pad[2 * axis + 1] = half;
    }
    return window;
  };
  compiler::TensorId x = builder.Input(
      {1, rng.InRange(6, 20), rng.InRange(6, 12), rng.InRange(1, 5)});
  x = builder.Conv(x, rng.InRange(4, 18), window(), rng.Below(2) == 0);
  const compiler::TensorId y =
      builder.Conv(x, rng.InRange(8, 20), window(), rng.Below(2) == 0);
  return builder.Finish({y, builder.Conv(x, 8, {}, false)});
}

// A tensor and itself, then that and the tensor.
compiler::Graph RandomDianaSums(QuantizedGraphBuilder& builder) {
  const compiler::TensorId x =
      RandomDianaImage(builder, builder.rng().InRange(1, 20));
  const compiler::TensorId y = builder.Add(x, x);
  return builder.Finish({builder.Add(y, x), y});
}

// Layers of the array, channels of all counts.
compiler::Graph RandomDianaNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const auto window = [&] { return RandomDianaWindow(rng); };
  compiler::TensorId x = builder.Input(
      {1, rng.InRange(3, 11), rng.InRange(3, 11), rng.InRange(2, 20)});
  x = builder.Conv(x, rng.InRange(2, 40), window(), rng.Below(2) == 0);
  x = builder.Depthwise(x, 1, window(), rng.Below(2) == 0);
  const compiler::TensorId y = builder.Conv(x, builder.shape(x)[3], {}, false);
  x = builder.Add(x, y);
  const compiler::TensorId z = builder.Reshape(x, {1, builder.num_elements(x)});
  return builder.Finish({builder.FullyConnected(z, rng.InRange(1, 40)), x});
}

// Blocks of a residual network.
compiler::Graph RandomDianaBlocks(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  WindowCase three;
  three.kernel[0] = three.kernel[1] = 3;
  for (int32_t& pad : three.pad) pad = 1;
  compiler::TensorId x = builder.Input(
      {1, rng.InRange(3, 9), rng.InRange(3, 9), rng.InRange(2, 20)});
  for (int block = 0; block < 2; ++block) {
    const int64_t channels = builder.shape(x)[3];
    compiler::TensorId y = builder.Conv(x, channels, three, true);
    y = builder.Conv(y, channels, three, false);
    x = builder.Add(x, y);
    x = builder.Depthwise(x, 1, three, false);
  }
  return builder.Finish({x});
}

// An average over planes of any number of bytes, of what one layer made.
compiler::Graph RandomDianaPools(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  compiler::TensorId x = builder.Input(
      {1, rng.InRange(3, 9), rng.InRange(3, 9), rng.InRange(2, 20)});
  x = builder.Conv(x, 4 * rng.InRange(1, 5), {}, true);
  WindowCase whole;
  whole.kernel[0] = builder.shape(x)[1];
  whole.kernel[1] = builder.shape(x)[2];
  x = builder.AveragePool(x, whole);
  const compiler::TensorId y = builder.Reshape(x, {1, builder.num_elements(x)});
  return builder.Finish({builder.FullyConnected(y, rng.InRange(2, 20))});
}

// Dense layers of one row.
compiler::Graph RandomDianaDense(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  compiler::TensorId x = builder.Input({1, rng.InRange(1, 70)});
  for (int layer = 0; layer < 3; ++layer) {
    x = builder.FullyConnected(x, rng.InRange(1, 50));
  }
  return builder.Finish({x});
}

// A layer of the analog array, perhaps on several jobs.
compiler::Graph RandomDianaCells(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const compiler::TensorId x =
      RandomDianaImage(builder, OneOf<int64_t>(rng, {1, 3, 16, 40, 65}));
  WindowCase window = RandomDianaWindow(rng);
  if (builder.shape(x)[3] > 20) window = {};
  return builder.Finish(
      {builder.Conv(x, OneOf<int64_t>(rng, {1, 2, 16, 33, 130, 530}), window,
                    rng.Below(2) == 0)});
}

// Layers of both arrays that read each other's.
compiler::Graph RandomDianaPairs(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  WindowCase three;
  three.kernel[0] = three.kernel[1] = 3;
  for (int32_t& pad : three.pad) pad = 1;
  compiler::TensorId x = builder.Input(
      {1, rng.InRange(2, 9), rng.InRange(2, 9), rng.InRange(2, 20)});
  x = builder.Conv(x, rng.InRange(2, 70), {}, rng.Below(2) == 0);
  for (int block = 0; block < 2; ++block) {
    const int64_t channels = builder.shape(x)[3];
    compiler::TensorId y = builder.Conv(x, rng.InRange(1, 12), three, true);
    y = builder.Conv(y, channels, {}, false);
    x = builder.Add(x, y);
  }
  return builder.Finish({x});
}

}  // namespace

ChipCase Diana() {
  ChipCase chip;
  chip.name = "diana";
  chip.targets = {"diana", "diana-cpu", "diana-digital", "diana-digital-unit"};
  chip.target = [](int64_t l1_bytes) { return DianaTarget("", l1_bytes); };
  chip.random_target = [](Rng& rng, int64_t l1_bytes) {
    return DianaTarget(RandomDianaSettings(rng), l1_bytes);
  };
  chip.random_descriptor = [](Rng& rng) {
    const Settings sizes = {
        {"l1_bytes", OneOf<int64_t>(rng, {2000, 8192, 20'001, 262'144})},
        {"weight_bytes", OneOf<int64_t>(rng, {1000, 4096, 65'536})},
        {"l2_bytes", OneOf<int64_t>(rng, {40'000, 100'000, 524'288})}};
    return absl::StrCat("extends: \"diana\"\n", RandomDianaSettings(rng),
                        SettingsText(sizes));
  };
  chip.naive_program = simfarm::conformance::register_job::RunNaiveProgram;
  chip.hand_counted_programs =
      simfarm::conformance::register_job::HandCountedOfDiana();
  chip.random_code = RandomRegisterWrites;
  chip.arithmetic = [](QuantizedGraphBuilder& builder) {
    builder.UseShifts(v1::FLOOR);
    builder.ShareScale();
  };
  chip.graphs = {{"Layers", 1000, RandomDianaNet},
                 {"Blocks", 3000, RandomDianaBlocks},
                 {"Dense", 5000, RandomDianaDense},
                 {"Conv", 6000, RandomDianaConv},
                 {"Depthwise", 7000, RandomDianaDepthwise},
                 {"EvenKernels", 7500, RandomDianaEvenKernels},
                 {"Phases", 7700, RandomDianaPhases, /*needs_host=*/true},
                 {"Sums", 8000, RandomDianaSums},
                 {"Pools", 9000, RandomDianaPools}};
  chip.seeds = 2;
  chip.random_chips = 4;
  chip.roomy_targets = {DianaTarget("", 256 << 10), DianaTarget("", 48 << 10)};
  return chip;
}

ChipCase AnalogDiana() {
  ChipCase chip = Diana();
  chip.name = "diana_analog";
  chip.targets = {"diana", "diana-analog", "diana-analog-unit"};
  chip.hand_counted_programs =
      simfarm::conformance::register_job::HandCountedOfAnalogDiana();
  chip.arithmetic = [](QuantizedGraphBuilder& builder) {
    builder.UseShifts(v1::FLOOR);
    builder.ShareScale();
    builder.UseConverters(60);
    builder.LeaveOutConvertedBiases();
  };
  chip.graphs = {{"Cells", 11000, RandomDianaCells},
                 {"Pairs", 3000, RandomDianaPairs},
                 {"Layers", 1000, RandomDianaNet}};
  return chip;
}

}  // namespace edgekiln::tests
