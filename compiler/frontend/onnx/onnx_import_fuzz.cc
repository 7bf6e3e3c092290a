// Any bytes: an error or a graph that verifies, and that simplification keeps
// valid. Mutation starts from models of our own and knows their parts, so that
// it reaches the converters at once.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compiler/frontend/onnx/onnx_import.h"
#include "compiler/frontend/onnx/testing/model_mutator.h"
#include "compiler/frontend/onnx/testing/seed_models.h"
#include "compiler/passes/pipeline.h"

namespace {

using edgekiln::Rng;
using edgekiln::compiler::onnx_import::MutateModel;

bool Parse(const uint8_t* data, size_t size, onnx::ModelProto& model) {
  return model.ParseFromArray(data, static_cast<int>(size));
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// One time in sixteen, and for what is no model yet, another of ours; else
// parts of the model three times in four, and bytes.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  static const auto& seeds = *new std::vector<std::string>(
      edgekiln::compiler::onnx_import::SeedModels());
  Rng rng(seed);
  const std::string& fresh = seeds[rng.Below(seeds.size())];
  if ((size < 16 || rng.Below(16) == 0) && fresh.size() <= max_size) {
    std::memcpy(data, fresh.data(), fresh.size());
    size = fresh.size();
  }
  onnx::ModelProto model;
  if (rng.Below(4) == 0 || !Parse(data, size, model)) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  for (int64_t changes = rng.InRange(1, 4); changes > 0; --changes) {
    MutateModel(rng, model);
  }
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

// Some nodes of one in the graph of the other, which read the same inputs.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2,
                                            uint8_t* out, size_t max_size,
                                            unsigned int seed) {
  onnx::ModelProto model;
  onnx::ModelProto other;
  if (!Parse(data1, size1, model) || !Parse(data2, size2, other)) return 0;
  Rng rng(seed);
  onnx::GraphProto& to = *model.mutable_graph();
  const onnx::GraphProto& from = other.graph();
  const auto rename = [](std::string& name) {
    if (!name.empty() && name != "x") name += '\'';
  };
  for (const auto& constant : from.initializer()) {
    *to.add_initializer() = constant;
    rename(*to.mutable_initializer()->rbegin()->mutable_name());
  }
  for (const auto& node : from.node()) {
    onnx::NodeProto& added = *to.add_node();
    added = node;
    for (std::string& input : *added.mutable_input()) {
      if (rng.Below(4) > 0) rename(input);  // Else one of the other's values.
    }
    for (std::string& output : *added.mutable_output()) rename(output);
  }
  for (const auto& output : from.output()) {
    *to.add_output() = output;
    rename(*to.mutable_output()->rbegin()->mutable_name());
  }
  const std::string bytes = model.SerializeAsString();
  if (bytes.size() > max_size) return 0;
  std::memcpy(out, bytes.data(), bytes.size());
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto graph = edgekiln::compiler::ImportOnnx(bytes);
  if (!graph.ok()) return 0;
  const absl::Status simplified = edgekiln::compiler::Simplify(*graph);
  if (!simplified.ok()) {
    std::cerr << simplified << '\n';
    std::abort();
  }
  return 0;
}
