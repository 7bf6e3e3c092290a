#include "reports/text/csv.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"

namespace edgekiln {
namespace {

std::string Field(const std::string& text) {
  const bool formula =
      !text.empty() && (text[0] == '=' || text[0] == '+' || text[0] == '-' ||
                        text[0] == '@' || text[0] == '\t' || text[0] == '\r');
  const std::string safe = formula ? absl::StrCat("'", text) : text;
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  return absl::StrCat("\"", absl::StrReplaceAll(safe, {{"\"", "\"\""}}), "\"");
}

}  // namespace

std::string CsvLine(const std::vector<std::string>& fields) {
  return absl::StrCat(
      absl::StrJoin(fields, ",",
                    [](std::string* out, const std::string& field) {
                      *out += Field(field);
                    }),
      "\r\n");
}

}  // namespace edgekiln
