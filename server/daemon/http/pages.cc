#include "server/daemon/http/pages.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace edgekiln::server {
namespace {

struct WebFile {
  absl::string_view name;
  absl::string_view content;
};

// In the order of CMakeLists.txt: scripts use what stands before them.
constexpr WebFile kFiles[] = {
#include "server/daemon/http/web_files.inc"
};

std::string Joined(absl::string_view suffix) {
  std::string out;
  for (const WebFile& file : kFiles) {
    if (absl::EndsWith(file.name, suffix)) absl::StrAppend(&out, file.content);
  }
  return out;
}

}  // namespace

std::optional<HttpAnswer> FindPage(absl::string_view path) {
  HttpAnswer answer;
  if (path == "/") {
    answer.body = Joined(".html");
    answer.type = "text/html; charset=utf-8";
    answer.policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'";
  } else if (path == "/app.css") {
    answer.body = Joined(".css");
    answer.type = "text/css; charset=utf-8";
  } else if (path == "/app.js") {
    answer.body =
        absl::StrCat("(() => {\n\"use strict\";\n", Joined(".js"), "})();\n");
    answer.type = "text/javascript; charset=utf-8";
  } else {
    return std::nullopt;
  }
  return answer;
}

}  // namespace edgekiln::server
