// The text behind the digests of a golden:
//
//   goldens_print --model FILE --chip NAME > A
//
// and the same with another build > B; `diff A B` names what changed.

#include <iostream>
#include <limits>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "target/resolve.h"
#include "tests/goldens/golden_chips.h"
#include "tests/goldens/run_facts.h"

namespace edgekiln::tests {
namespace {

absl::StatusOr<RunFacts> Facts(const std::string& model,
                               const std::string& chip_name) {
  EK_ASSIGN_OR_RETURN(
      const std::string bytes,
      NewPosixFileSystem()->Read(model, std::numeric_limits<int64_t>::max()));
  EK_ASSIGN_OR_RETURN(const GoldenNetwork network, LoadGoldenNetwork(bytes));
  for (const GoldenChip& chip : GoldenChips()) {
    if (chip.name != chip_name) continue;
    EK_ASSIGN_OR_RETURN(const v1::ResolvedTarget target,
                        target::ResolveTarget(chip.descriptor));
    return FactsOf(network, target);
  }
  return absl::NotFoundError("no such chip in golden_chips.cc: " + chip_name);
}

int Main(int argc, char** argv) {
  CLI::App app("What a golden is the digest of");
  std::string model;
  std::string chip = "dla-64-o-512k";
  app.add_option("--model", model, "A model file")->required();
  app.add_option("--chip", chip, "Name of a golden's chip")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<RunFacts> facts = Facts(model, chip);
  if (!facts.ok()) {
    std::cerr << "goldens_print: " << facts.status() << "\n";
    return 1;
  }
  std::cout << facts->figures << "\n";
  for (const Aspect& aspect : facts->aspects) {
    std::cout << "\n== " << aspect.name << "\n" << aspect.text;
  }
  return 0;
}

}  // namespace
}  // namespace edgekiln::tests

int main(int argc, char** argv) { return edgekiln::tests::Main(argc, argv); }
