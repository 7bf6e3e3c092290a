#ifndef EK_REPORTS_EXPORT_LAYERS_CSV_H_
#define EK_REPORTS_EXPORT_LAYERS_CSV_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// The layers of reports as a table for spreadsheets and scripts: a record per
// layer, numbers as the report has them. A field that the report leaves out is
// empty.
std::string LayersToCsv(const std::vector<v1::Report>& reports);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_LAYERS_CSV_H_
