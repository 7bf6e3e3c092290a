#include "client/completion.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/option_definitions.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

CommandInfo Tree() {
  RawOptions raw;
  CLI::App root("", "edgekiln");
  DefineCommands(root, raw);
  return CommandTree(root);
}

// Runs a program with `input`; its standard output, nothing if it failed.
std::optional<std::string> Output(const std::string& command,
                                  const std::string& input) {
  std::string path = testing::TempDir() + "/completion_XXXXXX";
  const int file = mkstemp(path.data());
  if (file < 0) return std::nullopt;
  const bool written = write(file, input.data(), input.size()) ==
                       static_cast<ssize_t>(input.size());
  close(file);
  if (!written) return std::nullopt;
  FILE* pipe = popen(absl::StrCat(command, " ", path).c_str(), "r");
  if (pipe == nullptr) return std::nullopt;
  std::string out;
  std::array<char, 4096> buffer;
  while (const size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) {
    out.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  unlink(path.c_str());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return std::nullopt;
  return out;
}

// What bash offers for the last of the words.
std::vector<std::string> Offered(const std::string& line) {
  const std::vector<std::string> words = absl::StrSplit(line, ' ');
  const auto out = Output(
      "bash --norc",
      absl::StrCat(BashCompletion(Tree()), "compopt() { :; }\nCOMP_WORDS=('",
                   absl::StrJoin(words, "' '"),
                   "')\nCOMP_CWORD=", words.size() - 1,
                   "\n_edgekiln\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n"));
  EXPECT_TRUE(out.has_value()) << line;
  return absl::StrSplit(out.value_or(""), '\n', absl::SkipEmpty());
}

TEST(BashCompletionTest, OffersWhatCanFollow) {
  const struct {
    const char* line;
    std::vector<std::string> offered;
  } cases[] = {
      {"edgekiln pro", {"profile"}},
      {"edgekiln jobs c", {"cancel"}},
      {"edgekiln --json jobs l", {"list", "log"}},
      {"edgekiln profile net.tflite --offload ", {"all", "paying", "none"}},
      {"edgekiln profile net.tflite --offload p", {"paying"}},
      {"edgekiln profile --target dla --max-c", {"--max-cycles"}},
      {"edgekiln validate m --io f", {"float"}},
      {"edgekiln completion z", {"zsh"}},
      {"edgekiln jobs list --limit ", {}},
      {"edgekiln inspect ", {}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Offered(c.line), c.offered) << c.line;
  }
}

// Every command and option is there, so that a new one is, too.
TEST(BashCompletionTest, KnowsEveryOption) {
  const CommandInfo tree = Tree();
  const std::string bash = BashCompletion(tree);
  const std::string zsh = ZshCompletion(tree);
  for (const CommandInfo* command : AllCommands(tree)) {
    for (const OptionInfo& option : command->options) {
      for (const std::string& flag : option.flags) {
        EXPECT_NE(bash.find(flag), std::string::npos) << flag;
        EXPECT_NE(zsh.find(absl::StrCat("'*", flag, "[")), std::string::npos)
            << flag;
      }
    }
  }
}

TEST(ZshCompletionTest, IsAScript) {
  if (Output("zsh --version >/dev/null 2>&1 && zsh -n", "").has_value()) {
    EXPECT_TRUE(Output("zsh -n", ZshCompletion(Tree())).has_value());
    EXPECT_FALSE(Output("zsh -n 2>/dev/null", "case x in").has_value());
  }
  EXPECT_EQ(ZshCompletion(Tree()).find("#compdef edgekiln\n"), 0u);
}

}  // namespace
}  // namespace edgekiln::client
