#ifndef EK_COMPILER_PARTITION_UNGROUP_H_
#define EK_COMPILER_PARTITION_UNGROUP_H_

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Rewrites integer convolutions in groups, for targets that have none: one
// input channel per group is a depthwise convolution; others become dense, with
// weights of 0 (their zero point) between groups. Every value stays, and every
// other tensor keeps its id: those name the tensors of the quantized graph that
// a chip is compared with. What has no such form (weights that are not
// constant, too many products) stays as it is, for the host.
void UngroupConvolutions(Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_UNGROUP_H_
