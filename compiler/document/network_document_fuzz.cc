#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "compiler/document/network_document.h"
#include "compiler/document/testing/sealed.h"
#include "compiler/ir/text.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

namespace ek = edgekiln::compiler;

edgekiln::v1::NetworkOrigin Origin() {
  edgekiln::v1::NetworkOrigin origin;
  origin.set_model_name("net.onnx");
  origin.mutable_model()->set_hash(std::string(64, 'a'));
  origin.mutable_model()->set_size_bytes(7);
  origin.set_io(edgekiln::v1::IO_INTEGER);
  origin.mutable_quantized_for()->add_per_tensor("conv2d");
  origin.set_ranges(edgekiln::v1::NetworkOrigin::DATA);
  return origin;
}

}  // namespace

// What it starts from are graphs as text; they become documents first.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int) {
  const auto graph = ek::ParseGraph(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (graph.ok()) {
    const auto document = ek::WriteNetworkDocument(
        Origin(), ek::GraphToProto(*graph).SerializeAsString());
    if (document.ok() && document->size() <= max_size) {
      std::memcpy(data, document->data(), document->size());
      size = document->size();
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

// What is read is what would be written. No mutation finds a SHA-256, so bytes
// are read once more with their own.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  for (const std::string& text :
       {bytes, ek::Sealed(bytes), ek::SealedWithSizes(bytes)}) {
    const auto document = ek::ReadNetworkDocument(text);
    if (!document.ok()) continue;
    const auto again =
        ek::WriteNetworkDocument(document->origin, document->graph_bytes);
    if (!again.ok() || *again != text) abort();
    if (ek::GraphToProto(document->graph).SerializeAsString() !=
        document->graph_bytes) {
      abort();
    }
  }
  return 0;
}
