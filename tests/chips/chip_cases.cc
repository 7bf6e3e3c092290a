#include "tests/chips/chip_cases.h"

#include <memory>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "simfarm/conformance/dla/dla_models.h"
#include "simfarm/conformance/dla/hand_counted.h"
#include "simfarm/conformance/register_job/diana_programs.h"
#include "simfarm/conformance/register_job/hand_counted_programs.h"
#include "simfarm/conformance/register_job/naive_program.h"
#include "simfarm/conformance/register_job/random_jobs.h"
#include "simfarm/simulators/dla/micro_kernel.h"
#include "testing/tiny_vector/conformance/models.h"
#include "tests/chips/random_graphs.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

template <typename Value>
Value OneOf(Rng& rng, const std::vector<Value>& values) {
  return values.at(rng.InRange(0, static_cast<int64_t>(values.size()) - 1));
}

// `depthwise`: 2 by a command of its own, 1 by convolutions.
v1::ResolvedTarget DlaTarget(int64_t pes, bool output_parallel,
                             int64_t depthwise, int64_t sram_bytes) {
  return TargetWithScratchpad(
      absl::StrCat(
          "extends: \"dla\" set { name: \"pes\" value: ", pes,
          " } set { name: \"output_parallel\" value: ", output_parallel ? 1 : 0,
          " } set { name: \"depthwise\" value: ", depthwise, " }"),
      sram_bytes);
}

// Of a chip with streams, which `random_models` makes.
std::function<RandomCode(Rng& rng)> RandomStreams(
    simfarm::conformance::ChipSource random_models) {
  return [random_models = std::move(random_models)](Rng& rng) -> RandomCode {
    const std::shared_ptr<simfarm::conformance::ChipModels> models =
        random_models(rng);
    return {.machine = models->machine(),
            .word_bytes = models->machine().engines(0).isa().word_bytes(),
            .next = [models](Rng& rng) {
              return models->RandomProgram(6, rng).code;
            }};
  };
}

std::string RandomDlaDescriptor(Rng& rng) {
  const std::vector<std::pair<std::string, int64_t>> settings = {
      {"pes", OneOf<int64_t>(rng, {1, 3, 16, 63, 64, 96, 128, 1024})},
      {"output_parallel", rng.InRange(0, 1)},
      {"depthwise", rng.InRange(0, 2)},
      {"fused_requantization", rng.InRange(0, 1)},
      {"sram_bytes",
       OneOf<int64_t>(rng, {3000, 8192, 20'001, 65'536, 200'000, 1 << 20})},
      {"dma_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
      {"dma_setup_cycles", OneOf<int64_t>(rng, {0, 20, 5000})},
      {"fill_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
      {"queue_depth", OneOf<int64_t>(rng, {1, 2, 4, 64})},
      {"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
      {"decode_cycles", OneOf<int64_t>(rng, {1, 4, 200})},
      {"host_clock_hz", OneOf<int64_t>(rng, {1'000'000, 333'333'333})},
      {"ram_bytes", OneOf<int64_t>(rng, {2000, 40'000, 64 << 20})},
      {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
  std::string text = "extends: \"dla\"\n";
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
}

// Of what every engine with convolutions takes.
std::vector<GraphKind> CommonGraphs() {
  return {{"Conv", 1000, RandomConv},
          {"Depthwise", 2000, RandomDepthwise},
          {"FullyConnected", 3000, RandomFullyConnected},
          {"Pools", 4000, RandomPool},
          {"ResidualNet", 5000, RandomResidualNet},
          {"Reshapes", 6000, RandomReshapeNet},
          {"Chain", 100, RandomChain}};
}

ChipCase Dla() {
  ChipCase chip;
  chip.name = "dla";
  chip.targets = {"dla"};
  for (const char* pes : {"64", "128"}) {
    for (const char* parallel : {"i", "o"}) {
      for (const char* sram : {"512k", "1m", "256m"}) {
        chip.targets.push_back(
            absl::StrCat("dla-", pes, "-", parallel, "-", sram));
      }
    }
  }
  for (const char* depthwise : {"swdw", "nodw"}) {
    for (const char* pes : {"64", "128"}) {
      for (const char* parallel : {"i", "o"}) {
        for (const char* sram : {"512k", "256m"}) {
          chip.targets.push_back(absl::StrCat("dla-", pes, "-", parallel, "-",
                                              sram, "-", depthwise));
        }
      }
    }
  }
  chip.targets.push_back("unit");

  chip.random_models = simfarm::conformance::dla::NewRandomDlaModels;
  chip.has_cpu_path = simfarm::dla::HasCpuPath;
  chip.hand_counted = simfarm::conformance::dla::HandCountedPrograms();
  chip.least_noticed_percent = 50;
  chip.random_code = RandomStreams(chip.random_models);

  chip.weight_zero_points = true;
  chip.target = [](int64_t scratchpad_bytes) {
    return DlaTarget(64, true, 2, scratchpad_bytes);
  };
  chip.random_target = [](Rng& rng, int64_t scratchpad_bytes) {
    const int64_t pes = rng.InRange(1, 130);
    const bool output_parallel = rng.Below(2) == 0;
    return DlaTarget(pes, output_parallel, rng.InRange(1, 2), scratchpad_bytes);
  };
  chip.random_descriptor = RandomDlaDescriptor;
  chip.graphs = CommonGraphs();
  chip.graphs.push_back({"Maps", 9000, RandomMaps});
  chip.rounds_half_even = true;
  chip.roomy_targets = {
      DlaTarget(64, true, 2, 512 << 10), DlaTarget(128, false, 2, 1 << 20),
      DlaTarget(96, true, 2, 192 << 10), DlaTarget(96, false, 1, 48 << 10),
      DlaTarget(64, true, 2, 24 << 10)};
  chip.networks = {"resnet8_int8.tflite",
                   "dscnn_int8.tflite",
                   "ad_int8.tflite",
                   "person_detect_int8.tflite",
                   "htvm_resnet8_digital.onnx",
                   "htvm_dscnn_digital.onnx",
                   "htvm_ad_digital.onnx"};
  return chip;
}

v1::ResolvedTarget ToyTarget(const std::string& name,
                             const std::string& settings,
                             int64_t memory_bytes) {
  return TargetWithScratchpad(
      absl::StrCat("extends: \"", name, "\" ", settings), memory_bytes);
}

// What sizes of tiles do not depend on.
std::string RandomToySettings(Rng& rng) {
  const std::vector<std::pair<std::string, int64_t>> settings = {
      {"macs_a", OneOf<int64_t>(rng, {1, 16, 64, 100})},
      {"fill_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
      {"link_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
      {"link_setup_cycles", OneOf<int64_t>(rng, {0, 16, 5000})},
      {"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
      {"poll_cycles", OneOf<int64_t>(rng, {1, 7, 300})}};
  std::string text;
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
}

// Offset and value of each write, 32 bits each.
RandomCode RandomRegisterWrites(Rng& rng) {
  using simfarm::conformance::register_job::RandomProgram;
  const v1::Machine machine =
      simfarm::conformance::register_job::RandomMachine(rng);
  const auto next = [machine](Rng& rng) {
    std::string code;
    for (const auto& write : RandomProgram(machine, 0, 2, rng).writes) {
      for (const uint32_t word : {write.offset, write.value}) {
        for (int shift = 0; shift < 32; shift += 8) {
          code.push_back(static_cast<char>(word >> shift));
        }
      }
    }
    return code;
  };
  return {.machine = machine, .word_bytes = 8, .next = next};
}

// Driven by the host: no streams, hence nothing of them. `choice` is a
// parameter of the chip from 0 to `most_choice`, if it has one.
ChipCase ToyOf(
    const std::string& name, const std::string& memory_parameter,
    const std::string& choice, int64_t most_choice,
    std::vector<simfarm::conformance::HandCountedProgram> hand_counted) {
  ChipCase chip;
  chip.name = absl::StrReplaceAll(name, {{"-", "_"}});
  chip.targets = {name};
  chip.target = [name](int64_t memory_bytes) {
    return ToyTarget(name, "", memory_bytes);
  };
  chip.random_target = [name](Rng& rng, int64_t memory_bytes) {
    return ToyTarget(name, RandomToySettings(rng), memory_bytes);
  };
  chip.random_descriptor = [=](Rng& rng) {
    const std::vector<std::pair<std::string, int64_t>> sizes = {
        {"block", OneOf<int64_t>(rng, {1, 2, 8, 16, 20})},
        {choice, rng.InRange(0, most_choice)},
        {memory_parameter,
         OneOf<int64_t>(rng, {3000, 8192, 20'001, 65'536, 200'000, 1 << 20})},
        {"ram_bytes", OneOf<int64_t>(rng, {2000, 64 << 20, 64 << 20})},
        {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
    std::string text =
        absl::StrCat("extends: \"", name, "\"\n", RandomToySettings(rng));
    for (const auto& [key, value] : sizes) {
      if (key.empty()) continue;
      absl::StrAppend(&text, "set { name: \"", key, "\" value: ", value,
                      " }\n");
    }
    return text;
  };
  chip.naive_program = simfarm::conformance::register_job::RunNaiveProgram;
  chip.hand_counted_programs = std::move(hand_counted);
  chip.random_code = RandomRegisterWrites;
  chip.graphs = CommonGraphs();
  chip.seeds = 6;
  chip.random_chips = 8;
  chip.roomy_targets = {
      ToyTarget(name, "", 256 << 10),
      ToyTarget(name, "set { name: \"block\" value: 8 }", 24 << 10)};
  return chip;
}

ChipCase Toy(
    const std::string& name, const std::string& memory_parameter,
    std::vector<simfarm::conformance::HandCountedProgram> hand_counted) {
  const bool two = name == "toy-two-array";
  ChipCase chip =
      ToyOf(name, memory_parameter, two ? "a_requantizes" : "requantizes",
            two ? 1 : 2, std::move(hand_counted));
  chip.targets.push_back(absl::StrCat(name, "-unit"));
  if (!two) {
    chip.targets.push_back("toy-array-b8");
    chip.targets.push_back("toy-array-tensor");
  }
  chip.targets.push_back(absl::StrCat(name, "-int32"));
  chip.rounds_half_even = true;
  chip.even_seeds = 3;
  chip.networks = Dla().networks;
  return chip;
}

// Additions and maximum pools, which is all that the engine below has, with
// reshapes between them.
compiler::Graph RandomElementwiseNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  compiler::TensorId x = builder.Input(
      {1, rng.InRange(1, 13), rng.InRange(1, 13), rng.InRange(1, 40)});
  for (int layer = 0; layer < 2; ++layer) {
    const compiler::TensorId before = x;
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

compiler::Graph RandomMaxPool(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  const compiler::TensorId x = builder.Input({1, h, w, rng.InRange(1, 40)});
  return builder.Finish({builder.MaxPool(x, RandomWindow(rng, h, w, false))});
}

// Made to exercise arithmetic: less of what the others show as well. Published
// networks are for other arithmetic; the host would run them.
void ShowArithmetic(ChipCase& chip) {
  chip.seeds = 4;
  chip.even_seeds = 2;
  chip.random_chips = 4;
}

ChipCase ToyShift(v1::Rounding rounding) {
  const bool down = rounding == v1::FLOOR;
  const std::string name = down ? "toy-shift-floor" : "toy-shift";
  ChipCase chip =
      ToyOf(name, "tile_mem_bytes", "", 0,
            simfarm::conformance::register_job::HandCountedOfShifts(down));
  chip.targets = {"toy-shift", down ? name : "toy-shift-unit"};
  ShowArithmetic(chip);
  chip.arithmetic = [rounding](QuantizedGraphBuilder& builder) {
    builder.UseShifts(rounding);
  };
  return chip;
}

// Layers of toy-ternary: others would be the host's.
compiler::Graph RandomTernaryNet(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(4, 13), w = rng.InRange(4, 13);
  compiler::TensorId x = builder.Input({1, h, w, rng.InRange(1, 9)});
  x = builder.Conv(x, rng.InRange(1, 40), RandomWindow(rng, h, w, true), true);
  const compiler::TensorId y = builder.Conv(x, builder.shape(x)[3], {}, false);
  x = builder.Add(x, y);
  x = builder.MaxPool(
      x, RandomWindow(rng, builder.shape(x)[1], builder.shape(x)[2], false));
  const compiler::TensorId z = builder.Reshape(x, {1, builder.num_elements(x)});
  return builder.Finish({builder.FullyConnected(z, 10), x});
}

ChipCase ToyTernary() {
  ChipCase chip =
      ToyOf("toy-ternary", "tile_mem_bytes", "fused", 1,
            simfarm::conformance::register_job::HandCountedOfConverters(
                "toy-ternary-unit", 0));
  chip.targets.push_back("toy-ternary-unit");
  chip.targets.push_back("toy-ternary-sums");
  ShowArithmetic(chip);
  chip.arithmetic = [](QuantizedGraphBuilder& builder) {
    builder.UseShifts(v1::FLOOR);
    builder.UseConverters(100);
  };
  chip.graphs = {{"Conv", 1000, RandomConv},
                 {"FullyConnected", 3000, RandomFullyConnected},
                 {"Ternary", 5000, RandomTernaryNet},
                 {"Elementwise", 7000, RandomElementwiseNet},
                 {"ResidualNet", 9000, RandomResidualNet}};
  return chip;
}

ChipCase ToyMixed() {
  ChipCase chip =
      ToyOf("toy-mixed", "shared_bytes", "", 0,
            simfarm::conformance::register_job::HandCountedOfConverters(
                "toy-mixed-unit", 1));
  chip.targets.push_back("toy-mixed-unit");
  ShowArithmetic(chip);
  chip.random_chips = 8;
  chip.networks = {"resnet8_int8.tflite", "htvm_resnet8_mixed.onnx"};
  chip.rounds_half_even = true;
  chip.arithmetic = [](QuantizedGraphBuilder& builder) {
    builder.UseConverters(50);
  };
  return chip;
}

ChipCase ToyInt4() {
  ChipCase chip =
      ToyOf("toy-int4", "tile_mem_bytes", "", 0,
            simfarm::conformance::register_job::HandCountedOfInt4());
  chip.targets.push_back("toy-int4-unit");
  ShowArithmetic(chip);
  chip.rounds_half_even = true;
  chip.arithmetic = [](QuantizedGraphBuilder& builder) {
    builder.LimitWeights(-8, 7);
  };
  return chip;
}

v1::ResolvedTarget DianaTarget(const std::string& settings, int64_t l1_bytes) {
  return ToyTarget("diana", settings, l1_bytes);
}

// What sizes of tiles do not depend on.
std::string RandomDianaSettings(Rng& rng) {
  const std::vector<std::pair<std::string, int64_t>> settings = {
      {"job_cycles", OneOf<int64_t>(rng, {425, 5000})},
      {"tile_cycles", OneOf<int64_t>(rng, {0, 50})},
      {"depthwise_cycles", OneOf<int64_t>(rng, {100, 175, 4000})},
      {"dma_setup_cycles", OneOf<int64_t>(rng, {0, 40, 3000})},
      {"dma_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16})},
      {"fetch_bytes_per_cycle", OneOf<int64_t>(rng, {1, 16})},
      {"poll_cycles", OneOf<int64_t>(rng, {1, 8, 100})}};
  std::string text;
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
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

ChipCase Diana() {
  ChipCase chip;
  chip.name = "diana";
  chip.targets = {"diana", "diana-cpu", "diana-digital", "diana-digital-unit"};
  chip.target = [](int64_t l1_bytes) { return DianaTarget("", l1_bytes); };
  chip.random_target = [](Rng& rng, int64_t l1_bytes) {
    return DianaTarget(RandomDianaSettings(rng), l1_bytes);
  };
  chip.random_descriptor = [](Rng& rng) {
    const std::vector<std::pair<std::string, int64_t>> sizes = {
        {"l1_bytes", OneOf<int64_t>(rng, {2000, 8192, 20'001, 262'144})},
        {"weight_bytes", OneOf<int64_t>(rng, {1000, 4096, 65'536})},
        {"l2_bytes", OneOf<int64_t>(rng, {40'000, 100'000, 524'288})}};
    std::string text =
        absl::StrCat("extends: \"diana\"\n", RandomDianaSettings(rng));
    for (const auto& [key, value] : sizes) {
      absl::StrAppend(&text, "set { name: \"", key, "\" value: ", value,
                      " }\n");
    }
    return text;
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
                 {"Sums", 8000, RandomDianaSums},
                 {"Pools", 9000, RandomDianaPools}};
  chip.seeds = 2;
  chip.random_chips = 4;
  chip.roomy_targets = {DianaTarget("", 256 << 10), DianaTarget("", 48 << 10)};
  return chip;
}

v1::ResolvedTarget TinyVectorTarget(const std::string& settings,
                                    int64_t bank_bytes) {
  return TargetWithScratchpad(
      absl::StrCat("extends: \"tiny-vector\" ", settings), bank_bytes);
}

// What sizes of tiles do not depend on.
std::string RandomTinyVectorSettings(Rng& rng) {
  const std::vector<std::pair<std::string, int64_t>> settings = {
      {"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
      {"decode_cycles", OneOf<int64_t>(rng, {1, 4, 200})},
      {"pipeline_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
      {"link_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
      {"link_setup_cycles", OneOf<int64_t>(rng, {0, 20, 5000})}};
  std::string text;
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
}

// The chip of docs/new_chip.md.
ChipCase TinyVector() {
  ChipCase chip;
  chip.name = "tiny_vector";
  chip.targets = {"tiny-vector", "tiny-vector-unit"};
  chip.random_models = simfarm::conformance::tiny_vector::NewRandomModels;
  chip.random_code = RandomStreams(chip.random_models);
  // One path serves all processors.
  chip.has_cpu_path = [](simfarm::CpuPath) { return true; };
  chip.hand_counted = simfarm::conformance::tiny_vector::HandCountedPrograms();
  chip.least_noticed_percent = 50;
  chip.target = [](int64_t bank_bytes) {
    return TinyVectorTarget("", bank_bytes);
  };
  chip.random_target = [](Rng& rng, int64_t bank_bytes) {
    return TinyVectorTarget(RandomTinyVectorSettings(rng), bank_bytes);
  };
  chip.random_descriptor = [](Rng& rng) {
    const std::vector<std::pair<std::string, int64_t>> sizes = {
        {"bank_bytes", OneOf<int64_t>(rng, {1, 16, 100, 4096, 1 << 20})},
        {"ram_bytes", OneOf<int64_t>(rng, {2000, 40'000, 64 << 20})},
        {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
    std::string text = "extends: \"tiny-vector\"\n";
    absl::StrAppend(&text, RandomTinyVectorSettings(rng));
    for (const auto& [key, value] : sizes) {
      absl::StrAppend(&text, "set { name: \"", key, "\" value: ", value,
                      " }\n");
    }
    return text;
  };
  // The host has what is neither an addition nor a maximum.
  chip.graphs = {{"Elementwise", 7000, RandomElementwiseNet},
                 {"MaxPool", 8000, RandomMaxPool},
                 {"ResidualNet", 5000, RandomResidualNet}};
  chip.seeds = 6;
  chip.random_chips = 6;
  chip.roomy_targets = {TinyVectorTarget("", 4096), TinyVectorTarget("", 512)};
  chip.networks = {"resnet8_int8.tflite"};
  return chip;
}

}  // namespace

const std::vector<ChipCase>& ChipCases() {
  namespace register_job = simfarm::conformance::register_job;
  static const auto* cases = new std::vector<ChipCase>{
      Dla(),
      Toy("toy-array", "tile_bytes", register_job::HandCountedOfOneEngine()),
      Toy("toy-two-array", "shared_bytes",
          register_job::HandCountedOfTwoEngines()),
      ToyShift(v1::HALF_UP),
      ToyShift(v1::FLOOR),
      ToyTernary(),
      ToyMixed(),
      ToyInt4(),
      Diana(),
      TinyVector()};
  return *cases;
}

QuantizedGraphBuilder BuilderFor(const ChipCase& chip, uint64_t seed) {
  QuantizedGraphBuilder builder(seed);
  if (chip.arithmetic) chip.arithmetic(builder);
  return builder;
}

std::vector<const ChipCase*> AllChips() {
  std::vector<const ChipCase*> chips;
  for (const ChipCase& chip : ChipCases()) chips.push_back(&chip);
  return chips;
}

std::vector<const ChipCase*> ChipsWithStreams() {
  std::vector<const ChipCase*> chips;
  for (const ChipCase& chip : ChipCases()) {
    if (chip.random_models != nullptr) chips.push_back(&chip);
  }
  return chips;
}

std::vector<const ChipCase*> ChipsDrivenByTheHost() {
  std::vector<const ChipCase*> chips;
  for (const ChipCase& chip : ChipCases()) {
    if (chip.naive_program != nullptr) chips.push_back(&chip);
  }
  return chips;
}

void PrintTo(const ChipCase* chip, std::ostream* out) { *out << chip->name; }

}  // namespace edgekiln::tests
