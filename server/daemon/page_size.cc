#include "server/daemon/page_size.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "base/error.h"

namespace edgekiln::server {
namespace {

constexpr int kDefaultPage = 50;
constexpr int kMaxPage = 1000;

}  // namespace

absl::StatusOr<int> PageSize(int page_size, bool good_token,
                             absl::string_view request,
                             absl::string_view entries) {
  if (good_token && page_size >= 0 && page_size <= kMaxPage) {
    return page_size == 0 ? kDefaultPage : page_size;
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "BAD_PAGE",
                    .what = "bad page token or size",
                    .where = std::string(request),
                    .limit = absl::StrCat("0 to ", kMaxPage, " ", entries),
                    .need = absl::StrCat(page_size, " ", entries),
                    .fix = "hand back next_page_token as it came"});
}

}  // namespace edgekiln::server
