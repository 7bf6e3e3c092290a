#ifndef EK_COMPILER_CODEGEN_C_NETWORK_WRITER_H_
#define EK_COMPILER_CODEGEN_C_NETWORK_WRITER_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "compiler/codegen/c/helpers.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// What the layers of a network share while they are written: helpers,
// constants, scratch buffers. Not thread-safe.
class NetworkWriter {
 public:
  // `graph` must outlive it; tensors may be added to it.
  NetworkWriter(Graph& graph, std::string prefix)
      : graph_(graph), prefix_(prefix), helpers_(prefix) {}

  Graph& graph() { return graph_; }
  const std::string& prefix() const { return prefix_; }
  HelperSet& helpers() { return helpers_; }

  // A static array with these elements; its C name.
  std::string AddArray(v1::ElementType type, absl::string_view bytes);
  // The same of a constant tensor, written once.
  std::string UseConstant(TensorId id);
  // The name that stands for the memory of a tensor that is not constant.
  std::string TensorName(TensorId id) const;
  // A name for scratch memory of a step, and its number.
  std::string ScratchName(int64_t number) const;
  int64_t NextScratch() { return scratches_++; }

  const std::string& constants_text() const { return constants_text_; }
  int64_t constant_bytes() const { return constant_bytes_; }

 private:
  Graph& graph_;
  const std::string prefix_;
  HelperSet helpers_;
  std::map<TensorId, std::string> constants_;
  std::string constants_text_;
  int64_t constant_bytes_ = 0;
  int64_t arrays_ = 0;
  int64_t scratches_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_NETWORK_WRITER_H_
