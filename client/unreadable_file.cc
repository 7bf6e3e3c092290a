#include "client/unreadable_file.h"

#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

// What is said of the file, and what to do.
struct Cause {
  std::string what;
  const char* fix;
  bool fix_is_best = false;
};

Cause CauseOf(const absl::Status& why,
              const std::optional<ErrorDetail>& detail) {
  const std::string reason = detail.has_value() ? detail->reason : "";
  if (reason == "FILE_IS_FOLDER") {
    return {"is a folder", "name the file in it", true};
  }
  if (reason == "FILE_NOT_REGULAR") {
    return {"is a pipe or a device", "write it to a file first", true};
  }
  if (reason == "FILE_TOO_LARGE") {
    return {"is too large", "use a smaller file", true};
  }
  if (absl::IsNotFound(why)) return {"does not exist", "check the path"};
  if (absl::IsPermissionDenied(why)) {
    return {"may not be read by you", "check the path"};
  }
  return {absl::StrCat("cannot be read: ", detail.has_value()
                                               ? detail->what
                                               : std::string(why.message())),
          "check the path"};
}

}  // namespace

absl::Status UnreadableError(absl::string_view path, absl::string_view where,
                             const absl::Status& why, absl::string_view fix) {
  const std::optional<ErrorDetail> detail = GetErrorDetail(why);
  const Cause cause = CauseOf(why, detail);
  const bool has_need = detail.has_value() && !detail->need.empty();
  return MakeError(
      absl::StatusCode::kInvalidArgument,
      {.fault = Fault::kUser,
       .reason = kReasonUsage,
       .what = absl::StrCat("'", path, "' ", cause.what),
       .where = std::string(where),
       .limit = detail.has_value() ? detail->limit : "",
       .need = has_need ? detail->need : "a file that can be read",
       .fix = fix.empty() || cause.fix_is_best ? cause.fix : std::string(fix)});
}

}  // namespace edgekiln::client
