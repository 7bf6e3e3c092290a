#ifndef EK_REPORTS_GATE_H_
#define EK_REPORTS_GATE_H_

// One limit of a report in words.

#include <string>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// "cycles 195 561, at most 200 000", and of a broken limit also by how much and
// the layer that costs most: "..: 5 561 too many (+2.8 %), most in conv2".
// Clean text.
std::string GateText(const v1::Report::Gate& gate);

}  // namespace edgekiln

#endif  // EK_REPORTS_GATE_H_
