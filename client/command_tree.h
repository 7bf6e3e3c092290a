#ifndef EK_CLIENT_COMMAND_TREE_H_
#define EK_CLIENT_COMMAND_TREE_H_

// The commands and options as data, for whoever writes about them: shell
// completion and man pages. Read from what parses the command line, so that
// neither can tell anything else.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace edgekiln::client {

struct OptionInfo {
  std::vector<std::string> flags;  // "-o", "--output"; empty: positional.
  std::string value;               // "FILE", "all|paying|none"; empty: none.
  std::string type;   // The same, also where `value` is a positional's name.
  std::string group;  // "Options", "Common options".
  std::string description;  // One line.
  bool required = false;

  // The words that the value is one of; empty if it is anything else.
  std::vector<std::string> Choices() const;
  // Whether the value may be the path of a file or a folder.
  bool IsPath() const;
};

struct CommandInfo {
  std::vector<std::string> path;  // {"jobs", "list"}; empty: edgekiln itself.
  std::string description;        // One line.
  std::string footer;             // Examples.
  std::vector<OptionInfo> options;
  std::vector<CommandInfo> commands;  // Empty: one that can be run.
};

// Of `root`, see DefineCommands().
CommandInfo CommandTree(CLI::App& root);

// `command` and all below it.
std::vector<const CommandInfo*> AllCommands(const CommandInfo& command);
// "edgekiln jobs list", with other separators "edgekiln-jobs-list".
std::string CommandName(const CommandInfo& command, const char* separator);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMAND_TREE_H_
