// Kills daemon and workers while they work, and sees that nothing is lost.
//
//   chaos_kill --bin FOLDER --source FOLDER [--shared FOLDER] [--kills N]
//              [--seed S] [--drop-unsynced]

#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "tests/chaos/kill_suite.h"

namespace edgekiln::chaos {
namespace {

int Main(int argc, char** argv) {
  KillOptions options;
  CLI::App app("Kills programs of a farm and checks that nothing is lost.",
               "chaos_kill");
  app.add_option("--bin", options.bin, "Folder of the programs")->required();
  app.add_option("--source", options.source, "Folder of the repository")
      ->required();
  app.add_option("--shared", options.shared, "Folder of models and data");
  app.add_option("--kills", options.kills, "At least so many")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Of the random instants")
      ->capture_default_str();
  app.add_option("--workers", options.workers)
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_flag("--drop-unsynced", options.drop_unsynced,
               "A kill of the daemon takes what was not synced with it");
  CLI11_PARSE(app, argc, argv);
  std::cout << "seed " << options.seed << std::endl;
  KillStatistics statistics;
  const absl::Status status = RunKillSuite(options, statistics);
  std::cout << absl::StrCat(
      statistics.kills(), " kills of RUNNING jobs (daemon ",
      statistics.daemon_kills, ", worker ", statistics.worker_kills,
      ", daemon and workers ", statistics.joint_kills, "), ", statistics.late,
      " not counted: the job was over\n", statistics.create_kills,
      " kills during CreateJob, ", statistics.created_kills,
      " just after its answer, ", statistics.starting_kills,
      " of a starting daemon; ", statistics.upload_kills,
      " of all during an upload\n", statistics.jobs, " jobs in ",
      statistics.rounds, " rounds, ", statistics.samples, " samples, ",
      statistics.outputs_compared, " values compared, ", statistics.events,
      " events watched, ", statistics.uploads, " uploads served\n",
      statistics.blobs, " blobs of ", statistics.blob_bytes,
      " bytes verified; slowest restart ",
      absl::FormatDuration(statistics.slowest_restart), "\n");
  if (options.drop_unsynced) {
    std::cout << absl::StrCat(
        "not synced, hence dropped: ", statistics.dropped.names, " names, ",
        statistics.dropped.contents, " contents, ", statistics.dropped.revived,
        " removals\n");
  }
  if (status.ok()) return 0;
  std::cerr << "chaos_kill: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace edgekiln::chaos

int main(int argc, char** argv) { return edgekiln::chaos::Main(argc, argv); }
