#ifndef EK_COMPILER_PARTITION_HOST_REASON_H_
#define EK_COMPILER_PARTITION_HOST_REASON_H_

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Why a graph has ops that only convert or reorder values: what stands at the
// border, or which layer makes them necessary. What is of one layer only stands
// in parentheses, so that reports can group layers by their reason.
class HostReasons {
 public:
  // `graph` must outlive it.
  explicit HostReasons(const Graph& graph);

  // Half a sentence for the report; empty for ops that have their own purpose.
  std::string For(const Op& op) const;

 private:
  // What a tensor holds of values over a scale that the network computes.
  enum class Scaled : uint8_t { kNot, kReals, kIntegers };

  // Of an op with one output, whose inputs are known.
  Scaled ScaledBy(const Op& op) const;
  std::string ForTranspose(const Op& op) const;
  std::string ForQuantize(const Op& op) const;
  std::string ForDequantize(const Op& op) const;
  std::string ForRequantize(const Op& op) const;
  std::string ForClip(const Op& op) const;
  std::string ForProduct(const Op& op) const;
  bool IsInput(TensorId id) const;
  bool IsOutput(TensorId id) const;

  const Graph& graph_;
  std::vector<int32_t> producers_;
  std::vector<std::vector<int32_t>> readers_;
  std::vector<Scaled> scaled_;  // Of each tensor.
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_HOST_REASON_H_
