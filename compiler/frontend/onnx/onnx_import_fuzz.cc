// Any bytes: an error or a graph that verifies, and that simplification keeps
// valid. Mutation starts from models of our own, so that it reaches the
// converters at once.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/seed_models.h"
#include "compiler/passes/pipeline.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// One time in eight, and for what is no model yet, another of ours.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  static const auto& seeds = *new std::vector<std::string>(
      edgekiln::compiler::onnx_import::SeedModels());
  const std::string& model = seeds[seed / 8 % seeds.size()];
  if ((size < 16 || seed % 8 == 0) && model.size() <= max_size) {
    std::memcpy(data, model.data(), model.size());
    size = model.size();
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto graph = edgekiln::compiler::ImportOnnx(bytes);
  if (graph.ok() && !edgekiln::compiler::Simplify(*graph).ok()) std::abort();
  return 0;
}
