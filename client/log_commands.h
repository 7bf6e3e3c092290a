#ifndef EK_CLIENT_LOG_COMMANDS_H_
#define EK_CLIENT_LOG_COMMANDS_H_

// GitHub's runner obeys commands in the log of a job: "##[group]" anywhere in a
// line, and "::error::" at its beginning. Names out of models and from the
// network are printed, too; none of them must be a command.

#include <string>

#include "absl/strings/string_view.h"

namespace edgekiln::client {

// One output, as it is written piece by piece. Not thread-safe.
class LogCommandFilter {
 public:
  // Of text for people: "##[" becomes "##(" and, at the beginning of a line,
  // "::" becomes ":.".
  std::string Text(absl::string_view text);
  // Of JSON, whose values stay: "##[" becomes "##\u005b".
  std::string Json(absl::string_view text);
  // Was written as it is.
  void Skip(absl::string_view bytes) { Filter(bytes, "["); }

 private:
  std::string Filter(absl::string_view text, absl::string_view bracket);

  // Of the characters that the runner's comparison sees: see Filter().
  char before_ = '\n';
  int hashes_ = 0;        // At the end of what was seen.
  bool at_start_ = true;  // Only white space and ':' is in the line so far.
};

}  // namespace edgekiln::client

#endif  // EK_CLIENT_LOG_COMMANDS_H_
