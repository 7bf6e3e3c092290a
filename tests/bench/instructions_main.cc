// One figure of one network, computed once for an instruction counter:
// tools/bench_instructions runs this program under callgrind, which counts
// inside MeasuredSection() alone.
//
//   bench_instructions --models FOLDER --network NAME --figure NAME
//   bench_instructions --models FOLDER --list

#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/codegen/bundle.h"
#include "compiler/codegen/compile.h"
#include "compiler/frontend/import.h"
#include "compiler/partition/partition.h"
#include "compiler/passes/pipeline.h"
#include "simfarm/session/session.h"
#include "target/resolve.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/results.h"
#include "tests/pipeline/synthetic.h"

// Named on the command line of callgrind: neither inlined nor mangled.
extern "C" __attribute__((noinline)) void MeasuredSection(
    const std::function<absl::Status()>& run, absl::Status* status) {
  *status = run();
}

namespace edgekiln::bench {
namespace {

// One network on one chip, up to where each figure starts.
class Figures {
 public:
  Figures(const Network& network, const std::string& target)
      : model_(ReadFileOrDie(network.model)),
        graph_(OrDie(LoadQuantized(network))),
        target_(OrDie(
            target::ResolveTarget(absl::StrCat("extends: \"", target, "\"")))),
        partition_(
            OrDie(compiler::PartitionGraph(graph_, target_.capabilities()))),
        plan_(OrDie(compiler::TilePartition(partition_, target_.machine(),
                                            v1::TileRecipe()))),
        compiled_(
            OrDie(compiler::EmitProgram(partition_, plan_, target_.machine()))),
        inputs_(OrDie(tests::SyntheticInputs(graph_))),
        views_(inputs_.begin(), inputs_.end()) {}

  std::vector<Subject> All() {
    return {{"compile", [this] { return Compile(); }},
            {"partition", [this] { return Partition(); }},
            {"tile", [this] { return Tile(); }},
            {"emit", [this] { return Emit(); }},
            {"bundle", [this] { return Bundle(); }},
            {"load", [this] { return Load().status(); }},
            {"load and checked run", [this] { return CheckedRun(); }},
            {"run with all layers", [this] { return TappedRun(); }},
            {"cycles alone", [this] { return CountCycles(); }}};
  }

 private:
  absl::Status Compile() {
    EK_ASSIGN_OR_RETURN(compiler::Graph graph, compiler::ImportModel(model_));
    EK_RETURN_IF_ERROR(compiler::Simplify(graph));
    EK_ASSIGN_OR_RETURN(
        const v1::Partition partition,
        compiler::PartitionGraph(graph, target_.capabilities()));
    EK_ASSIGN_OR_RETURN(const v1::RegionPlans plan,
                        compiler::TilePartition(partition, target_.machine(),
                                                v1::TileRecipe()));
    return compiler::EmitProgram(partition, plan, target_.machine()).status();
  }

  absl::Status Partition() {
    return compiler::PartitionGraph(graph_, target_.capabilities()).status();
  }
  absl::Status Tile() {
    return compiler::TilePartition(partition_, target_.machine(),
                                   v1::TileRecipe())
        .status();
  }
  absl::Status Emit() {
    return compiler::EmitProgram(partition_, plan_, target_.machine()).status();
  }
  absl::Status Bundle() {
    return compiler::BundleFiles(compiled_.program, partition_.graph(),
                                 compiled_.constants, target_.machine(), {})
        .status();
  }

  absl::StatusOr<std::unique_ptr<simfarm::Session>> Load() {
    simfarm::SessionOptions options;
    for (const compiler::Tensor& tensor : graph_.tensors) {
      options.tensor_element_bytes.push_back(
          compiler::ElementBytes(tensor.type));
    }
    return simfarm::LoadSession(compiled_.program, compiled_.constants,
                                target_.machine(), options);
  }

  static absl::Status Ignore(const v1::Program::Tap&, absl::string_view) {
    return absl::OkStatus();
  }

  absl::Status CheckedRun() {
    EK_ASSIGN_OR_RETURN(const std::unique_ptr<simfarm::Session> session,
                        Load());
    return session->RunChecked(views_, Ignore, &outputs_).status();
  }

  // Warm: of the two runs that are made, the second is measured.
  absl::Status TappedRun() {
    if (session_ == nullptr) {
      EK_ASSIGN_OR_RETURN(session_, Load());
    }
    return session_->Run(views_, Ignore, &outputs_);
  }

  absl::Status CountCycles() {
    return simfarm::CountCycles(compiled_.program, target_.machine(),
                                simfarm::SessionOptions())
        .status();
  }

  const std::string model_;
  const compiler::Graph graph_;
  const v1::ResolvedTarget target_;
  const v1::Partition partition_;
  const v1::RegionPlans plan_;
  const compiler::EmitResult compiled_;
  const std::vector<std::string> inputs_;
  const std::vector<absl::string_view> views_;  // Of inputs_.
  std::unique_ptr<simfarm::Session> session_;
  std::vector<std::string> outputs_;
};

int Main(int argc, char** argv) {
  CLI::App app("One figure of one network, for an instruction counter");
  std::string models;
  std::string target = "dla-64-o-512k";
  std::string network_name;
  std::string figure;
  bool list = false;
  app.add_option("--models", models, "Folder of the models")->required();
  app.add_option("--target", target, "Name of a built-in target")
      ->capture_default_str();
  app.add_option("--network", network_name, "Its name");
  app.add_option("--figure", figure, "Its name");
  app.add_flag("--list", list, "Print networks and figures, tab-separated");
  CLI11_PARSE(app, argc, argv);

  Results notes("instructions");
  for (const Network& network : Present(TinyNetworks(models), {}, notes)) {
    if (!list && network.name != network_name) continue;
    Figures figures(network, target);
    for (const Subject& subject : figures.All()) {
      if (list) std::cout << network.name << "\t" << subject.name << "\n";
      if (list || subject.name != figure) continue;
      OrDie(subject.run());  // First calls set up what later ones find.
      absl::Status status;
      MeasuredSection(subject.run, &status);
      OrDie(status);
      return 0;
    }
  }
  if (list) return 0;
  std::cerr << "bench: no figure \"" << figure << "\" of \"" << network_name
            << "\"; --list names them\n";
  return 1;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
