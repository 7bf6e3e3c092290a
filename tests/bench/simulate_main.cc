// CPU time of one inference on the simulated chip, of the reference
// interpreter, and of what computes the same layers without a chip.
//
//   OMP_NUM_THREADS=1 bench_simulate --models FOLDER [--resnet18 FILE]
//     [--mobilenet FILE] [--onnxruntime LIBRARY]

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/compile.h"
#include "compiler/ir/interpreter.h"
#include "compiler/partition/partition.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/onednn.h"
#include "tests/bench/onnxruntime.h"
#include "tests/bench/quantized_onnx.h"
#include "tests/bench/results.h"
#include "tests/pipeline/synthetic.h"

namespace edgekiln::bench {
namespace {

// specs/peers.md: seconds that cycle simulators without values take, the best
// of their configurations, on its author's machine.
const std::multimap<std::string, Reference> kCyclePeers = {
    {"resnet8", {"SCALE-Sim v3", 3.0e3, Origin::kQuoted}},
    {"resnet18", {"SCALE-Sim v3", 211e3, Origin::kQuoted}},
    {"resnet18", {"ONNXim", 5.18e3, Origin::kQuoted}},
};

// One network on one chip, ready to run.
struct Chip {
  compiler::Graph graph;
  v1::ResolvedTarget target;
  compiler::EmitResult compiled;
  std::vector<std::string> inputs;
  std::vector<absl::string_view> views;  // Of inputs.
  std::vector<std::string> outputs;

  simfarm::SessionOptions Options(bool taps) const {
    simfarm::SessionOptions options;
    for (size_t i = 0; taps && i < graph.tensors.size(); ++i) {
      options.tensor_element_bytes.push_back(
          compiler::ElementBytes(graph.tensors[i].type));
    }
    return options;
  }

  absl::StatusOr<std::unique_ptr<simfarm::Session>> Load(bool taps) const {
    return simfarm::LoadSession(compiled.program, compiled.constants,
                                target.machine(), Options(taps));
  }
};

absl::StatusOr<std::unique_ptr<Chip>> Prepare(const Network& network,
                                              const std::string& target) {
  auto chip = std::make_unique<Chip>();
  EK_ASSIGN_OR_RETURN(chip->graph, LoadQuantized(network));
  EK_ASSIGN_OR_RETURN(chip->target, target::ResolveTarget(absl::StrCat(
                                        "extends: \"", target, "\"")));
  EK_ASSIGN_OR_RETURN(
      const v1::Partition partition,
      compiler::PartitionGraph(chip->graph, chip->target.capabilities()));
  EK_ASSIGN_OR_RETURN(const v1::RegionPlans plan,
                      compiler::TilePartition(partition, chip->target.machine(),
                                              v1::TileRecipe()));
  EK_ASSIGN_OR_RETURN(
      chip->compiled,
      compiler::EmitProgram(partition, plan, chip->target.machine()));
  EK_ASSIGN_OR_RETURN(chip->inputs, tests::SyntheticInputs(chip->graph));
  chip->views.assign(chip->inputs.begin(), chip->inputs.end());
  return chip;
}

// What is timed for one network; holds what the subjects use.
class NetworkBench {
 public:
  // Only subjects whose name contains `figure`; all if it is empty.
  NetworkBench(const Network& network, std::unique_ptr<Chip> chip,
               OnnxRuntime* runtime, const std::string& figure,
               Results& results)
      : network_(network),
        chip_(std::move(chip)),
        runtime_(runtime),
        figure_(figure),
        results_(results) {}

  absl::Status Run(const MeasureOptions& options) {
    EK_RETURN_IF_ERROR(AddOwn());
    own_ = subjects_.size();
    AddOneDnn();
    AddOnnxRuntime();
    std::erase_if(subjects_, [this](const Subject& subject) {
      return subject.name.find(figure_) == std::string::npos;
    });
    EK_ASSIGN_OR_RETURN(const std::vector<Timing> timings,
                        MeasureInterleaved(subjects_, options));
    Report(timings);
    return absl::OkStatus();
  }

 private:
  absl::Status AddOwn() {
    EK_ASSIGN_OR_RETURN(session_, chip_->Load(false));
    EK_ASSIGN_OR_RETURN(tapped_, chip_->Load(true));
    EK_ASSIGN_OR_RETURN(interpreter_,
                        compiler::Interpreter::Create(chip_->graph));
    const Chip& chip = *chip_;
    subjects_.push_back({"values on the chip", [this] {
                           return session_->Run(chip_->views, nullptr,
                                                &chip_->outputs);
                         }});
    subjects_.push_back({"values of all layers", [this] {
                           return tapped_->Run(chip_->views, Ignore(),
                                               &chip_->outputs);
                         }});
    subjects_.push_back(
        {"values and cycles, checked", [this] {
           return session_->RunChecked(chip_->views, nullptr, &chip_->outputs)
               .status();
         }});
    subjects_.push_back(
        {"interpreter", [this] { return interpreter_->Run(chip_->views); }});
    program_bytes_ = chip.compiled.program.SerializeAsString();
    subjects_.push_back({"cycles alone", [this] { return CountCycles(); }});
    subjects_.push_back({"load and first run", [this] { return FirstRun(); }});
    // What the stages of a job with one sample do, from nothing.
    subjects_.push_back({"cold: values", [this] { return ColdValues(); }});
    subjects_.push_back({"cold: values and cycles", [this] {
                           EK_RETURN_IF_ERROR(ColdValues());
                           return CountCycles();
                         }});
    subjects_.push_back(
        {"load a program", [&chip] { return chip.Load(false).status(); }});
    return absl::OkStatus();
  }

  // As the stage of that name does for --timing-only, from the stored bytes.
  absl::Status CountCycles() {
    v1::Program program;
    if (!program.ParseFromString(program_bytes_)) {
      return absl::InternalError("the program does not parse");
    }
    return simfarm::CountCycles(program, chip_->target.machine(),
                                simfarm::SessionOptions())
        .status();
  }

  // As it does otherwise.
  absl::Status FirstRun() {
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<simfarm::Session> session,
                        chip_->Load(false));
    return session->RunChecked(chip_->views, nullptr, &chip_->outputs).status();
  }

  absl::Status ColdValues() {
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<simfarm::Session> session,
                        chip_->Load(true));
    return session->Run(chip_->views, Ignore(), &chip_->outputs);
  }

  static simfarm::TapVisitor Ignore() {
    return [](const v1::Program::Tap&, absl::string_view) {
      return absl::OkStatus();
    };
  }

  void AddOneDnn() {
    auto layers = NewOneDnnLayers(chip_->graph);
    if (!layers.ok()) {
      Absent("oneDNN int8", layers.status());
      return;
    }
    layers_ = *std::move(layers);
    subjects_.push_back({"oneDNN int8", [this] { return layers_->Run(); }});
  }

  void AddOnnxRuntime() {
    if (runtime_ == nullptr) return;  // Said once for all networks.
    const absl::StatusOr<std::string> quantized = QuantizedOnnx(chip_->graph);
    if (quantized.ok()) {
      AddModel("ORT int8 (u8 QLinear)", *quantized);
    } else {
      Absent("ORT int8 (u8 QLinear)", quantized.status());
    }
    if (FileExists(network_.qdq_onnx)) {
      AddModel("ORT int8 (its QDQ file)", ReadFileOrDie(network_.qdq_onnx));
    }
    if (FileExists(network_.float_onnx)) {
      AddModel("ORT fp32", ReadFileOrDie(network_.float_onnx));
    }
  }

  void AddModel(const std::string& name, const std::string& bytes) {
    const std::string optimized =
        absl::StrCat(P_tmpdir, "/bench-optimized-", getpid(), ".onnx");
    auto model = runtime_->Open(bytes, optimized);
    if (!model.ok()) {
      Absent(name, model.status());
      return;
    }
    if (FileExists(optimized)) {
      results_.Note(absl::StrCat(network_.name, ", ", name, ", optimized: ",
                                 OpsOf(ReadFileOrDie(optimized))));
    }
    std::remove(optimized.c_str());
    models_.push_back(*std::move(model));
    OnnxRuntimeModel* const raw = models_.back().get();
    if (const absl::Status status = raw->Run(); !status.ok()) {
      Absent(name, status);
      return;
    }
    subjects_.push_back({name, [raw] { return raw->Run(); }});
  }

  void Absent(const std::string& name, const absl::Status& status) {
    results_.Note(absl::StrCat(network_.name, ": no ", name, ": ",
                               std::string(status.message())));
  }

  void Report(const std::vector<Timing>& timings) {
    for (size_t i = 0; i < subjects_.size(); ++i) {
      results_.Add(
          MillisecondRow(network_.name, subjects_[i].name, timings[i]));
    }
    if (!figure_.empty()) return;
    if (network_.name == "resnet18") {
      Row row = MillisecondRow(network_.name, "cycles alone", timings[kCycles]);
      row.goal = "<= 20 ms";
      results_.Add(row);
    }
    const Timing& values = timings[kValues];
    const auto peers = kCyclePeers.equal_range(network_.name);
    for (auto peer = peers.first; peer != peers.second; ++peer) {
      Row row = MillisecondRow(network_.name, "cycles alone / peer",
                               timings[kCycles]);
      row.reference = peer->second;
      results_.Add(row);
    }
    const bool tiny = network_.model.find(".tflite") != std::string::npos;
    AddRatio("cold: values and cycles", timings[kColdBoth], "cold: values",
             timings[kColdValues], tiny ? "<= 3x" : "<= 1.5x");
    size_t best = subjects_.size();  // Of ONNX Runtime's int8 variants.
    for (size_t i = own_; i < subjects_.size(); ++i) {
      const std::string& name = subjects_[i].name;
      if (name.rfind("ORT int8", 0) == 0 &&
          (best == subjects_.size() ||
           timings[i].median < timings[best].median)) {
        best = i;
      }
      if (name.rfind("oneDNN", 0) == 0) {
        AddRatio("values / oneDNN", values, name, timings[i], "");
        AddRatio("interpreter / oneDNN", timings[kInterpreter], name,
                 timings[i], "");
      }
    }
    if (best == subjects_.size()) return;
    const std::string name = subjects_[best].name;
    AddRatio("values / best ORT", values, name, timings[best],
             tiny ? "<= 2x" : "<= 5x");
    AddRatio("first run / best ORT", timings[kChecked], name, timings[best],
             "");
  }

  void AddRatio(const std::string& measure, const Timing& timing,
                const std::string& name, const Timing& reference,
                const std::string& goal) {
    Row row = MillisecondRow(network_.name, measure, timing);
    row.reference = {name, reference.median * 1e3, Origin::kSameRun};
    row.goal = goal;
    results_.Add(row);
  }

  // Places among the subjects, as AddOwn() lists them.
  enum : size_t {
    kValues = 0,
    kChecked = 2,
    kInterpreter = 3,
    kCycles = 4,
    kColdValues = 6,
    kColdBoth = 7,
  };

  const Network& network_;
  std::unique_ptr<Chip> chip_;
  std::string program_bytes_;
  OnnxRuntime* const runtime_;
  const std::string& figure_;
  Results& results_;
  std::unique_ptr<simfarm::Session> session_;
  std::unique_ptr<simfarm::Session> tapped_;
  std::unique_ptr<compiler::Interpreter> interpreter_;
  std::unique_ptr<OneDnnLayers> layers_;
  std::vector<std::unique_ptr<OnnxRuntimeModel>> models_;
  std::vector<Subject> subjects_;
  size_t own_ = 0;  // So many subjects are ours.
};

struct Flags {
  std::string models;
  std::string resnet18;
  std::string mobilenet;
  std::string onnxruntime;
  std::string target = "dla-64-o-512k";
  std::vector<std::string> only;
  std::string figure;
};

int Main(int argc, char** argv) {
  CLI::App app("CPU time of inferences, simulated and not");
  Flags flags;
  MeasureOptions options;
  app.add_option("--models", flags.models, "Folder of the models")->required();
  app.add_option("--resnet18", flags.resnet18, "Generated ONNX file");
  app.add_option("--mobilenet", flags.mobilenet, "Generated ONNX file");
  app.add_option("--onnxruntime", flags.onnxruntime, "libonnxruntime.so.1");
  app.add_option("--target", flags.target, "Name of a built-in target")
      ->capture_default_str();
  app.add_option("--network", flags.only, "These networks only");
  app.add_option("--figure", flags.figure,
                 "Only figures whose name contains this, for a profiler");
  app.add_option("--rounds", options.rounds, "Samples of each figure")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Results results("simulate");
  const std::unique_ptr<OnnxRuntime> runtime =
      FindOnnxRuntime(flags.onnxruntime, results);
  results.Note(OneDnnVersion().empty() ? "absent: oneDNN" : OneDnnVersion());
  results.Note("CPU time of one inference on one thread.");
  std::vector<Network> networks = TinyNetworks(flags.models);
  networks.push_back({"resnet18", flags.resnet18, flags.resnet18, ""});
  networks.push_back({"mobilenet_v1", flags.mobilenet, flags.mobilenet, ""});
  for (const Network& network : Present(networks, flags.only, results)) {
    absl::StatusOr<std::unique_ptr<Chip>> chip = Prepare(network, flags.target);
    if (!chip.ok()) {
      results.Note(absl::StrCat("fails: ", network.name, ": ",
                                std::string(chip.status().message())));
      continue;
    }
    NetworkBench bench(network, *std::move(chip), runtime.get(), flags.figure,
                       results);
    const absl::Status status = bench.Run(options);
    if (!status.ok()) {
      results.Note(absl::StrCat("fails: ", network.name, ": ",
                                std::string(status.message())));
    }
  }
  std::cout << results.Json();
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
