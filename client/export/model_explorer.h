#ifndef EK_CLIENT_EXPORT_MODEL_EXPLORER_H_
#define EK_CLIENT_EXPORT_MODEL_EXPLORER_H_

#include <string>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln::client {

// The cycles of layers as node data of Google's Model Explorer: a GraphNodeData
// in JSON, whose keys are the names that the model's file has: of the node
// (ONNX), or of the tensor that it makes (TFLite).
std::string ReportToModelExplorer(const v1::Report& report);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_EXPORT_MODEL_EXPLORER_H_
