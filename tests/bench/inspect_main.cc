// What `edgekiln inspect` costs as people type it: with a daemon that has to be
// started first, and with one that is there.
//
//   bench_inspect --bin FOLDER --models FOLDER

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/program.h"
#include "tests/bench/results.h"
#include "tests/bench/synthetic_onnx.h"

namespace edgekiln::bench {
namespace {

constexpr int kChannels = 32;
constexpr char kGoal[] = "<= 1000 ms";

struct Flags {
  std::string bin;
  std::string models;
  std::string target = "dla-64-o-512k";
  int megabytes = 5;
  int rounds = 5;
};

// Of all children that have ended, and of theirs.
double EndedCpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) +
           static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Makes this process the parent of daemons that a command leaves behind.
void AdoptOrphans() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

// Ends all children, among them those left behind.
void EndChildren() {
  const pid_t self = getpid();
  do {
    std::ifstream children(
        absl::StrCat("/proc/", self, "/task/", self, "/children"));
    for (pid_t child = 0; children >> child;) kill(child, SIGTERM);
  } while (waitpid(-1, nullptr, 0) > 0);
}

struct Samples {
  std::vector<double> wall, cpu;
};

class InspectBench {
 public:
  InspectBench(const Flags& flags, Results& results)
      : flags_(flags), results_(results) {}

  absl::Status Run() {
    AdoptOrphans();
    const std::string synthetic =
        absl::StrCat("synthetic ONNX, ", flags_.megabytes, " MB");
    EK_RETURN_IF_ERROR(WriteSynthetic(0));
    const std::string model = scratch_.At("synthetic.onnx");
    const std::vector<std::string> target = {"--target", flags_.target};
    EK_RETURN_IF_ERROR(Cold("targets list", {"targets", "list"}, ""));
    EK_RETURN_IF_ERROR(Cold(synthetic, {"inspect", model}, kGoal));
    EK_RETURN_IF_ERROR(Cold(synthetic + ", --target",
                            With({"inspect", model}, target), kGoal));
    const std::string published =
        flags_.models + "/mobilenet_v1_1.0_224_embedding_uint8.tflite";
    if (FileExists(published)) {
      EK_RETURN_IF_ERROR(Cold("mobilenet_v1_1.0 uint8, --target",
                              With({"inspect", published}, target), kGoal));
    } else {
      results_.Note("absent: mobilenet_v1_1.0 uint8");
    }
    EK_RETURN_IF_ERROR(Warm(synthetic, {}));
    return Warm(synthetic + ", --target", target);
  }

 private:
  static std::vector<std::string> With(std::vector<std::string> command,
                                       const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }

  absl::Status WriteSynthetic(uint64_t seed) {
    return WriteAtomically(
        *files_, scratch_.At("synthetic.onnx"),
        SyntheticOnnx(flags_.megabytes * int64_t{1'000'000}, kChannels, seed));
  }

  // Folders in which nothing was ever done.
  void UseFreshFolders() {
    const std::string folder = scratch_.At(absl::StrCat("user-", next_++));
    mkdir(folder.c_str(), 0700);
    for (const char* name :
         {"XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "XDG_STATE_HOME"}) {
      const std::string path = absl::StrCat(folder, "/", name);
      mkdir(path.c_str(), 0700);
      setenv(name, path.c_str(), 1);
    }
  }

  absl::StatusOr<RunCost> RunCli(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), flags_.bin + "/edgekiln");
    arguments.push_back("--quiet");
    return RunProgram(arguments);
  }

  void AddRow(const std::string& subject, const std::string& measure,
              const std::vector<double>& seconds, const std::string& goal) {
    Row row = MillisecondRow(subject, measure, Summarise(seconds));
    row.goal = goal;
    results_.Add(row);
  }

  // Starts a daemon and workers each time.
  absl::Status Cold(const std::string& subject,
                    const std::vector<std::string>& command,
                    const std::string& goal) {
    Samples samples;
    for (int round = 0; round < flags_.rounds; ++round) {
      UseFreshFolders();
      const double before = EndedCpuSeconds();
      const absl::StatusOr<RunCost> cost = RunCli(command);
      EndChildren();
      EK_RETURN_IF_ERROR(cost.status(), subject);
      samples.wall.push_back(cost->wall_seconds);
      samples.cpu.push_back(EndedCpuSeconds() - before);
    }
    AddRow(subject, "daemon not there, wall", samples.wall, goal);
    AddRow(subject, "CPU of all programs", samples.cpu, "");
    return absl::OkStatus();
  }

  // A model that the daemon has never seen, then the same again.
  absl::Status Warm(const std::string& subject,
                    const std::vector<std::string>& more) {
    UseFreshFolders();
    const std::vector<std::string> command =
        With({"inspect", scratch_.At("synthetic.onnx")}, more);
    Samples first, again;
    absl::Status status = RunCli({"targets", "list"}).status();
    for (int round = 0; round < flags_.rounds && status.ok(); ++round) {
      status.Update(WriteSynthetic(static_cast<uint64_t>(1 + round)));
      for (Samples* samples : {&first, &again}) {
        const absl::StatusOr<RunCost> cost = RunCli(command);
        status.Update(cost.status());
        if (!cost.ok()) break;
        samples->wall.push_back(cost->wall_seconds);
        samples->cpu.push_back(cost->cpu_seconds);
      }
    }
    EndChildren();
    EK_RETURN_IF_ERROR(status, subject);
    AddRow(subject, "daemon is there, wall", first.wall, kGoal);
    AddRow(subject, "asked again, wall", again.wall, kGoal);
    AddRow(subject, "asked again, CPU of the command", again.cpu, "");
    return absl::OkStatus();
  }

  const Flags& flags_;
  Results& results_;
  const std::unique_ptr<FileSystem> files_ = NewPosixFileSystem();
  ScratchFolder scratch_;
  int next_ = 0;
};

int Main(int argc, char** argv) {
  CLI::App app("What `edgekiln inspect` costs");
  Flags flags;
  app.add_option("--bin", flags.bin, "Folder of the programs")->required();
  app.add_option("--models", flags.models, "Folder of the models")->required();
  app.add_option("--target", flags.target, "Name of a built-in target")
      ->capture_default_str();
  app.add_option("--megabytes", flags.megabytes, "Of the made-up model")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", flags.rounds, "Samples of each figure")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Results results("inspect");
  results.Note("Whole processes; wall-clock time unless it says CPU.");
  double load = 0;
  if (getloadavg(&load, 1) == 1) {
    results.Note(absl::StrCat("Runnable processes of the last minute: ", load));
  }
  OrDie(InspectBench(flags, results).Run());
  std::cout << results.Json();
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
