#ifndef EK_COMPILER_IR_BUFFER_LAYOUT_H_
#define EK_COMPILER_IR_BUFFER_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Where the interpreter keeps the values of a graph: one allocation, an offset
// for each tensor that is not constant and that something defines.
struct BufferLayout {
  static constexpr int64_t kAlignmentBytes = 64;
  std::vector<int64_t> offset;  // By tensor; -1 = none.
  std::vector<bool> kept;       // By tensor: untouched until the next run.
  int64_t bytes = 0;
};

// `graph` must be valid. Unless `keep_all`, tensors that are neither graph
// inputs nor outputs share memory once their last reader is done.
BufferLayout LayOutBuffers(const Graph& graph, bool keep_all);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_BUFFER_LAYOUT_H_
