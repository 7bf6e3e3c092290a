#ifndef EK_CLIENT_MAN_PAGE_H_
#define EK_CLIENT_MAN_PAGE_H_

#include <string>

#include "client/command_tree.h"

namespace edgekiln::client {

// The man page of one command, in roff for man(7): name, synopsis, commands,
// options by group, examples, and the page above or those below. Section 1.
std::string ManPage(const CommandInfo& command);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_MAN_PAGE_H_
