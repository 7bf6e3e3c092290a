// What reading a model costs: CPU time and memory from its bytes to a verified
// graph, of every network in a folder and of a large made-up one, that beside
// the `onnx` package for Python.
//
//   bench_import --models FOLDER [--resnet18 FILE] [--mobilenet FILE]
//     [--python PROGRAM]

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "compiler/frontend/import.h"
#include "tests/bench/in_child.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/program.h"
#include "tests/bench/results.h"
#include "tests/bench/synthetic_onnx.h"

namespace edgekiln::bench {
namespace {

constexpr char kPeer[] = "onnx.load + infer_shapes";
constexpr char kImport[] = "import";
constexpr char kPeak[] = "peak memory of an import";

// Reads a model as people do in Python and writes what RunInChild() measures,
// and the version, to a file. Starting the interpreter does not count.
constexpr char kScript[] = R"python(
import sys, time
import onnx, onnx.shape_inference

def kib(field):
    for line in open("/proc/self/status"):
        if line.startswith(field + ":"):
            return int(line.split()[1])

model, out = sys.argv[1:]

def work():
    start = time.process_time()
    onnx.shape_inference.infer_shapes(onnx.load(model))
    return time.process_time() - start

open("/proc/self/clear_refs", "w").write("5")
before = kib("VmRSS")
first = work()
peak = kib("VmHWM")
with open(out, "w") as file:
    print(first, work(), (peak - before) / 1024, onnx.__version__, file=file)
)python";

struct Flags {
  std::string models;
  std::string resnet18;
  std::string mobilenet;
  std::string python = "/usr/bin/python3";
  std::vector<std::string> only;
  int megabytes = 50;
};

bool IsWanted(const std::string& name, const Flags& flags) {
  return flags.only.empty() || std::find(flags.only.begin(), flags.only.end(),
                                         name) != flags.only.end();
}

// Name and path of every model, by name.
std::vector<std::pair<std::string, std::string>> ModelsOf(const Flags& flags) {
  std::vector<std::pair<std::string, std::string>> models;
  for (const auto& entry : std::filesystem::directory_iterator(flags.models)) {
    const std::string suffix = entry.path().extension();
    if (suffix == ".onnx" || suffix == ".tflite") {
      models.emplace_back(entry.path().filename(), entry.path());
    }
  }
  models.emplace_back("resnet18", flags.resnet18);
  models.emplace_back("mobilenet_v1", flags.mobilenet);
  std::erase_if(
      models, [&](const auto& model) { return !IsWanted(model.first, flags); });
  std::sort(models.begin(), models.end());
  return models;
}

Row MemoryRow(const std::string& subject, const std::vector<double>& mib) {
  return {.subject = subject,
          .measure = kPeak,
          .unit = "MiB",
          .value = Quantile(mib, 0.5),
          .low = Quantile(mib, 0.1),
          .high = Quantile(mib, 0.9),
          .samples = static_cast<int64_t>(mib.size())};
}

absl::Status ImportFile(const std::string& path) {
  return compiler::ImportModel(ReadFileOrDie(path)).status();
}

absl::Status BenchModel(const std::string& name, const std::string& path,
                        const MeasureOptions& options, Results& results) {
  EK_ASSIGN_OR_RETURN(const ChildCost first,
                      RunInChild([&] { return ImportFile(path); }));
  const std::string bytes = ReadFileOrDie(path);
  EK_ASSIGN_OR_RETURN(
      const std::vector<Timing> timings,
      MeasureInterleaved(
          {{kImport, [&] { return compiler::ImportModel(bytes).status(); }}},
          options));
  results.Add(MillisecondRow(name, kImport, timings[0]));
  results.Add(MemoryRow(name, {first.peak_growth_mib}));
  return absl::OkStatus();
}

struct Samples {
  std::vector<double> first, again, mib;

  void Add(const ChildCost& cost) {
    first.push_back(cost.cpu_seconds);
    again.push_back(cost.again_cpu_seconds);
    mib.push_back(cost.peak_growth_mib);
  }
};

// What --once does: our part of what the script does for Python.
void ImportOnce(const std::string& model, const std::string& out) {
  const ChildCost cost = CostOf([&] { return ImportFile(model); });
  std::ofstream(out) << cost.cpu_seconds << " " << cost.again_cpu_seconds << " "
                     << cost.peak_growth_mib << " us\n";
}

// One run of a program that writes such a line to the file that it is given
// last. A new process each: a forked one shares the pages of a heap that is in
// use, and pays for that.
absl::StatusOr<ChildCost> RunOther(std::vector<std::string> command,
                                   const std::string& out,
                                   std::string& version) {
  command.push_back(out);
  EK_RETURN_IF_ERROR(RunProgram(command).status());
  ChildCost cost;
  std::ifstream file(out);
  file >> cost.cpu_seconds >> cost.again_cpu_seconds >> cost.peak_growth_mib >>
      version;
  if (!file) return absl::InternalError(command[0] + " wrote no figures");
  return cost;
}

// A large model from its file on, twice in a fresh process, in turns with
// Python.
absl::Status BenchSynthetic(const Flags& flags, int rounds, Results& results) {
  const std::string name = absl::StrCat("synthetic, ", flags.megabytes, " MB");
  const ScratchFolder scratch;
  const std::string path = scratch.At("synthetic.onnx");
  EK_RETURN_IF_ERROR(WriteAtomically(
      *NewPosixFileSystem(), path,
      SyntheticOnnx(flags.megabytes * int64_t{1'000'000}, 64, 1)));
  // `import onnx` alone finds the folder that libonnx-testdata leaves.
  const bool has_peer =
      RunProgram({flags.python, "-c", "import onnx.shape_inference"}).ok();
  if (!has_peer) {
    results.Note(absl::StrCat("absent: the onnx package of ", flags.python,
                              " (tools/install_packages bench)"));
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  const std::string figures = scratch.At("figures.txt");
  Samples own, peer;
  std::string version;
  for (int round = 0; round < std::clamp(rounds, 1, 7); ++round) {
    EK_ASSIGN_OR_RETURN(const ChildCost cost,
                        RunOther({self, "--once", path}, figures, version));
    own.Add(cost);
    if (!has_peer) continue;
    EK_ASSIGN_OR_RETURN(
        const ChildCost theirs,
        RunOther({flags.python, "-c", kScript, path}, figures, version));
    peer.Add(theirs);
  }
  if (has_peer) {
    results.Note(absl::StrCat("onnx ", version, " of ", flags.python));
  }
  const auto add = [&](Row row, const std::vector<double>& theirs, double unit,
                       const std::string& goal) {
    if (has_peer) {
      row.reference = {kPeer, Quantile(theirs, 0.5) * unit};
      row.goal = goal;
    }
    results.Add(row);
  };
  add(MillisecondRow(name, "from the file, first of a process",
                     Summarise(own.first)),
      peer.first, 1e3, "<= 0.2x");
  add(MillisecondRow(name, "from the file, once more", Summarise(own.again)),
      peer.again, 1e3, "<= 0.2x");
  add(MemoryRow(name, own.mib), peer.mib, 1, "");
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  CLI::App app("CPU time and memory of reading a model");
  Flags flags;
  MeasureOptions options;
  app.add_option("--models", flags.models, "Folder of the models");
  app.add_option("--resnet18", flags.resnet18, "Generated ONNX file");
  app.add_option("--mobilenet", flags.mobilenet, "Generated ONNX file");
  app.add_option("--python", flags.python, "Interpreter that has onnx")
      ->capture_default_str();
  app.add_option("--network", flags.only,
                 "These files only, or \"synthetic\" for the made-up model");
  app.add_option("--megabytes", flags.megabytes, "Of the made-up model")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--rounds", options.rounds, "Samples of each figure")
      ->capture_default_str();
  std::vector<std::string> once;
  app.add_option("--once", once,
                 "Import MODEL twice, write what that took to OUT, and leave")
      ->type_name("MODEL OUT")
      ->expected(2);
  CLI11_PARSE(app, argc, argv);
  if (!once.empty()) {
    ImportOnce(once[0], once[1]);
    return 0;
  }
  if (flags.models.empty()) OrDie(absl::InvalidArgumentError("--models"));

  Results results("import");
  results.Note(
      "CPU time from the bytes of a file to a verified graph; memory over what "
      "the process had before, in a fresh one.");
  for (const auto& [name, path] : ModelsOf(flags)) {
    if (!FileExists(path)) {
      results.Note("absent: " + name);
      continue;
    }
    const absl::Status status = BenchModel(name, path, options, results);
    if (!status.ok()) {
      results.Note(
          absl::StrCat("fails: ", name, ": ", std::string(status.message())));
    }
  }
  if (IsWanted("synthetic", flags)) {
    OrDie(BenchSynthetic(flags, options.rounds, results));
  }
  std::cout << results.Json();
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
