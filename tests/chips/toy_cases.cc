#include "tests/chips/toy_cases.h"

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "simfarm/conformance/register_job/hand_counted_programs.h"
#include "simfarm/conformance/register_job/naive_program.h"
#include "tests/chips/case_parts.h"
#include "tests/chips/random_graphs.h"

namespace edgekiln::tests {
namespace {

// What sizes of tiles do not depend on.
std::string RandomToySettings(Rng& rng) {
  return SettingsText(
      {{"macs_a", OneOf<int64_t>(rng, {1, 16, 64, 100})},
       {"fill_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
       {"link_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
       {"link_setup_cycles", OneOf<int64_t>(rng, {0, 16, 5000})},
       {"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
       {"poll_cycles", OneOf<int64_t>(rng, {1, 7, 300})}});
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
    return ExtendingTarget(name, "", memory_bytes);
  };
  chip.random_target = [name](Rng& rng, int64_t memory_bytes) {
    return ExtendingTarget(name, RandomToySettings(rng), memory_bytes);
  };
  chip.random_descriptor = [=](Rng& rng) {
    Settings sizes = {
        {"block", OneOf<int64_t>(rng, {1, 2, 8, 16, 20})},
        {choice, rng.InRange(0, most_choice)},
        {memory_parameter,
         OneOf<int64_t>(rng, {3000, 8192, 20'001, 65'536, 200'000, 1 << 20})},
        {"ram_bytes", OneOf<int64_t>(rng, {2000, 64 << 20, 64 << 20})},
        {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
    // Parameters that the chip does not have.
    std::erase_if(sizes, [](const auto& size) { return size.first.empty(); });
    return absl::StrCat("extends: \"", name, "\"\n", RandomToySettings(rng),
                        SettingsText(sizes));
  };
  chip.naive_program = simfarm::conformance::register_job::RunNaiveProgram;
  chip.hand_counted_programs = std::move(hand_counted);
  chip.random_code = RandomRegisterWrites;
  chip.graphs = CommonGraphs();
  chip.seeds = 6;
  chip.random_chips = 8;
  chip.roomy_targets = {
      ExtendingTarget(name, "", 256 << 10),
      ExtendingTarget(name, "set { name: \"block\" value: 8 }", 24 << 10)};
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
  chip.networks = PublishedNetworks();
  return chip;
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

}  // namespace

std::vector<ChipCase> ToyCases() {
  namespace register_job = simfarm::conformance::register_job;
  return {
      Toy("toy-array", "tile_bytes", register_job::HandCountedOfOneEngine()),
      Toy("toy-two-array", "shared_bytes",
          register_job::HandCountedOfTwoEngines()),
      ToyShift(v1::HALF_UP),
      ToyShift(v1::FLOOR),
      ToyTernary(),
      ToyMixed(),
      ToyInt4()};
}

}  // namespace edgekiln::tests
