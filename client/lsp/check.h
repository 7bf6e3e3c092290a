#ifndef EK_CLIENT_LSP_CHECK_H_
#define EK_CLIENT_LSP_CHECK_H_

// What is wrong with a text, with the place of each problem: what can be told
// without the daemon, by the schema alone.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/schema.h"
#include "client/lsp/syntax.h"

namespace edgekiln::client::lsp {

enum class Severity { kError = 1, kWarning = 2, kInformation = 3 };

// A change that an editor offers.
struct QuickFix {
  std::string title;  // "Change to \"provenance\"".
  Span span;
  std::string text;
};

struct Problem {
  Span span{};
  Severity severity = Severity::kError;
  std::string reason{};   // As ErrorDetail.reason: "UNKNOWN_KEY".
  std::string message{};  // One line; with the fix, if there is one.
  std::vector<QuickFix> fixes = {};
};

inline constexpr size_t kMaxProblems = 100;

// Problems of `text`, whose tree is `syntax`, as a message of `kind`, in the
// order of the text. Of a target, empty if and only if protobuf's parser takes
// the text and every string in it is UTF-8; of sweeps and projects, also what
// cannot be meant, by the checks that the command line has.
std::vector<Problem> CheckText(absl::string_view text, const Syntax& syntax,
                               const FileKind& kind, const Schema& schema);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_CHECK_H_
