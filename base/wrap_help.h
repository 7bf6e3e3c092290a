#ifndef EK_BASE_WRAP_HELP_H_
#define EK_BASE_WRAP_HELP_H_

#include <string>

namespace edgekiln {

// What --help says of one option, in lines as short as fit beside the options'
// names on a terminal of 80 columns.
std::string WrapHelp(const std::string& text);

}  // namespace edgekiln

#endif  // EK_BASE_WRAP_HELP_H_
