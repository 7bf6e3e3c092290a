#ifndef EK_SIMFARM_SIMULATORS_DLA_MICRO_KERNEL_H_
#define EK_SIMFARM_SIMULATORS_DLA_MICRO_KERNEL_H_

// The innermost loop of convolutions: 4 pixels times 16 output channels.
// Integers only: every path gives the same bits.

#include <cstdint>

#include "simfarm/simulators/engine_stream.h"

namespace edgekiln::simfarm::dla {

inline constexpr int64_t kPixels = 4;
inline constexpr int64_t kChannels = 16;

// acc[p][c] = sum over pairs i of x[p][2i] * w[i][c][0] + x[p][2i+1] *
// w[i][c][1], wrapping. `x` holds kPixels rows of 2 * pairs values, `weights`
// pairs * kChannels * 2 values.
using MicroKernel = void (*)(const int16_t* x, const int16_t* weights,
                             int64_t pairs, int32_t* acc);

// False if this machine lacks the instructions of `path`.
bool HasCpuPath(CpuPath path);

// True if the loops of avx512.h are to be used, and can.
bool UsesAvx512(CpuPath path);

// The kernel of `path`; a path that this machine lacks gives the next narrower.
MicroKernel GetMicroKernel(CpuPath path);

}  // namespace edgekiln::simfarm::dla

#endif  // EK_SIMFARM_SIMULATORS_DLA_MICRO_KERNEL_H_
