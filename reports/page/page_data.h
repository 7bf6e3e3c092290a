#ifndef EK_REPORTS_PAGE_PAGE_DATA_H_
#define EK_REPORTS_PAGE_PAGE_DATA_H_

#include <string>
#include <vector>

#include "edgekiln/v1/report.pb.h"

namespace edgekiln {

// A report on a page, and where it comes from: a job or a file.
struct PageReport {
  std::string source;
  v1::Report report;
};

// What the scripts of a page read, as JSON that is safe inside of a <script>
// element:
//
//   reports[]: source; verdict {level, title, details[]}; headline; gates[],
//     one text each; report, as --json has it without zero and empty fields,
//     hot_spots and the engines' segments; timeline[], for each engine a flat
//     list of six numbers per segment: unit, cycles since the end of the unit's
//     last segment, cycles, idle cycles, layer, kind.
//   diffs[]: what changed from the first report to another one: index of that
//     report; diff, a ReportDiff without the layers themselves.
//
// Texts that a command prints, too, are made by the same code.
std::string PageData(const std::vector<PageReport>& reports);

}  // namespace edgekiln

#endif  // EK_REPORTS_PAGE_PAGE_DATA_H_
