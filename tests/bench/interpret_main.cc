// CPU time of one inference in the reference interpreter, beside ONNX Runtime
// on the same float network.
//
//   bench_interpret --models FOLDER [--mobilenet FILE] [--onnxruntime LIBRARY]

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "compiler/frontend/import.h"
#include "compiler/ir/interpreter.h"
#include "compiler/passes/pipeline.h"
#include "tests/bench/measure.h"
#include "tests/bench/networks.h"
#include "tests/bench/onnxruntime.h"
#include "tests/bench/results.h"
#include "tests/pipeline/synthetic.h"

namespace edgekiln::bench {
namespace {

struct FloatNetwork {
  std::string name;
  std::string model;
  std::string goal;
};

// One network in our interpreter and, if `runtime` is there, in ONNX Runtime.
absl::Status Measure(const FloatNetwork& network, OnnxRuntime* runtime,
                     const MeasureOptions& options, Results& results) {
  const std::string bytes = ReadFileOrDie(network.model);
  EK_ASSIGN_OR_RETURN(compiler::Graph graph, compiler::ImportModel(bytes));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  EK_ASSIGN_OR_RETURN(const std::unique_ptr<compiler::Interpreter> interpreter,
                      compiler::Interpreter::Create(graph));
  EK_ASSIGN_OR_RETURN(const std::vector<std::string> inputs,
                      tests::SyntheticInputs(graph));
  const std::vector<absl::string_view> views(inputs.begin(), inputs.end());
  std::vector<Subject> subjects = {
      {"interpreter", [&] { return interpreter->Run(views); }}};
  std::unique_ptr<OnnxRuntimeModel> model;
  if (runtime != nullptr) {
    EK_ASSIGN_OR_RETURN(model, runtime->Open(bytes, ""));
    subjects.push_back({"ORT fp32", [&] { return model->Run(); }});
  }
  EK_ASSIGN_OR_RETURN(const std::vector<Timing> timings,
                      MeasureInterleaved(subjects, options));
  Row row = MillisecondRow(network.name, "interpreter", timings[0]);
  if (model != nullptr) {
    row.reference = {"ORT fp32", timings[1].median * 1e3, Origin::kSameRun};
    row.goal = network.goal;
  }
  results.Add(row);
  return absl::OkStatus();
}

struct Flags {
  std::string models;
  std::string mobilenet;
  std::string onnxruntime;
  std::vector<std::string> only;
};

int Main(int argc, char** argv) {
  CLI::App app("CPU time of inferences in the reference interpreter");
  Flags flags;
  MeasureOptions options;
  app.add_option("--models", flags.models, "Folder of the models")->required();
  app.add_option("--mobilenet", flags.mobilenet, "Generated ONNX file");
  app.add_option("--onnxruntime", flags.onnxruntime, "libonnxruntime.so.1");
  app.add_option("--network", flags.only, "These networks only");
  app.add_option("--rounds", options.rounds, "Samples of each figure")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);

  Results results("interpret");
  const std::unique_ptr<OnnxRuntime> runtime =
      FindOnnxRuntime(flags.onnxruntime, results);
  results.Note("CPU time of one inference on one thread.");
  const std::string folder = flags.models + "/";
  const std::vector<FloatNetwork> networks = {
      {"mobilenet_v1", flags.mobilenet, "<= 4x"},
      {"resnet8", folder + "resnet8_fp32.onnx", ""},
      {"dscnn", folder + "dscnn_fp32.onnx", ""},
      {"resnet8_int8", folder + "resnet8_int8.tflite", ""},
  };
  for (const FloatNetwork& network : networks) {
    const bool wanted =
        flags.only.empty() || std::find(flags.only.begin(), flags.only.end(),
                                        network.name) != flags.only.end();
    if (!wanted) continue;
    if (!FileExists(network.model)) {
      results.Note("absent: " + network.name);
      continue;
    }
    const bool is_onnx = network.model.find(".tflite") == std::string::npos;
    const absl::Status status =
        Measure(network, is_onnx ? runtime.get() : nullptr, options, results);
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
