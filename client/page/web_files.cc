#include "client/page/web_files.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace edgekiln::client {
namespace {

struct WebFile {
  absl::string_view name;
  absl::string_view content;
};

// In the order of client/CMakeLists.txt: scripts use what stands before them.
constexpr WebFile kFiles[] = {
#include "client/page/web_files.inc"
};

std::string Joined(absl::string_view suffix) {
  std::string out;
  for (const WebFile& file : kFiles) {
    if (absl::EndsWith(file.name, suffix)) absl::StrAppend(&out, file.content);
  }
  return out;
}

}  // namespace

std::string WebStyle() { return Joined(".css"); }

std::string WebScript() {
  return absl::StrCat("(() => {\n\"use strict\";\n", Joined(".js"), "})();\n");
}

std::string WebBody() { return Joined(".html"); }

}  // namespace edgekiln::client
