#include "client/completion.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace edgekiln::client {
namespace {

// " jobs list", as the scripts keep what has been typed; "" for edgekiln.
std::string PathOf(const CommandInfo& command) {
  std::string path;
  for (const std::string& word : command.path) {
    absl::StrAppend(&path, " ", word);
  }
  return path;
}

// The scripts' loop that finds the command among the words before the cursor:
// the branches of its `case`.
std::string CommandBranches(const CommandInfo& root) {
  std::vector<std::string> patterns;
  for (const CommandInfo* command : AllCommands(root)) {
    if (!command->path.empty()) {
      patterns.push_back(absl::StrCat("'", PathOf(*command), "'"));
    }
  }
  return absl::StrCat("      ", absl::StrJoin(patterns, "|\\\n      "),
                      ") path=\"$path $word\" ;;\n");
}

std::string FlagPatterns(const CommandInfo& command, const OptionInfo& option) {
  std::vector<std::string> patterns;
  for (const std::string& flag : option.flags) {
    patterns.push_back(absl::StrCat("'", PathOf(command), " ", flag, "'"));
  }
  return absl::StrJoin(patterns, "|");
}

// In single quotes, as a description in brackets.
std::string ZshText(const std::string& text) {
  return absl::StrReplaceAll(
      text, {{"'", "'\\''"}, {"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
}

std::string ZshAction(const OptionInfo& option) {
  const std::vector<std::string> choices = option.Choices();
  if (!choices.empty()) {
    return absl::StrCat("(", absl::StrJoin(choices, " "), ")");
  }
  return option.IsPath() ? "_files" : " ";
}

std::string ZshValue(const OptionInfo& option) {
  if (option.value.empty()) return "";
  return absl::StrCat(":", ZshText(option.value), ":", ZshAction(option));
}

std::string ZshArguments(const CommandInfo& command) {
  std::string specs;
  std::string words = " ";
  for (const OptionInfo& option : command.options) {
    if (option.flags.empty()) words = ZshAction(option);
    for (const std::string& flag : option.flags) {
      absl::StrAppend(&specs, " \\\n        '*", flag, "[",
                      ZshText(option.description), "]", ZshValue(option), "'");
    }
  }
  return absl::StrCat("      _arguments", specs, " \\\n        '*: :", words,
                      "'\n");
}

}  // namespace

std::string BashCompletion(const CommandInfo& root) {
  std::string out = absl::StrCat(
      "# bash completion for edgekiln, made by `edgekiln completion bash`.\n"
      "_edgekiln() {\n"
      "  local word path='' words=''\n"
      "  local cur=\"${COMP_WORDS[COMP_CWORD]}\"\n"
      "  local prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
      "  COMPREPLY=()\n"
      "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
      "    case \"$path $word\" in\n",
      CommandBranches(root),
      "    esac\n"
      "  done\n"
      "  case \"$path $prev\" in\n");
  for (const CommandInfo* command : AllCommands(root)) {
    for (const OptionInfo& option : command->options) {
      if (option.flags.empty() || option.value.empty()) continue;
      absl::StrAppend(&out, "    ", FlagPatterns(*command, option), ")\n");
      const std::vector<std::string> choices = option.Choices();
      if (!choices.empty()) {
        absl::StrAppend(&out, "      COMPREPLY=($(compgen -W '",
                        absl::StrJoin(choices, " "), "' -- \"$cur\"))\n");
      } else if (option.IsPath()) {
        absl::StrAppend(&out, "      compopt -o default\n");
      }
      absl::StrAppend(&out, "      return ;;\n");
    }
  }
  absl::StrAppend(&out, "  esac\n  case \"$path\" in\n");
  for (const CommandInfo* command : AllCommands(root)) {
    std::vector<std::string> names;
    for (const CommandInfo& below : command->commands) {
      names.push_back(below.path.back());
    }
    std::vector<std::string> flags;
    bool paths = false;
    for (const OptionInfo& option : command->options) {
      flags.insert(flags.end(), option.flags.begin(), option.flags.end());
      if (option.flags.empty()) {
        const std::vector<std::string> choices = option.Choices();
        names.insert(names.end(), choices.begin(), choices.end());
      }
      paths = paths || (option.flags.empty() && option.IsPath());
    }
    absl::StrAppend(&out, "    '", PathOf(*command), "')\n");
    absl::StrAppend(&out, "      words='", absl::StrJoin(names, " "), "'\n");
    absl::StrAppend(&out, "      [[ \"$cur\" == -* ]] && words='",
                    absl::StrJoin(flags, " "), "'\n");
    if (paths) {
      absl::StrAppend(&out,
                      "      [[ \"$cur\" == -* ]] || compopt -o default\n");
    }
    absl::StrAppend(&out, "      ;;\n");
  }
  return absl::StrCat(out,
                      "  esac\n"
                      "  [[ -n \"$words\" ]] && "
                      "COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
                      "}\n"
                      "complete -F _edgekiln edgekiln\n");
}

std::string ZshCompletion(const CommandInfo& root) {
  std::string out = absl::StrCat(
      "#compdef edgekiln\n"
      "# zsh completion for edgekiln, made by `edgekiln completion zsh`.\n"
      "_edgekiln() {\n"
      "  local word path_=''\n"
      "  local -a commands\n"
      "  for word in ${words[2,CURRENT-1]}; do\n"
      "    case \"$path_ $word\" in\n",
      absl::StrReplaceAll(CommandBranches(root),
                          {{"path=\"$path $word\"", "path_=\"$path_ $word\""}}),
      "    esac\n"
      "  done\n"
      "  case \"$path_\" in\n");
  for (const CommandInfo* command : AllCommands(root)) {
    absl::StrAppend(&out, "    '", PathOf(*command), "')\n");
    if (!command->commands.empty()) {
      absl::StrAppend(&out, "      commands=(\n");
      for (const CommandInfo& below : command->commands) {
        absl::StrAppend(&out, "        '", below.path.back(), ":",
                        ZshText(below.description), "'\n");
      }
      absl::StrAppend(&out,
                      "      )\n"
                      "      [[ \"$PREFIX\" == -* ]] || "
                      "{ _describe command commands; return }\n");
    }
    absl::StrAppend(&out, ZshArguments(*command), "      ;;\n");
  }
  return absl::StrCat(out,
                      "  esac\n"
                      "}\n"
                      "_edgekiln \"$@\"\n");
}

}  // namespace edgekiln::client
