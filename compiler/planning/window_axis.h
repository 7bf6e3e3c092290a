#ifndef EK_COMPILER_PLANNING_WINDOW_AXIS_H_
#define EK_COMPILER_PLANNING_WINDOW_AXIS_H_

#include <cstdint>

namespace edgekiln::compiler {

// One axis of a sliding window.
struct WindowAxis {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_before = 0;
  // Elements that `outputs` neighbouring outputs read.
  int64_t Span(int64_t outputs) const {
    return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
  }
};

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PLANNING_WINDOW_AXIS_H_
