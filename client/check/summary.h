#ifndef EK_CLIENT_CHECK_SUMMARY_H_
#define EK_CLIENT_CHECK_SUMMARY_H_

// The result of a check for people. Pure.

#include <string>

#include "edgekiln/v1/check.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// A table of all cells, what is broken and by how much, and the counts.
std::string RenderCheck(const v1::CheckResult& result, const Style& style);

// The same as Markdown, for a merge request or the summary of a job.
std::string CheckToMarkdown(const v1::CheckResult& result);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_SUMMARY_H_
