#include "client/page/page.h"

#include <cstdint>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/format_bytes.h"
#include "client/exit_code.h"
#include "client/page/web_files.h"
#include "client/render/text.h"

namespace edgekiln::client {
namespace {

// As a Content-Security-Policy names an inline style or script.
std::string CspHash(absl::string_view content) {
  const std::string hash = absl::HexStringToBytes(DigestOf(content).hash);
  return absl::StrCat("'sha256-", absl::Base64Escape(hash), "'");
}

std::string HtmlText(absl::string_view text) {
  return absl::StrReplaceAll(CleanText(text), {{"&", "&amp;"},
                                               {"<", "&lt;"},
                                               {">", "&gt;"},
                                               {"\"", "&quot;"},
                                               {"'", "&#39;"}});
}

std::string TitleOf(const std::vector<PageReport>& reports) {
  const v1::Report& first = reports.front().report;
  std::string title = CleanText(first.model_name());
  if (title.empty()) title = "model";
  if (!first.target_name().empty()) {
    absl::StrAppend(&title, " on ", CleanText(first.target_name()));
  }
  const auto more = static_cast<int64_t>(reports.size()) - 1;
  if (more > 0) {
    absl::StrAppend(&title, " and ",
                    Count(more, "other report", "other reports"));
  }
  return title;
}

}  // namespace

absl::StatusOr<std::string> ReportPage(const std::vector<PageReport>& reports) {
  const std::string style = WebStyle();
  const std::string script = WebScript();
  std::string page = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; script-src ",
      CspHash(script), "; style-src ", CspHash(style),
      "; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
      HtmlText(TitleOf(reports)), "</title>\n<style>", style,
      "</style>\n</head>\n<body>\n", WebBody(),
      "<script type=\"application/json\" id=\"data\">", PageData(reports),
      "</script>\n<script>", script, "</script>\n</body>\n</html>\n");
  const auto size_bytes = static_cast<int64_t>(page.size());
  if (size_bytes > kMaxPageBytes) {
    return UsageError(
        absl::StrCat("the page would be ", FormatBytes(size_bytes), " large"),
        "edgekiln report html",
        absl::StrCat("at most ", FormatBytes(kMaxPageBytes)),
        reports.size() > 1
            ? "give fewer reports, or some of their targets with --target"
            : "use `edgekiln report export`, which has no such limit");
  }
  return page;
}

}  // namespace edgekiln::client
