// emit_c MODEL FOLDER [plain|default|size|table|uma]: writes the C of a model
// into a folder, to look at or to measure.

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

#include "compiler/codegen/c/c_sources.h"
#include "compiler/frontend/import.h"
#include "compiler/passes/pipeline.h"

int main(int argc, char** argv) {
  using namespace edgekiln::compiler;  // NOLINT
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: emit_c MODEL FOLDER "
                 "[plain|default|size|table|uma]\n");
    return 2;
  }
  std::stringstream bytes;
  bytes << std::ifstream(argv[1], std::ios::binary).rdbuf();
  const std::string model = bytes.str();
  auto graph = ImportModel(model);
  if (!graph.ok() || !Simplify(*graph).ok()) {
    std::fprintf(stderr, "%s\n", graph.status().ToString().c_str());
    return 1;
  }
  COptions options;
  options.name = "net";
  const std::string recipe = argc > 3 ? argv[3] : "default";
  options.recipe = recipe == "plain"   ? CRecipe::kPlain
                   : recipe == "size"  ? CRecipe::kSize
                   : recipe == "table" ? CRecipe::kTable
                   : recipe == "uma"   ? CRecipe::kUma
                                       : CRecipe::kDefault;
  const auto sources = EmitC(*graph, options);
  if (!sources.ok()) {
    std::fprintf(stderr, "%s\n", sources.status().ToString().c_str());
    return 1;
  }
  for (const CFile& file : sources->files) {
    std::ofstream(std::string(argv[2]) + "/" + file.path) << file.text;
  }
  const CManifest& m = sources->manifest;
  std::printf("arena %lld, constants %lld bytes\n",
              static_cast<long long>(m.arena_bytes),
              static_cast<long long>(m.constant_bytes));
  for (const CLayer& layer : m.layers) {
    std::printf("%-40s %-12s %12lld\n", layer.function.c_str(),
                layer.kernel.c_str(),
                static_cast<long long>(layer.predicted_instructions));
  }
  return 0;
}
