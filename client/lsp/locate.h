#ifndef EK_CLIENT_LSP_LOCATE_H_
#define EK_CLIENT_LSP_LOCATE_H_

// Where in a target file an error of the daemon's belongs.

#include "absl/strings/string_view.h"
#include "client/lsp/check.h"
#include "client/lsp/syntax.h"
#include "edgekiln/v1/error.pb.h"

namespace edgekiln::client::lsp {

// The daemon says where as a path, in `where` and in the context before `what`:
//   engine "npu": isa: command MAC: column 5 of "pes * x"
// Each part names a key, or an entry of a list by its name; the deepest one
// that the text has counts. Without any, the first field of the text, or its
// beginning.
Span LocateError(absl::string_view text, const Syntax& syntax,
                 const v1::ErrorDetail& error);

// The error as a problem of the text, with the changes that follow from its fix
// ("did you mean ..") and from its limit ("1 to 1024").
Problem ProblemOf(absl::string_view text, const Syntax& syntax,
                  const v1::ErrorDetail& error);

// What, where it adds something, limit, need and fix in one line.
std::string ErrorText(const v1::ErrorDetail& error);

}  // namespace edgekiln::client::lsp

#endif  // EK_CLIENT_LSP_LOCATE_H_
