#ifndef EK_CLIENT_CHECK_DESCRIBE_H_
#define EK_CLIENT_CHECK_DESCRIBE_H_

// The parts of a check's result in words, for every format that it is written
// in. Clean text without markup. Pure.

#include <string>
#include <vector>

#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// Rules of what is not a finding: see docs/check.md.
inline constexpr char kModelRule[] = "model.failed";
inline constexpr char kServiceRule[] = "service.failed";
inline constexpr char kSkippedRule[] = "cell.skipped";
inline constexpr char kMissingRule[] = "baseline.missing";
inline constexpr char kStaleRule[] = "baseline.stale";
inline constexpr char kUnlimitedRule[] = "baseline.unlimited";
inline constexpr char kPlanRule[] = "sweep.warning";

// Of the error of a cell, or of the whole check.
std::string ErrorRule(const v1::CheckCell& cell);
std::string ErrorRule(const v1::CheckResult& result);

// Where the error of the whole check was made: the place in the project file
// that it names, or else the file.
v1::CheckPlace ErrorPlace(const v1::CheckResult& result);

// "passed", "broken", "failed", "error", "skipped".
std::string CellStateText(v1::CheckCell::State state);
// "missing", "unchanged", "changed", "written".
std::string BaselineStateText(v1::CheckBaseline::State state);
// "edgekiln.txtpb:12:5"; the file alone without a line.
std::string PlaceText(const v1::CheckPlace& place);

// What an error says in one line, and all of it in several.
std::string ErrorHeadline(const v1::ErrorDetail& error);
std::vector<std::string> DescribeError(const v1::ErrorDetail& error);

// What is wrong with a cell: its findings with places and fixes, or its error;
// then DescribeChanges(). Empty: nothing is wrong and nothing changed.
std::vector<std::string> DescribeCell(const v1::CheckCell& cell);
// What differs from the baseline: totals, accuracy, layers, and what makes them
// hard to compare. Empty: nothing, or there is none.
std::vector<std::string> DescribeChanges(const v1::CheckCell& cell);

// "+2.84 %", "same"; "-" without a baseline that has cycles.
std::string CyclesChangeText(const v1::CheckCell& cell);
// "12 cells: 10 passed, 2 broken; baselines: 9 the same, 3 changed".
std::string CountsText(const v1::CheckResult& result);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_DESCRIBE_H_
