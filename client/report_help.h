#ifndef EK_CLIENT_REPORT_HELP_H_
#define EK_CLIENT_REPORT_HELP_H_

#include <string>

#include "client/command_line.h"

namespace edgekiln::client {

// Examples and exit codes below the --help of the commands of `report`; "" of
// other commands.
std::string ReportHelpFooter(Command command);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_REPORT_HELP_H_
