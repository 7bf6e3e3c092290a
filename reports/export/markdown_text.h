#ifndef EK_REPORTS_EXPORT_MARKDOWN_TEXT_H_
#define EK_REPORTS_EXPORT_MARKDOWN_TEXT_H_

// Text of hostile origin as Markdown that shows it and obeys none of it. Pure.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace edgekiln {

// Prose that holds names: every character that Markdown or HTML reads is
// escaped.
std::string MarkdownText(absl::string_view text);
// A name as a code span, also within a table; "-" for an empty one.
std::string MarkdownCode(absl::string_view text);
// A line of a table. Cells are Markdown.
std::string MarkdownRow(const std::vector<std::string>& cells);

}  // namespace edgekiln

#endif  // EK_REPORTS_EXPORT_MARKDOWN_TEXT_H_
