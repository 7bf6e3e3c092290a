#ifndef EK_REPORTS_TEXT_CSV_H_
#define EK_REPORTS_TEXT_CSV_H_

#include <string>
#include <vector>

namespace edgekiln {

// One record, as RFC 4180 has it, with its line end. A quote in front keeps
// spreadsheets from taking a text for a formula.
std::string CsvLine(const std::vector<std::string>& fields);

}  // namespace edgekiln

#endif  // EK_REPORTS_TEXT_CSV_H_
