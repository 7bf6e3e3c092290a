#ifndef EK_COMPILER_EXPORT_EXPORT_LOSSES_H_
#define EK_COMPILER_EXPORT_EXPORT_LOSSES_H_

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// What ExportQdqOnnx() of this graph loses, a sentence each that names layers:
// average pools that come back as float ops, and layers that round down, which
// come back rounding to nearest. Results that move at ties only are not told.
std::vector<std::string> ExportLosses(const Graph& quantized);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_EXPORT_EXPORT_LOSSES_H_
