#ifndef EK_TESTS_CHIPS_RANDOM_GRAPHS_H_
#define EK_TESTS_CHIPS_RANDOM_GRAPHS_H_

// Small int8 networks, random in everything: GraphKinds of chips that have the
// ops. RandomReshapeNet() of the builder is one more.

#include "compiler/ir/graph.h"
#include "tests/pipeline/graph_builder.h"

namespace edgekiln::tests {

// One layer each.
compiler::Graph RandomConv(QuantizedGraphBuilder& builder);
compiler::Graph RandomDepthwise(QuantizedGraphBuilder& builder);
compiler::Graph RandomFullyConnected(QuantizedGraphBuilder& builder);
compiler::Graph RandomPool(QuantizedGraphBuilder& builder);  // Either kind.
// Residual blocks: tensors with two readers, additions of differently tiled
// operands, a reshape on the way to the classifier.
compiler::Graph RandomResidualNet(QuantizedGraphBuilder& builder);
// Convolutions of all kinds one behind the other, and an addition.
compiler::Graph RandomChain(QuantizedGraphBuilder& builder);

// ReLU, leaky ReLU, absolute values, a minimum and a maximum, in any order: all
// tensors have one quantization.
compiler::Graph RandomMaps(QuantizedGraphBuilder& builder);

// Additions and maximum pools, with reshapes between them.
compiler::Graph RandomElementwiseNet(QuantizedGraphBuilder& builder);

}  // namespace edgekiln::tests

#endif  // EK_TESTS_CHIPS_RANDOM_GRAPHS_H_
