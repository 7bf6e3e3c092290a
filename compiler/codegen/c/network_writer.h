#ifndef EK_COMPILER_CODEGEN_C_NETWORK_WRITER_H_
#define EK_COMPILER_CODEGEN_C_NETWORK_WRITER_H_

#include <cstdint>
#include <map>
#include <set>
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

  // From now on arrays are counted and not written.
  void CountOnly() { counts_only_ = true; }
  // A static array with these elements; its C name.
  std::string AddArray(v1::ElementType type, absl::string_view bytes);
  // The same of a constant tensor, written once.
  std::string UseConstant(TensorId id);
  // The name that stands for the memory of a tensor that is not constant.
  std::string TensorName(TensorId id) const;
  // A name for scratch memory of a step, and its number.
  std::string ScratchName(int64_t number) const;
  int64_t NextScratch() { return scratches_++; }
  // The same memory as an address constant.
  std::string TensorAddress(TensorId id) const;
  // The macro of its offset in the arena.
  std::string OffsetName(TensorId id) const;

  // A tensor [n, h, w, c] whose elements lie as [n, c, h, w].
  void SetChannelFirst(TensorId id) { channel_first_.insert(id); }
  bool channel_first(TensorId id) const { return channel_first_.contains(id); }

  // An entry of the table of kernels, an initialiser; its index.
  int64_t AddEntry(std::string entry);
  std::string TableName() const { return prefix_ + "_table"; }
  const std::vector<std::string>& entries() const { return entries_; }

  // A header that the source includes, as "lib.h".
  void Include(const std::string& header) { headers_.insert(header); }
  const std::set<std::string>& headers() const { return headers_; }

  const std::string& constants_text() const { return constants_text_; }
  int64_t constant_bytes() const { return constant_bytes_; }

 private:
  Graph& graph_;
  const std::string prefix_;
  HelperSet helpers_;
  std::set<TensorId> channel_first_;
  std::vector<std::string> entries_;
  std::set<std::string> headers_;
  std::map<TensorId, std::string> constants_;
  std::string constants_text_;
  int64_t constant_bytes_ = 0;
  bool counts_only_ = false;
  int64_t arrays_ = 0;
  int64_t scratches_ = 0;
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_NETWORK_WRITER_H_
