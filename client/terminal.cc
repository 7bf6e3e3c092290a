#include "client/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace edgekiln::client {
namespace {

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

TerminalVariables ReadTerminalVariables() {
  return {.no_color = Variable("NO_COLOR"),
          .term = Variable("TERM"),
          .lc_all = Variable("LC_ALL"),
          .lc_ctype = Variable("LC_CTYPE"),
          .lang = Variable("LANG")};
}

bool IsPlain(const TerminalVariables& variables) {
  return !variables.no_color.empty() || variables.term == "dumb";
}

bool IsUtf8(const TerminalVariables& variables) {
  const std::string& locale = !variables.lc_all.empty()     ? variables.lc_all
                              : !variables.lc_ctype.empty() ? variables.lc_ctype
                                                            : variables.lang;
  const std::string lower = absl::AsciiStrToLower(locale);
  return absl::StrContains(lower, "utf-8") || absl::StrContains(lower, "utf8");
}

int TerminalColumns(int fd) {
  constexpr int kUnknown = 80;
  constexpr int kNarrowest = 20;
  if (isatty(fd) == 0) return 0;
  winsize size = {};
  const bool known = ioctl(fd, TIOCGWINSZ, &size) == 0;
  return known && size.ws_col > kNarrowest ? size.ws_col : kUnknown;
}

Style StyleFor(int columns, const TerminalVariables& variables) {
  if (columns <= 0) return Style::Plain();
  return Style::Of({.colours = !IsPlain(variables),
                    .width = columns,
                    .utf8 = IsUtf8(variables)});
}

ProgressStyle ProgressStyleFor(int columns,
                               const TerminalVariables& variables) {
  return columns > 0 && !IsPlain(variables) ? ProgressStyle::kLive
                                            : ProgressStyle::kPlain;
}

}  // namespace edgekiln::client
