#include "tests/goldens/golden_chips.h"

#include "absl/strings/str_cat.h"
#include "tests/support/golden.h"
#include "tests/support/shared_data.h"

namespace edgekiln::tests {

std::vector<GoldenChip> GoldenChips() {
  std::vector<GoldenChip> chips;
  for (const char* pes : {"64", "128"}) {
    for (const char* parallel : {"i", "o"}) {
      for (const char* sram : {"512k", "1m", "256m"}) {
        const std::string name =
            absl::StrCat("dla-", pes, "-", parallel, "-", sram);
        chips.push_back({name, absl::StrCat("extends: \"", name, "\"")});
      }
    }
  }
  for (const char* name : {"narrow", "slow_front_end", "other_isa"}) {
    chips.push_back({name, ReadWholeFile(SourcePath(absl::StrCat(
                               "tests/goldens/chips/", name, ".txtpb")))});
  }
  return chips;
}

}  // namespace edgekiln::tests
