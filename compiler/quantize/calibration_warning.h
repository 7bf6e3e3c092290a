#ifndef EK_COMPILER_QUANTIZE_CALIBRATION_WARNING_H_
#define EK_COMPILER_QUANTIZE_CALIBRATION_WARNING_H_

#include <string>

#include "absl/types/span.h"
#include "edgekiln/v1/graph.pb.h"

namespace edgekiln::compiler {

// Why ranges learned from these samples are not to be trusted, a sentence with
// what to do; "" if there are enough and they differ. The samples are ones that
// Calibrate() took.
std::string CalibrationWarning(absl::Span<const v1::Chunk> chunks);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_CALIBRATION_WARNING_H_
