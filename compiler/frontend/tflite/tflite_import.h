#ifndef EK_COMPILER_FRONTEND_TFLITE_TFLITE_IMPORT_H_
#define EK_COMPILER_FRONTEND_TFLITE_TFLITE_IMPORT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"

namespace edgekiln::compiler {

// Reads a TensorFlow Lite model (schema version 3, one subgraph) into a
// verified graph. `bytes` are hostile: everything is checked before it is used,
// and memory stays within a small factor of their size.
//
// SAME and VALID become explicit paddings, fused activations clamps; constants
// are copied out. Batch size is the model's own. UNIMPLEMENTED for an op, type
// or form that is not supported, INVALID_ARGUMENT for a broken file, both made
// with MakeError().
absl::StatusOr<Graph> ImportTflite(absl::string_view bytes);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_FRONTEND_TFLITE_TFLITE_IMPORT_H_
