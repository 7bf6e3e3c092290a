#ifndef EK_COMPILER_PASSES_BORDER_CONVERSION_H_
#define EK_COMPILER_PASSES_BORDER_CONVERSION_H_

#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

// Which ops at a graph's border convert between the element types of the source
// model and the network's integers, and what they convert to.
namespace edgekiln::compiler {

// How real values become integers.
struct IntegerForm {
  v1::ElementType type = v1::ELEMENT_TYPE_UNSPECIFIED;
  Quantization quantization = {};
  v1::Rounding rounding = v1::HALF_UP;

  bool operator==(const IntegerForm&) const = default;
};

// The tensor's own; it has one scale.
IntegerForm FormOf(const Tensor& tensor);

// Makes a tensor one of integers; name and shape stay.
void SetForm(const IntegerForm& form, Tensor& tensor);

// What the op rounds float32 or float16 to, or shifts other integers of the
// same width to; nothing if it does not do that, or with a scale per channel.
std::optional<IntegerForm> FormThatItGives(const Graph& graph, const Op& op);

// Whether the op makes such floats of integers with one scale, or shifts them
// to others of the same width.
bool TakesFormOff(const Graph& graph, const Op& op);

// Casts from other float types to float32, and back.
bool WidensToFloat32(const Graph& graph, const Op& op);
bool NarrowsFloat32(const Graph& graph, const Op& op);

// Whether an op that chooses values takes such integers, and gives them.
bool TakesForm(const Graph& graph, const Op& op, const IntegerForm& form);

// The port of the source model that `integers` stands for: its name and shape
// with another element type and quantization.
Tensor SourcePort(const Tensor& integers, const ConvertedPort& port);

// The ops that convert such an input, or output, in order: one, or two with
// FLOAT32 between them.
std::vector<v1::OpAttributes> InputConversions(const Tensor& integers,
                                               const ConvertedPort& port);
std::vector<v1::OpAttributes> OutputConversions(const Tensor& integers,
                                                const ConvertedPort& port);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_BORDER_CONVERSION_H_
