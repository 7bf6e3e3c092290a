// The memory that generated C takes on RV32: code and constants as gcc makes
// them, arena, and the stack that one inference uses on the instruction-set
// simulator. Instructions by function with --layers; those of whole networks
// are bench_firmware's.
//
//   bench_c_code [--shared DIR] [--gcc FILE] [--model FILE]... [--recipe
//   NAME]...
//                [--layers]
//
// Needs the packages of `tools/install_packages firmware`.

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "compiler/codegen/c/c_sources.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"
#include "simfarm/simulators/rv32/devices.h"
#include "simfarm/simulators/rv32/machine.h"
#include "tests/bench/rv32_tools.h"

namespace edgekiln::bench {
namespace {

namespace fs = std::filesystem;
namespace rv32 = simfarm::rv32;

using compiler::CRecipe;

constexpr int64_t kStackBytes = 1 << 16;

const std::map<std::string, CRecipe>& Recipes() {
  static const auto& recipes = *new std::map<std::string, CRecipe>{
      {"default", CRecipe::kDefault}, {"plain", CRecipe::kPlain},
      {"size", CRecipe::kSize},       {"table", CRecipe::kTable},
      {"uma", CRecipe::kUma},
  };
  return recipes;
}

struct Settings {
  std::string gcc = "riscv64-unknown-elf-gcc";
  std::string shared = EK_SHARED_DIR;
  bool layers = false;
};

// Calls the network once, on values that a counter makes. The run ends with a
// hash of the outputs.
std::string MainOf(const compiler::CManifest& manifest) {
  std::string text = absl::StrCat(
      "#include \"", manifest.name, ".h\"\n", "void kernel_main(void);\n",
      "void kernel_main(void) {\n", "  uint32_t seed = 1, i;\n");
  for (const compiler::CPort& port : manifest.inputs) {
    absl::StrAppend(&text, "  for (i = 0; i < ", port.size_bytes,
                    "; ++i) {\n    seed = seed * 1664525u + 1013904223u;\n",
                    "    ((uint8_t *)", port.macro,
                    ")[i] = (uint8_t)(seed >> 24);\n  }\n");
  }
  absl::StrAppend(&text, "  ", manifest.name, "_invoke();\n");
  for (const compiler::CPort& port : manifest.outputs) {
    absl::StrAppend(&text, "  for (i = 0; i < ", port.size_bytes,
                    "; ++i)\n    seed = (seed ^ ((uint8_t *)", port.macro,
                    ")[i]) * 16777619u;\n");
  }
  return text +
         "  *(volatile uint32_t *)0x100000 = (seed >> 16 << 16) | 0x3333;\n}\n";
}

std::string Build(const Settings& settings, const compiler::CSources& sources,
                  const fs::path& folder) {
  for (const compiler::CFile& file : sources.files) {
    std::ofstream(folder / file.path, std::ios::binary) << file.text;
  }
  std::ofstream(folder / "main.c") << MainOf(sources.manifest);
  const std::string elf = (folder / "program.elf").string();
  RunCommand(absl::StrCat(
      "cd ", folder.string(), " && ", settings.gcc,
      " -march=rv32imc -misa-spec=2.2 -mabi=ilp32 -O2 -fno-schedule-insns"
      " -fno-tree-vectorize -fno-tree-loop-distribute-patterns -ffreestanding"
      " -ffp-contract=off -std=c99 -Wall -Wextra -Werror -pedantic -nostdlib"
      " -nostartfiles -Wl,--no-warn-rwx-segments -T ",
      EK_RV32_BENCH_DIR, "/link.ld ", EK_RV32_BENCH_DIR, "/start.S main.c ",
      sources.manifest.name, ".c -lgcc -o ", elf));
  return ReadFile(elf);
}

struct Measured {
  int32_t hash = 0;  // Of the outputs: equal for all recipes.
  int64_t stack_bytes = 0;
  int64_t code_bytes = 0;  // All functions.
  std::map<std::string, int64_t> function_bytes;
  std::map<std::string, int64_t> function_instructions;
};

Measured Run(const std::string& elf) {
  rv32::ExitDevice exit;
  const auto executable = OrDie(rv32::ReadElf(elf), "the ELF file");
  const auto machine = OrDie(rv32::NewMachine(Rv32Config(exit)), "the machine");
  const absl::Status loaded = machine->Load(executable);
  if (!loaded.ok()) Die(loaded.ToString());
  const uint32_t bottom = kRv32Ram + kRv32RamBytes - kStackBytes;
  const std::string paint(kStackBytes, '\xa5');
  const absl::Status painted = machine->Write(bottom, paint);
  if (!painted.ok()) Die(painted.ToString());
  Measured measured;
  measured.hash = RunToEnd(*machine).exit_code;
  const auto stack = OrDie(machine->Read(bottom, kStackBytes), "the stack");
  measured.stack_bytes =
      kStackBytes - static_cast<int64_t>(std::min<size_t>(
                        stack.find_first_not_of('\xa5'), stack.size()));
  for (const rv32::Function& function : executable.functions) {
    measured.code_bytes += function.size_bytes;
    measured.function_bytes[function.name] = function.size_bytes;
  }
  for (const rv32::FunctionCount& count : machine->CountFunctions()) {
    if (count.name == "_start" || count.name == "kernel_main") continue;
    measured.function_instructions[count.name] += count.instructions;
  }
  return measured;
}

// Bytes and instructions by function, those of layers beside estimates.
void PrintLayers(const compiler::CManifest& manifest,
                 const Measured& measured) {
  std::map<std::string, const compiler::CLayer*> layers;
  for (const compiler::CLayer& layer : manifest.layers) {
    layers[layer.function] = &layer;
  }
  for (const auto& [name, bytes] : measured.function_bytes) {
    const auto count = measured.function_instructions.find(name);
    const int64_t instructions =
        count == measured.function_instructions.end() ? 0 : count->second;
    std::cout << absl::StrFormat("    %-44s %6d B %12d", name, bytes,
                                 instructions);
    const auto layer = layers.find(name);
    if (layer != layers.end()) {
      std::cout << absl::StrFormat("   %-10s %6d B %12d", layer->second->kernel,
                                   layer->second->code_bytes,
                                   layer->second->predicted_instructions);
    }
    std::cout << "\n";
  }
}

void Measure(const Settings& settings, const std::string& model,
             const std::string& recipe, const fs::path& folder) {
  auto graph = OrDie(compiler::ImportModel(ReadFile(model)), model);
  const absl::Status simple = compiler::Simplify(graph);
  if (!simple.ok()) Die(simple.ToString());
  compiler::COptions options;
  options.name = "net";
  options.recipe = Recipes().at(recipe);
  const auto sources = OrDie(compiler::EmitC(graph, options), model);
  const Measured measured = Run(Build(settings, sources, folder));
  const compiler::CManifest& manifest = sources.manifest;
  std::cout << absl::StrFormat(
      "%-32s %-8s code %6d B (estimated %6d)  constants %7d B  arena %6d B  "
      "stack used %5d B  outputs %04x\n",
      fs::path(model).filename().string(), recipe, measured.code_bytes,
      manifest.code_bytes, manifest.constant_bytes, manifest.arena_bytes,
      measured.stack_bytes, measured.hash);
  if (settings.layers) PrintLayers(manifest, measured);
}

int Main(int argc, char** argv) {
  Settings settings;
  std::vector<std::string> models, recipes;
  CLI::App app("Generated C on RV32: memory");
  app.add_option("--shared", settings.shared, "Folder with models");
  app.add_option("--gcc", settings.gcc, "The compiler");
  app.add_option("--model", models, "Instead of the published int8 ones");
  app.add_option("--recipe", recipes, "default, plain, size, table, uma: all");
  app.add_flag("--layers", settings.layers, "Every function as well");
  CLI11_PARSE(app, argc, argv);
  if (models.empty()) {
    for (const char* name :
         {"resnet8_int8", "dscnn_int8", "ad_int8", "person_detect_int8"}) {
      models.push_back(
          absl::StrCat(settings.shared, "/models/", name, ".tflite"));
    }
  }
  if (recipes.empty()) recipes = {"default", "plain", "size", "table", "uma"};
  for (const std::string& recipe : recipes) {
    if (!Recipes().contains(recipe)) Die(absl::StrCat("no recipe ", recipe));
  }
  const fs::path folder =
      fs::temp_directory_path() / absl::StrCat("bench_c_code_", getpid());
  fs::create_directories(folder);
  for (const std::string& model : models) {
    for (const std::string& recipe : recipes) {
      Measure(settings, model, recipe, folder);
    }
  }
  fs::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace edgekiln::bench

int main(int argc, char** argv) { return edgekiln::bench::Main(argc, argv); }
