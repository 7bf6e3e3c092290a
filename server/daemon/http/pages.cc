#include "server/daemon/http/pages.h"

#include <string>

#include "base/error.h"

namespace edgekiln::server {
namespace {

HttpAnswer NoPages() {
  return ErrorAnswer(
      MakeError(absl::StatusCode::kUnimplemented,
                {.fault = Fault::kInfra,
                 .reason = web::kNoPages,
                 .what = "this build of edgekilnd has no dashboard",
                 .need = web::kNoPagesNeed,
                 .fix = std::string(web::kNoPagesFix) +
                        "; the calls below /v1 (docs/http.md) work without"}));
}

HttpAnswer AnswerWith(absl::string_view content, const char* type) {
  HttpAnswer answer;
  answer.body = std::string(content);
  answer.type = type;
  return answer;
}

}  // namespace

std::optional<HttpAnswer> FindPage(absl::string_view path,
                                   const std::optional<web::Page>& page) {
  if (path == "/") {
    if (!page.has_value()) return NoPages();
    HttpAnswer answer = AnswerWith(page->body, "text/html; charset=utf-8");
    answer.policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'";
    return answer;
  }
  if (page.has_value() && path == "/app.css") {
    return AnswerWith(page->style, "text/css; charset=utf-8");
  }
  if (page.has_value() && path == "/app.js") {
    return AnswerWith(page->script, "text/javascript; charset=utf-8");
  }
  return std::nullopt;
}

}  // namespace edgekiln::server
