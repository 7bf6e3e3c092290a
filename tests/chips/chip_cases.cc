#include "tests/chips/chip_cases.h"

#include <ostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "simfarm/conformance/dla/dla_models.h"
#include "simfarm/conformance/dla/hand_counted.h"
#include "simfarm/simulators/dla/micro_kernel.h"
#include "tests/chips/random_graphs.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

template <typename Value>
Value OneOf(Rng& rng, const std::vector<Value>& values) {
  return values.at(rng.InRange(0, static_cast<int64_t>(values.size()) - 1));
}

v1::ResolvedTarget DlaTarget(int64_t pes, bool output_parallel,
                             int64_t sram_bytes) {
  return TargetWithScratchpad(
      absl::StrCat("extends: \"dla\" set { name: \"pes\" value: ", pes,
                   " } set { name: \"output_parallel\" value: ",
                   output_parallel ? 1 : 0, " }"),
      sram_bytes);
}

std::string RandomDlaDescriptor(Rng& rng) {
  const std::vector<std::pair<std::string, int64_t>> settings = {
      {"pes", OneOf<int64_t>(rng, {1, 3, 16, 63, 64, 96, 128, 1024})},
      {"output_parallel", rng.InRange(0, 1)},
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
  chip.targets.push_back("unit");

  chip.random_models = simfarm::conformance::dla::NewRandomDlaModels;
  chip.has_cpu_path = simfarm::dla::HasCpuPath;
  chip.hand_counted = simfarm::conformance::dla::HandCountedPrograms();
  chip.least_noticed_percent = 50;

  chip.target = [](int64_t scratchpad_bytes) {
    return DlaTarget(64, true, scratchpad_bytes);
  };
  chip.random_target = [](Rng& rng, int64_t scratchpad_bytes) {
    const int64_t pes = rng.InRange(1, 130);
    return DlaTarget(pes, rng.Below(2) == 0, scratchpad_bytes);
  };
  chip.random_descriptor = RandomDlaDescriptor;
  chip.graphs = {{"Conv", 1000, RandomConv},
                 {"Depthwise", 2000, RandomDepthwise},
                 {"FullyConnected", 3000, RandomFullyConnected},
                 {"Pools", 4000, RandomPool},
                 {"ResidualNet", 5000, RandomResidualNet},
                 {"Reshapes", 6000, RandomReshapeNet},
                 {"Chain", 100, RandomChain}};
  chip.rounds_half_even = true;
  chip.roomy_targets = {
      DlaTarget(64, true, 512 << 10), DlaTarget(128, false, 1 << 20),
      DlaTarget(96, true, 192 << 10), DlaTarget(96, false, 48 << 10),
      DlaTarget(64, true, 24 << 10)};
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
      {"macs", OneOf<int64_t>(rng, {1, 16, 64, 100})},
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

// Driven by the host: no streams, hence nothing of them.
ChipCase Toy(const std::string& name, const std::string& memory_parameter) {
  ChipCase chip;
  chip.name = absl::StrReplaceAll(name, {{"-", "_"}});
  chip.targets = {name, absl::StrCat(name, "-unit")};
  if (name == "toy-array") chip.targets.push_back("toy-array-b8");
  chip.target = [name](int64_t memory_bytes) {
    return ToyTarget(name, "", memory_bytes);
  };
  chip.random_target = [name](Rng& rng, int64_t memory_bytes) {
    return ToyTarget(name, RandomToySettings(rng), memory_bytes);
  };
  chip.random_descriptor = [name, memory_parameter](Rng& rng) {
    const std::vector<std::pair<std::string, int64_t>> sizes = {
        {"block", OneOf<int64_t>(rng, {1, 2, 8, 16, 20})},
        {memory_parameter,
         OneOf<int64_t>(rng, {3000, 8192, 20'001, 65'536, 200'000, 1 << 20})},
        {"ram_bytes", OneOf<int64_t>(rng, {2000, 64 << 20, 64 << 20})},
        {"flash_bytes", OneOf<int64_t>(rng, {20'000, 700'000, 64 << 20})}};
    std::string text =
        absl::StrCat("extends: \"", name, "\"\n", RandomToySettings(rng));
    for (const auto& [key, value] : sizes) {
      absl::StrAppend(&text, "set { name: \"", key, "\" value: ", value,
                      " }\n");
    }
    return text;
  };
  chip.graphs = Dla().graphs;
  chip.rounds_half_even = true;
  chip.seeds = 6;
  chip.even_seeds = 3;
  chip.random_chips = 8;
  chip.roomy_targets = {
      ToyTarget(name, "", 256 << 10),
      ToyTarget(name, "set { name: \"block\" value: 8 }", 24 << 10)};
  chip.networks = Dla().networks;
  return chip;
}

}  // namespace

const std::vector<ChipCase>& ChipCases() {
  static const auto* cases =
      new std::vector<ChipCase>{Dla(), Toy("toy-array", "tile_bytes"),
                                Toy("toy-two-array", "shared_bytes")};
  return *cases;
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

void PrintTo(const ChipCase* chip, std::ostream* out) { *out << chip->name; }

}  // namespace edgekiln::tests
