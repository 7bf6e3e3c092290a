#include "tests/support/record_chip.h"

#include "absl/strings/str_cat.h"

namespace edgekiln::tests {
namespace {

struct File {
  const char* name;
  const char* text;
};
constexpr File kFiles[] = {
#include "tests/support/record_chip_data.inc"
};

}  // namespace

std::string RecordChipText(const std::vector<ParameterValue>& set) {
  std::string text = kFiles[0].text;
  for (const auto& [name, value] : set) {
    absl::StrAppend(&text, "set { name: \"", name, "\" value: ", value, " }\n");
  }
  return text;
}

std::vector<ParameterValue> RecordChipUnits() {
  return {{"fill_cycles", 0},      {"dma_bytes_per_cycle", 1},
          {"dma_setup_cycles", 0}, {"register_write_cycles", 1},
          {"poll_cycles", 1},      {"record_word_cycles", 1},
          {"job_cycles", 0}};
}

}  // namespace edgekiln::tests
