#ifndef EK_CLIENT_COMPLETION_H_
#define EK_CLIENT_COMPLETION_H_

// Scripts that let a shell complete commands, options and their values. They
// run nothing of ours: what a daemon knows is not completed.

#include <string>

#include "client/command_tree.h"

namespace edgekiln::client {

// For bash 4 or later: source it, or put it into
// .../bash-completion/completions/edgekiln.
std::string BashCompletion(const CommandInfo& root);
// For zsh 5: the file _edgekiln in a folder of $fpath.
std::string ZshCompletion(const CommandInfo& root);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMPLETION_H_
