#ifndef EK_COMPILER_DATASET_PORT_CONVERSION_H_
#define EK_COMPILER_DATASET_PORT_CONVERSION_H_

// What the caller of a network with integer inputs and outputs computes:
// between the source model's element types and those integers.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// One converted port. Computes with the kernels of Quantize, Dequantize and
// Cast: bit by bit what the ops would give that the chip is spared.
//
// Immutable; thread-safe.
class PortConversion {
 public:
  // `port` is the graph's, of integers. INTERNAL if it is not one that
  // VerifyGraph() accepts.
  static absl::StatusOr<PortConversion> Create(
      v1::TensorType port, const v1::ConvertedPort& conversion);

  // As in the source model: the port's name and shape, another element type.
  const v1::TensorType& source() const { return source_; }

  // Any number of elements, aligned for their type.
  absl::StatusOr<std::string> ToIntegers(absl::string_view source) const;
  absl::StatusOr<std::string> ToSource(absl::string_view integers) const;

 private:
  PortConversion() = default;

  v1::TensorType port_;
  v1::TensorType source_;
  v1::Rounding rounding_ = v1::HALF_UP;
};

// By input or output of the graph, in order; none for those that are not
// converted. INTERNAL for ports that the graph does not have.
absl::StatusOr<std::vector<std::optional<PortConversion>>> InputConversionsOf(
    const v1::Graph& graph);
absl::StatusOr<std::vector<std::optional<PortConversion>>> OutputConversionsOf(
    const v1::Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_DATASET_PORT_CONVERSION_H_
