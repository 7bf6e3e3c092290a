#ifndef EK_CLIENT_PAGE_WEB_FILES_H_
#define EK_CLIENT_PAGE_WEB_FILES_H_

#include <string>

namespace edgekiln::client {

// The files of web/shared and web/report, as they go into a page.

std::string WebStyle();   // All style sheets.
std::string WebScript();  // All scripts, in one function.
std::string WebBody();    // What the scripts fill in.

}  // namespace edgekiln::client

#endif  // EK_CLIENT_PAGE_WEB_FILES_H_
