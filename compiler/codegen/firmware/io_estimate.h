#ifndef EK_COMPILER_CODEGEN_FIRMWARE_IO_ESTIMATE_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_IO_ESTIMATE_H_

#include <cstdint>

#include "compiler/ir/graph.h"
#include "edgekiln/v1/firmware.pb.h"

namespace edgekiln::compiler {

// About how many instructions one inference spends on converting at the graph's
// inputs and outputs with IO_FLOAT, whichever form the graph has: what its two
// forms differ by as C.
int64_t IoConversionInstructions(Graph graph, v1::Processor processor);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_IO_ESTIMATE_H_
