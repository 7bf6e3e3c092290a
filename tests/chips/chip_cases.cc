#include "tests/chips/chip_cases.h"

#include <memory>
#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "simfarm/conformance/dla/dla_models.h"
#include "simfarm/conformance/dla/hand_counted.h"
#include "simfarm/simulators/dla/micro_kernel.h"
#include "testing/tiny_vector/conformance/models.h"
#include "tests/chips/case_parts.h"
#include "tests/chips/diana_case.h"
#include "tests/chips/random_graphs.h"
#include "tests/chips/toy_cases.h"

namespace edgekiln::tests {
namespace {

// `depthwise`: 2 by a command of its own, 1 by convolutions.
v1::ResolvedTarget DlaTarget(int64_t pes, bool output_parallel,
                             int64_t depthwise, int64_t sram_bytes) {
  return ExtendingTarget(
      "dla",
      SettingsText({{"pes", pes},
                    {"output_parallel", output_parallel ? 1 : 0},
                    {"depthwise", depthwise}}),
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
  return absl::StrCat(
      "extends: \"dla\"\n",
      SettingsText(
          {{"pes", OneOf<int64_t>(rng, {1, 3, 16, 63, 64, 96, 128, 1024})},
           {"output_parallel", rng.InRange(0, 1)},
           {"depthwise", rng.InRange(0, 2)},
           {"fused_requantization", rng.InRange(0, 1)},
           {"sram_bytes", OneOf<int64_t>(rng, {3000, 8192, 20'001, 65'536,
                                               200'000, 1 << 20})},
           {"dma_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
           {"dma_setup_cycles", OneOf<int64_t>(rng, {0, 20, 5000})},
           {"fill_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
           {"queue_depth", OneOf<int64_t>(rng, {1, 2, 4, 64})},
           {"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
           {"decode_cycles", OneOf<int64_t>(rng, {1, 4, 200})},
           {"host_clock_hz", OneOf<int64_t>(rng, {1'000'000, 333'333'333})},
           {"ram_bytes", OneOf<int64_t>(rng, {2000, 40'000, 64 << 20})},
           {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}}));
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
  chip.networks = PublishedNetworks();
  return chip;
}

compiler::Graph RandomMaxPool(QuantizedGraphBuilder& builder) {
  Rng& rng = builder.rng();
  const int64_t h = rng.InRange(1, 13), w = rng.InRange(1, 13);
  const compiler::TensorId x = builder.Input({1, h, w, rng.InRange(1, 40)});
  return builder.Finish({builder.MaxPool(x, RandomWindow(rng, h, w, false))});
}

v1::ResolvedTarget TinyVectorTarget(const std::string& settings,
                                    int64_t bank_bytes) {
  return ExtendingTarget("tiny-vector", settings, bank_bytes);
}

// What sizes of tiles do not depend on.
std::string RandomTinyVectorSettings(Rng& rng) {
  return SettingsText(
      {{"register_write_cycles", OneOf<int64_t>(rng, {1, 50})},
       {"decode_cycles", OneOf<int64_t>(rng, {1, 4, 200})},
       {"pipeline_cycles", OneOf<int64_t>(rng, {0, 8, 1000})},
       {"link_bytes_per_cycle", OneOf<int64_t>(rng, {1, 3, 16, 1024})},
       {"link_setup_cycles", OneOf<int64_t>(rng, {0, 20, 5000})}});
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
    const Settings sizes = {
        {"bank_bytes", OneOf<int64_t>(rng, {1, 16, 100, 4096, 1 << 20})},
        {"ram_bytes", OneOf<int64_t>(rng, {2000, 40'000, 64 << 20})},
        {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
    return absl::StrCat("extends: \"tiny-vector\"\n",
                        RandomTinyVectorSettings(rng), SettingsText(sizes));
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
  static const auto* cases = [] {
    auto* rows = new std::vector<ChipCase>{Dla()};
    for (ChipCase& toy : ToyCases()) rows->push_back(std::move(toy));
    rows->push_back(Diana());
    rows->push_back(TinyVector());
    return rows;
  }();
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
