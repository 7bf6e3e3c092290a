// Networks as firmware of rv32imc: instructions, flash and RAM by recipe,
// beside what others published for the same networks, and what making them
// costs.
//
//   bench_firmware [--shared DIR] [--clang] [MODEL ...]
//
// Needs the package of `tools/install_packages firmware`, or clang and lld.

#include <iostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/codegen/firmware/emit_firmware.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "simfarm/session/session.h"
#include "tests/bench/measure.h"
#include "tests/bench/rv32_tools.h"
#include "tests/c_targets/firmware_build.h"

namespace edgekiln::bench {
namespace {

// TVM's micro interpreter (tflmi) and its flow ahead of time, of MLonMCU on
// RV32. 0: not published.
struct Published {
  const char* model;
  double tflmi_instructions;
  double tvm_instructions;
  int64_t tflmi_flash;
  int64_t tflmi_ram;
};
constexpr Published kPublished[] = {
    {"resnet8_int8.tflite", 154.8e6, 57.3e6, 198'356, 68'613},
    {"ad_int8.tflite", 3.03e6, 0.957e6, 0, 0},
};

const Published* FindPublished(const std::string& model) {
  for (const Published& each : kPublished) {
    if (model == each.model) return &each;
  }
  return nullptr;
}

absl::StatusOr<compiler::Graph> Load(const std::string& path) {
  EK_ASSIGN_OR_RETURN(compiler::Graph graph,
                      compiler::ImportModel(ReadFile(path)));
  EK_RETURN_IF_ERROR(compiler::Simplify(graph));
  return graph;
}

std::string Ratio(double ours, double theirs) {
  return theirs > 0 ? absl::StrFormat("%.3f", ours / theirs) : "-";
}

absl::Status Row(const std::string& model, const compiler::Graph& graph,
                 const v1::Machine& machine, v1::CompilerFamily family,
                 const std::string& name, v1::CRecipe::Kernels kernels) {
  v1::CRecipe recipe;
  recipe.set_kernels(kernels);
  std::vector<double> emit_seconds;
  for (int i = 0; i < 5; ++i) {
    const double before = ProcessCpuSeconds();
    EK_RETURN_IF_ERROR(compiler::EmitFirmware(graph, machine, recipe).status());
    emit_seconds.push_back(ProcessCpuSeconds() - before);
  }
  const double children = ChildCpuSeconds();
  EK_ASSIGN_OR_RETURN(
      const tests::BuiltFirmware built,
      tests::BuildFirmware(graph, machine, kernels, nullptr, family));
  const double build_seconds = ChildCpuSeconds() - children;
  EK_ASSIGN_OR_RETURN(
      const auto session,
      simfarm::LoadSession(built.program, built.elf, machine, {}));
  const std::vector<std::string> values = compiler::RandomInputs(graph, 0);
  const std::vector<absl::string_view> inputs(values.begin(), values.end());
  std::vector<std::string> outputs;
  const double before = ProcessCpuSeconds();
  EK_RETURN_IF_ERROR(session->Run(inputs, nullptr, &outputs));
  const double run_seconds = ProcessCpuSeconds() - before;
  const double instructions =
      static_cast<double>(session->last_run().instructions);
  const Published* const published = FindPublished(model);
  const v1::FirmwareSections& sections = built.program.firmware().sections();
  std::cout << absl::StrFormat(
      "%-24s %-8s %9.3f M  %7d B %6s  %7d B %6s  %5d B  %8s %8s  %6.1f ms "
      "%6.2f s  %5.0f M/s\n",
      model, name, instructions / 1e6, built.program.flash_bytes(),
      published == nullptr
          ? "-"
          : Ratio(static_cast<double>(built.program.flash_bytes()),
                  static_cast<double>(published->tflmi_flash)),
      built.program.ram_bytes(),
      published == nullptr
          ? "-"
          : Ratio(static_cast<double>(built.program.ram_bytes()),
                  static_cast<double>(published->tflmi_ram)),
      sections.stack_bytes(),
      published == nullptr ? "-"
                           : Ratio(instructions, published->tflmi_instructions),
      published == nullptr ? "-"
                           : Ratio(instructions, published->tvm_instructions),
      1e3 * Quantile(emit_seconds, 0.5), build_seconds,
      instructions / 1e6 / run_seconds);
  return absl::OkStatus();
}

absl::Status Main(const std::string& shared, v1::CompilerFamily family,
                  const std::vector<std::string>& models) {
  EK_ASSIGN_OR_RETURN(const v1::Machine machine, tests::MachineOf("rv32imc"));
  std::cout << absl::StrFormat(
      "%-24s %-8s %11s  %9s %6s  %9s %6s  %7s  %8s %8s  %9s %8s  %s\n", "model",
      "recipe", "executed", "flash", "/tflmi", "RAM", "/tflmi", "stack",
      "x tflmi", "x TVM", "emit_c", "compiler", "simulated");
  for (const std::string& model : models) {
    EK_ASSIGN_OR_RETURN(const compiler::Graph graph,
                        Load(absl::StrCat(shared, "/models/", model)));
    EK_RETURN_IF_ERROR(Row(model, graph, machine, family, "default",
                           v1::CRecipe::KERNELS_UNSPECIFIED));
    EK_RETURN_IF_ERROR(
        Row(model, graph, machine, family, "size", v1::CRecipe::SMALL));
    EK_RETURN_IF_ERROR(
        Row(model, graph, machine, family, "plain", v1::CRecipe::PLAIN));
    EK_RETURN_IF_ERROR(
        Row(model, graph, machine, family, "uma", v1::CRecipe::UMA));
    EK_RETURN_IF_ERROR(
        Row(model, graph, machine, family, "table", v1::CRecipe::TABLE));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) {
  std::string shared = EK_SHARED_DIR;
  std::vector<std::string> models = {"resnet8_int8.tflite", "dscnn_int8.tflite",
                                     "ad_int8.tflite",
                                     "person_detect_int8.tflite"};
  CLI::App app("Networks as firmware of rv32imc");
  app.add_option("--shared", shared, "Folder with models/");
  bool clang = false;
  app.add_flag("--clang", clang, "Build with clang");
  app.add_option("models", models, "Files of models/");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = edgekiln::bench::Main(
      shared, clang ? edgekiln::v1::CLANG : edgekiln::v1::GCC, models);
  if (!status.ok()) std::cerr << "bench_firmware: " << status << "\n";
  return status.ok() ? 0 : 1;
}
