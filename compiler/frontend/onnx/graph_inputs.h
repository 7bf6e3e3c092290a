#ifndef EK_COMPILER_FRONTEND_ONNX_GRAPH_INPUTS_H_
#define EK_COMPILER_FRONTEND_ONNX_GRAPH_INPUTS_H_

#include "absl/status/status.h"
#include "compiler/frontend/import_options.h"
#include "compiler/frontend/onnx/builder.h"
#include "onnx/onnx_pb.h"

namespace edgekiln::compiler::onnx_import {

// Adds the graph's inputs that are no initializers: as constants where the
// options bind them, else with static shapes. UNIMPLEMENTED for a dimension
// that nothing fixes; INVALID_ARGUMENT for a binding that fits nothing.
absl::Status AddGraphInputs(const onnx::GraphProto& graph,
                            const ImportOptions& options, Builder& builder);

}  // namespace edgekiln::compiler::onnx_import

#endif  // EK_COMPILER_FRONTEND_ONNX_GRAPH_INPUTS_H_
