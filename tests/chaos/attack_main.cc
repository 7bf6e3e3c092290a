// Attacks a farm while honest clients work, and sees that they do not notice.
//
//   chaos_attack --bin FOLDER --source FOLDER [--shared FOLDER] [--minutes N]
//                [--seed S] [--only ATTACKER] [--json FILE] [--no-timing]

#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "tests/chaos/attack_process.h"
#include "tests/chaos/attack_report.h"
#include "tests/chaos/attack_suite.h"
#include "tests/chaos/attacker.h"

namespace edgekiln::chaos {
namespace {

struct Flags {
  AttackOptions options;
  double minutes = 10;
  std::string json;
  bool no_timing = false;
  // Of the process of one attacker.
  std::string attacker;
  AttackTarget target;
};

std::string Help() {
  std::string help =
      "Attacks a farm while honest clients work: a quarter of the time they "
      "are\nundisturbed, then they do the same jobs beside all attackers.\n\n"
      "Exit code 0 if every check passes, 1 if not.\n\nAttackers:\n";
  for (const Attacker& attacker : Attackers()) {
    absl::StrAppend(&help, "  ", attacker.name,
                    std::string(14 - attacker.name.size(), ' '), attacker.does,
                    "\n");
  }
  return help;
}

void Define(CLI::App& app, Flags& flags) {
  std::vector<std::string> names;
  for (const Attacker& attacker : Attackers()) {
    names.emplace_back(attacker.name);
  }
  AttackOptions& options = flags.options;
  app.add_option("--bin", options.bin, "Folder of the programs");
  app.add_option("--source", options.source, "Folder of the repository");
  app.add_option("--shared", options.shared, "Folder of models and data");
  app.add_option("--minutes", flags.minutes, "Length of the whole")
      ->check(CLI::Range(0.2, 10'000.0))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of jobs and attackers")
      ->capture_default_str();
  app.add_option("--clients", options.clients, "Honest ones")
      ->check(CLI::Range(1, 200))
      ->capture_default_str();
  app.add_option("--only", options.only, "This attacker; may be repeated")
      ->check(CLI::IsMember(names).description(""));
  app.add_option("--json", flags.json, "Write all figures to this file, too");
  app.add_flag("--no-timing", flags.no_timing,
               "Report how long honest jobs take, but do not judge it");
  app.add_flag("--control", options.control,
               "No attacker: what the figures are worth on this machine");
  app.add_flag("--decoy", options.decoy,
               "Attack another farm on this machine: how much of the slowdown "
               "is due to its load alone")
      ->excludes("--control");
  app.add_flag("--keep", options.keep, "Keep state and logs in any case");

  CLI::App* attack = app.add_subcommand("attack")->group("");
  attack->add_option("name", flags.attacker)->required();
  attack->add_option("--address", flags.target.address)->required();
  attack->add_option("--workers-address", flags.target.workers_address)
      ->required();
  attack->add_option("--http-address", flags.target.http_address)->required();
  attack->add_option("--folder", flags.target.folder)->required();
  attack->add_option("--seed", flags.target.seed)->required();
}

int Judge(Flags& flags) {
  AttackOptions& options = flags.options;
  if (options.bin.empty() || options.source.empty()) {
    std::cerr << "chaos_attack: --bin and --source are needed\n";
    return 2;
  }
  options.length = absl::Minutes(flags.minutes);
  options.progress = [](absl::string_view line) {
    std::cout << line << std::endl;
  };
  std::cout << "seed " << options.seed << std::endl;
  AttackResult result;
  const absl::Status status = RunAttackSuite(options, result);
  if (!status.ok()) {
    std::cerr << "chaos_attack: " << status.message() << "; logs in "
              << result.kept << "\n";
    return 1;
  }
  std::cout << AttackTable(result) << std::flush;
  if (!flags.json.empty()) {
    std::ofstream file(flags.json);
    file << AttackJson(options, result);
    if (!file.flush()) {
      std::cerr << "chaos_attack: cannot write " << flags.json << "\n";
      return 1;
    }
  }
  return result.Passed(!flags.no_timing) ? 0 : 1;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(Help(), "chaos_attack");
  Define(app, flags);
  CLI11_PARSE(app, argc, argv);
  if (flags.attacker.empty()) return Judge(flags);
  const Attacker* attacker = FindAttacker(flags.attacker);
  if (attacker == nullptr) return 2;
  return RunAttackProcess(*attacker, flags.target);
}

}  // namespace
}  // namespace edgekiln::chaos

int main(int argc, char** argv) { return edgekiln::chaos::Main(argc, argv); }
