#include "client/sweep_file.h"

#include "base/status_macros.h"
#include "client/exit_code.h"
#include "client/text_message.h"

namespace edgekiln::client {

absl::StatusOr<v1::SweepRequest> ParseSweepFile(absl::string_view text,
                                                const std::string& path) {
  v1::SweepRequest request;
  EK_RETURN_IF_ERROR(
      ParseTextMessage(text, path,
                       {.what = "sweep",
                        .schema = "proto/edgekiln/v1/sweep.proto",
                        .max_bytes = kMaxSweepFileBytes},
                       request));
  if (request.groups_size() > 0) return request;
  return UsageError("the file has no groups", path, "groups { .. }",
                    "`edgekiln sweep run --help` shows an example");
}

}  // namespace edgekiln::client
