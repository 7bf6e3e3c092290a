#ifndef EK_REPORTS_PAGE_WEB_FILES_H_
#define EK_REPORTS_PAGE_WEB_FILES_H_

#include <string>

namespace edgekiln {

// Each has a folder below web/; what they share is in web/shared.
enum class WebPage { kReport, kSweep };

std::string WebStyle(WebPage page);   // All style sheets.
std::string WebScript(WebPage page);  // All scripts, in one function.
std::string WebBody(WebPage page);    // What the scripts fill in.

}  // namespace edgekiln

#endif  // EK_REPORTS_PAGE_WEB_FILES_H_
