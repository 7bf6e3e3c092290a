#ifndef EK_REPORTS_EXPORT_MODEL_EXPLORER_H_
#define EK_REPORTS_EXPORT_MODEL_EXPLORER_H_

#include <string>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// The cycles of layers as node data of Google's Model Explorer: a GraphNodeData
// in JSON, whose keys are the names that the model's file has: of the node
// (ONNX), or of the tensor that it makes (TFLite).
std::string ReportToModelExplorer(const v1::Report& report);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_MODEL_EXPLORER_H_
