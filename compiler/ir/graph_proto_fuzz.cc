#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

// What it starts from is text; that becomes the stored form first.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int) {
  namespace ek = edgekiln::compiler;
  const auto graph = ek::ParseGraph(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (graph.ok()) {
    const std::string bytes = ek::GraphToProto(*graph).SerializeAsString();
    if (bytes.size() <= max_size) {
      std::memcpy(data, bytes.data(), bytes.size());
      size = bytes.size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

// A stored graph that verifies can be computed.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace ek = edgekiln::compiler;
  edgekiln::v1::Graph proto;
  if (!proto.ParseFromArray(data, static_cast<int>(size))) return 0;
  const auto graph = ek::GraphFromProto(proto);
  if (!graph.ok()) return 0;
  // Small enough to be computed at once.
  int64_t macs = 0;
  for (const ek::Op& op : graph->ops) macs += ek::MacsOf(*graph, op);
  for (const ek::Tensor& tensor : graph->tensors) {
    macs += tensor.num_elements();
  }
  if (macs > (1 << 20)) return 0;
  const auto interpreter =
      ek::Interpreter::Create(*graph, {.max_buffer_bytes = 1 << 24});
  if (!interpreter.ok()) return 0;
  std::vector<std::string> values;
  for (const ek::TensorId id : graph->inputs) {
    const ek::Tensor& tensor = graph->tensors[id];
    values.emplace_back(tensor.num_elements() * ek::ElementBytes(tensor.type),
                        '\1');
  }
  const std::vector<absl::string_view> inputs(values.begin(), values.end());
  if (!(*interpreter)->Run(inputs).ok()) abort();
  return 0;
}
