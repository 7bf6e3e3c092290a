#ifndef EK_CLIENT_RENDER_ERROR_BLOCK_H_
#define EK_CLIENT_RENDER_ERROR_BLOCK_H_

// An error as a person reads it:
//
//   error: WHAT
//     - LINE
//     where: ...
//     limit: ...
//     need:  ...
//     fix:   ...
//     (reason REASON, fault USER)
//
// Lines are the errors that one error consists of. Empty fields are left out.
// What the message knows beyond `what`, the path the error came along, is one
// more line "while: ...".

#include <string>
#include <vector>

#include "edgekiln/v1/error.pb.h"
#include "reports/text/text.h"

namespace edgekiln::client {

// `label` is "error" or, for problems that stop nothing, "problem".
std::string RenderError(const v1::ErrorDetail& error, const Style& style,
                        absl::string_view label = "error",
                        const std::vector<std::string>& lines = {});

}  // namespace edgekiln::client

#endif  // EK_CLIENT_RENDER_ERROR_BLOCK_H_
