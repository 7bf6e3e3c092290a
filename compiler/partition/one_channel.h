#ifndef EK_COMPILER_PARTITION_ONE_CHANNEL_H_
#define EK_COMPILER_PARTITION_ONE_CHANNEL_H_

#include "absl/status/status.h"
#include "compiler/ir/graph.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::compiler {

// Of an image with one channel, a depthwise convolution with many results is a
// convolution. Integer ones that no engine takes become that where an engine
// then takes them, padded if need be (pad_kernels.h). Every value stays, and
// every other tensor keeps its id. INVALID_ARGUMENT if the capabilities are not
// what targets are resolved to.
absl::Status ConvolveOneChannel(const v1::Capabilities& capabilities,
                                Graph& graph);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PARTITION_ONE_CHANNEL_H_
