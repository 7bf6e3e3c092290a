#ifndef EK_COMPILER_FRONTEND_DEAD_CHANNELS_H_
#define EK_COMPILER_FRONTEND_DEAD_CHANNELS_H_

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Quantizers give a channel of weights that are all zero a scale of 0, and so
// its bias. Whatever its integers are, each stands for 0: they become the zero
// point, with the largest scale of the other channels, so that the bias's scale
// stays the input's times the weights'. Other tensors stay as they are, those
// without a scale above 0, too.
void ReviveDeadChannels(Tensor& constant);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_DEAD_CHANNELS_H_
