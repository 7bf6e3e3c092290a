#ifndef EK_CLIENT_RENDER_CSV_H_
#define EK_CLIENT_RENDER_CSV_H_

#include <string>
#include <vector>

namespace edgekiln::client {

// One record, as RFC 4180 has it, with its line end. A quote in front keeps
// spreadsheets from taking a text for a formula.
std::string CsvLine(const std::vector<std::string>& fields);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_CSV_H_
