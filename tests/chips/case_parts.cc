#include "tests/chips/case_parts.h"

#include "absl/strings/str_cat.h"
#include "simfarm/conformance/register_job/random_jobs.h"
#include "tests/chips/random_graphs.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {

std::string SettingsText(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
}

v1::ResolvedTarget ExtendingTarget(const std::string& name,
                                   const std::string& settings,
                                   int64_t scratchpad_bytes) {
  return TargetWithScratchpad(
      absl::StrCat("extends: \"", name, "\" ", settings), scratchpad_bytes);
}

std::vector<GraphKind> CommonGraphs() {
  return {{"Conv", 1000, RandomConv},
          {"Depthwise", 2000, RandomDepthwise},
          {"FullyConnected", 3000, RandomFullyConnected},
          {"Pools", 4000, RandomPool},
          {"ResidualNet", 5000, RandomResidualNet},
          {"Reshapes", 6000, RandomReshapeNet},
          {"Chain", 100, RandomChain}};
}

std::vector<std::string> PublishedNetworks() {
  return {"resnet8_int8.tflite",
          "dscnn_int8.tflite",
          "ad_int8.tflite",
          "person_detect_int8.tflite",
          "htvm_resnet8_digital.onnx",
          "htvm_dscnn_digital.onnx",
          "htvm_ad_digital.onnx"};
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

}  // namespace edgekiln::tests
