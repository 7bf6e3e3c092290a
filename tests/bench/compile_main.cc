// CPU time and memory of a compilation inside a warm worker: every stage as the
// worker calls it, from stored bytes to stored bytes, without any cache.
//
//   bench_compile --models FOLDER [--target NAME] [--rounds N]

#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "compiler/frontend/import.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/pipeline.h"
#include "edgekiln/v1/target.pb.h"
#include "proto/convert.h"
#include "server/worker/stages/stages.h"
#include "target/resolve.h"
#include "tests/bench/in_child.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/onnx_parse.h"
#include "tests/bench/results.h"

namespace edgekiln::bench {
namespace {

// specs/peers.md: CPU time of the peer, Arm Vela 3.10, on its author's machine.
struct QuotedPeer {
  double in_process_ms;
  double whole_process_ms;
};
const std::map<std::string, QuotedPeer> kVela = {{"resnet8", {136, 390}},
                                                 {"dscnn", {95, 350}},
                                                 {"ad", {48, 295}},
                                                 {"person_detect", {269, 524}}};
constexpr double kVelaPeakMib = 51;  // The smallest of its 51 .. 60.

// Of an integer model.
v1::BundleOptions BundleOf(const std::string& model) {
  v1::BundleOptions options;
  *options.mutable_network()->mutable_model() = ToProto(DigestOf(model));
  options.mutable_network()->set_io(v1::IO_INTEGER);
  return options;
}

// The blobs of one compilation by name, as the worker's cache holds them.
class Compilation {
 public:
  Compilation(std::string model, const std::string& target) {
    blobs_["model"] = std::move(model);
    blobs_["target"] = absl::StrCat("extends: \"", target, "\"");
  }

  // Every stage, in order; its name is that of the stage.
  std::vector<Subject> Stages() {
    using namespace server;  // NOLINT: a table of its functions.
    return {
        {"resolve_target",
         [this] {
           return Stage(RunResolveTarget, v1::ResolveTargetOptions(),
                        {{"target", "target"}}, "");
         }},
        {"import",
         [this] {
           return Stage(RunImport, v1::ImportOptions(), {{"model", "model"}},
                        "imported.");
         }},
        {"simplify",
         [this] {
           return Stage(RunSimplify, v1::SimplifyOptions(),
                        {{"graph", "imported.graph"}}, "");
         }},
        {"check_fit",
         [this] {
           return Stage(RunCheckFit, v1::CheckFitOptions(),
                        {{"outline", "outline"},
                         {"capabilities", "capabilities"},
                         {"machine", "machine"}},
                        "");
         }},
        {"set_io",
         [this] {
           return Stage(RunSetIo, v1::SetIoOptions(), {{"graph", "graph"}}, "");
         }},
        {"partition",
         [this] {
           return Stage(RunPartition, v1::PartitionOptions(),
                        {{"graph", "graph"}, {"capabilities", "capabilities"}},
                        "");
         }},
        {"tile",
         [this] {
           return Stage(RunTile, v1::TileOptions(),
                        {{"partition", "partition"}, {"machine", "machine"}},
                        "");
         }},
        {"emit",
         [this] {
           return Stage(RunEmit, v1::EmitOptions(),
                        {{"partition", "partition"},
                         {"tiling", "tiling"},
                         {"machine", "machine"}},
                        "");
         }},
        {"describe",
         [this] {
           return Stage(RunDescribe, v1::DescribeOptions(),
                        {{"graph", "graph"}, {"capabilities", "capabilities"}},
                        "described.");
         }},
        {"bundle",
         [this] {
           return Stage(RunBundle, BundleOf(blobs_["model"]),
                        {{"program", "program"},
                         {"constants", "constants"},
                         {"machine", "machine"},
                         {"graph", "graph"},
                         {"target", "target"}},
                        "bundle.");
         }},
    };
  }

  const std::string& blob(const std::string& name) { return blobs_[name]; }

 private:
  // Runs a stage on the blobs named by the second halves of `inputs` and keeps
  // its results under `prefix` and their roles.
  template <typename Options>
  absl::Status Stage(
      absl::StatusOr<server::StageOutput> (*run)(const Options&,
                                                 const server::StageInputs&),
      const Options& options,
      const std::vector<std::pair<std::string, std::string>>& inputs,
      const std::string& prefix) {
    server::StageInputs in;
    for (const auto& [role, name] : inputs) in.Add(role, blobs_[name]);
    EK_ASSIGN_OR_RETURN(server::StageOutput out, run(options, in));
    for (auto& [role, bytes] : out.blobs) {
      blobs_[prefix + role] = std::move(bytes);
    }
    return absl::OkStatus();
  }

  std::map<std::string, std::string> blobs_;
};

bool IsPartOfCompile(const std::string& stage) {
  return stage != "resolve_target" && stage != "describe" && stage != "bundle";
}

// The same without storing anything between the stages.
absl::Status CompileInMemory(const std::string& model,
                             const v1::ResolvedTarget& target) {
  EK_ASSIGN_OR_RETURN(compiler::Graph graph, compiler::ImportModel(model));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  EK_ASSIGN_OR_RETURN(const v1::Partition partition,
                      compiler::PartitionGraph(graph, target.capabilities()));
  EK_ASSIGN_OR_RETURN(
      const v1::RegionPlans plan,
      compiler::TilePartition(partition, target.machine(), v1::TileRecipe()));
  return compiler::EmitProgram(partition, plan, target.machine()).status();
}

// MiB that the first compilation of a process adds to what it was before.
double PeakGrowthMib(const Network& network, const std::string& target) {
  const auto compile = [&]() -> absl::Status {
    Compilation compilation(ReadFileOrDie(network.model), target);
    for (const Subject& stage : compilation.Stages()) {
      EK_RETURN_IF_ERROR(stage.run(), stage.name);
    }
    return absl::OkStatus();
  };
  return OrDie(RunInChild(compile)).peak_growth_mib;
}

void AddTotals(const Network& network, const Timing& total,
               const Timing& in_memory, const Timing* parse, Results& results) {
  const auto quoted = kVela.find(network.name);
  Row row = MillisecondRow(network.name, "compile: import .. emit", total);
  row.goal = "<= 20 ms";
  if (quoted != kVela.end()) {
    row.reference = {"Vela, whole process", quoted->second.whole_process_ms,
                     Origin::kQuoted};
    results.Add(row);
    row.measure = "compile, against its core";
    row.goal.clear();
    row.reference = {"Vela, in process", quoted->second.in_process_ms,
                     Origin::kQuoted};
  }
  results.Add(row);
  if (parse != nullptr) {
    row.measure = "compile, against reading";
    row.goal.clear();
    row.reference = {"ONNX protobuf parse", parse->median * 1e3,
                     Origin::kSameRun};
    results.Add(row);
  }
  results.Add(MillisecondRow(network.name, "compile, nothing stored between",
                             in_memory));
}

void BenchNetwork(const Network& network, const std::string& target,
                  const MeasureOptions& options, Results& results) {
  Row memory{.subject = network.name,
             .measure = "peak memory of a compile",
             .unit = "MiB",
             .value = PeakGrowthMib(network, target),
             .samples = 1,
             .reference = Reference{"Vela, whole process", kVelaPeakMib,
                                    Origin::kQuoted},
             .goal = "<= 40 MiB"};
  memory.low = memory.high = memory.value;

  const std::string model = ReadFileOrDie(network.model);
  const v1::ResolvedTarget resolved =
      OrDie(target::ResolveTarget(absl::StrCat("extends: \"", target, "\"")));
  Compilation compilation(model, target);
  std::vector<Subject> subjects = compilation.Stages();
  for (const Subject& stage : subjects) OrDie(stage.run());
  const std::vector<Subject> stages = subjects;
  subjects.push_back({"compile", [&] {
                        for (const Subject& stage : stages) {
                          if (!IsPartOfCompile(stage.name)) continue;
                          EK_RETURN_IF_ERROR(stage.run());
                        }
                        return absl::OkStatus();
                      }});
  subjects.push_back(
      {"in memory", [&] { return CompileInMemory(model, resolved); }});
  const std::string onnx =
      FileExists(network.float_onnx) ? network.float_onnx : network.qdq_onnx;
  const bool parses = FileExists(onnx);
  const std::string onnx_bytes = parses ? ReadFileOrDie(onnx) : "";
  if (parses) {
    subjects.push_back({"parse", [&] { return ParseOnnx(onnx_bytes); }});
  }
  const std::vector<Timing> timings =
      OrDie(MeasureInterleaved(subjects, options));
  AddTotals(network, timings[stages.size()], timings[stages.size() + 1],
            parses ? &timings.back() : nullptr, results);
  for (size_t i = 0; i < stages.size(); ++i) {
    results.Add(MillisecondRow(
        network.name, absl::StrCat("stage ", stages[i].name), timings[i]));
  }
  results.Add(memory);
}

int Main(int argc, char** argv) {
  CLI::App app("CPU time and memory of a compilation");
  std::string models;
  std::string target = "dla-64-o-512k";
  std::vector<std::string> only;
  MeasureOptions options;
  app.add_option("--models", models, "Folder of the models")->required();
  app.add_option("--target", target, "Name of a built-in target")
      ->capture_default_str();
  app.add_option("--network", only, "These networks only");
  app.add_option("--rounds", options.rounds, "Samples of each figure")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Results results("compile");
  results.Note(
      "CPU time. Figures of Vela are quoted from its measurement on another "
      "machine; it cannot be installed here.");
  for (const Network& network : Present(TinyNetworks(models), only, results)) {
    BenchNetwork(network, target, options, results);
  }
  std::cout << results.Json();
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
