#ifndef EK_CLIENT_LSP_FILE_PATHS_H_
#define EK_CLIENT_LSP_FILE_PATHS_H_

// The files that a sweep or project names: models, data, descriptors.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "client/lsp/check.h"
#include "client/lsp/file_finder.h"
#include "client/lsp/schema.h"
#include "client/lsp/syntax.h"

namespace edgekiln::client::lsp {

// Of one file; what is named behind them is not looked for.
inline constexpr size_t kMaxFilePaths = 1000;

struct FilePath {
  Span value;        // With quotes.
  Span inner;        // Without.
  std::string path;  // As written, decoded.
};

// In the order of the text; none of other kinds of files.
std::vector<FilePath> FilePathsIn(absl::string_view text, const Syntax& syntax,
                                  const FileKind& kind);

// A problem for each of `paths` that is missing, with the change to the
// suggestion.
std::vector<Problem> MissingProblems(const std::vector<FilePath>& paths,
                                     const MissingFiles& missing);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_FILE_PATHS_H_
