#include "server/daemon/http/json_shape.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

absl::Status TooLarge(absl::string_view what, int limit,
                      absl::string_view unit) {
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "REQUEST_TOO_LARGE",
                    .what = std::string(what),
                    .where = "body",
                    .limit = absl::StrCat(limit, " ", unit),
                    .need = "more",
                    .fix = "shorten it, or split the request"});
}

}  // namespace

absl::Status CheckJsonShape(absl::string_view json) {
  int depth = 0;
  int values = 0;
  char quote = 0;  // Of the string around; 0: outside of strings.
  for (size_t i = 0; i < json.size(); ++i) {
    switch (json[i]) {
      case '"':
      case '\'':  // Protobuf takes both.
        if (quote == 0) {
          quote = json[i];
        } else if (quote == json[i]) {
          quote = 0;
        }
        continue;
      case '\\':
        ++i;
        continue;
      case '{':
      case '[':
        if (quote != 0) continue;
        ++values;
        if (++depth > kMaxJsonDepth) {
          return TooLarge("the JSON is nested too deeply", kMaxJsonDepth,
                          "levels");
        }
        break;
      case '}':
      case ']':
        if (quote == 0) --depth;
        continue;
      case ',':
        if (quote != 0) continue;
        ++values;
        break;
      default:
        continue;
    }
    if (values > kMaxJsonValues) {
      return TooLarge("the JSON has too many values", kMaxJsonValues, "values");
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::server
