#include "reports/page/html_page.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/format_bytes.h"
#include "reports/text/text.h"

namespace edgekiln {
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

// Outside of strings JSON has none of these characters.
std::string InsideScript(absl::string_view json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"},
                                    {">", "\\u003e"},
                                    {"&", "\\u0026"},
                                    {"\xE2\x80\xA8", "\\u2028"},
                                    {"\xE2\x80\xA9", "\\u2029"}});
}

absl::Status NoPages() {
  return MakeError(absl::StatusCode::kUnimplemented,
                   {.fault = Fault::kInfra,
                    .reason = web::kNoPages,
                    .what = "this build of edgekiln makes no HTML pages",
                    .need = web::kNoPagesNeed,
                    .fix = absl::StrCat(web::kNoPagesFix,
                                        "; the other formats need no pages")});
}

}  // namespace

absl::StatusOr<std::string> HtmlPage(const std::optional<web::Page>& page,
                                     absl::string_view title,
                                     absl::string_view data,
                                     absl::string_view fix) {
  if (!page.has_value()) return NoPages();
  std::string html = absl::StrCat(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
      "'none'; script-src ",
      CspHash(page->script), "; style-src ", CspHash(page->style),
      "; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, "
      "initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<title>",
      HtmlText(title), "</title>\n<style>", page->style,
      "</style>\n</head>\n<body>\n", page->body,
      "<script type=\"application/json\" id=\"data\">", InsideScript(data),
      "</script>\n<script>", page->script, "</script>\n</body>\n</html>\n");
  const auto size_bytes = static_cast<int64_t>(html.size());
  if (size_bytes <= kMaxPageBytes) return html;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "PAGE_TOO_LARGE",
                    .what = "the page would be too large",
                    .limit = FormatBytes(kMaxPageBytes),
                    .need = FormatBytes(size_bytes),
                    .fix = std::string(fix)});
}

}  // namespace edgekiln
