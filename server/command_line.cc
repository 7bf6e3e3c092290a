#include "server/command_line.h"

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/quantity.h"
#include "base/wrap_help.h"

namespace edgekiln::server {
namespace {

// More than any machine has, and far from the end of what is counted.
constexpr int64_t kMaxSizeBytes = int64_t{1} << 60;

}  // namespace

const char kSizeRule[] =
    "SIZE is a number of bytes, or has a unit: kB, MB, GB and TB are powers "
    "of\n"
    "1000, KiB, MiB, GiB and TiB powers of 1024.";

CLI::Validator SizeReader(const std::string& name) {
  return CLI::Validator(
      [name](std::string& text) -> std::string {
        const absl::StatusOr<int64_t> bytes = ParseBytes(text, name);
        if (!bytes.ok()) {
          const ErrorDetail detail = *GetErrorDetail(bytes.status());
          return absl::StrCat(detail.what, "; ", detail.fix);
        }
        if (*bytes > kMaxSizeBytes) {
          return absl::StrCat("'", text, "' is too large");
        }
        text = absl::StrCat(*bytes);
        return "";
      },
      "");
}

void WrapOptions(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    option->description(WrapHelp(option->get_description()));
  }
}

}  // namespace edgekiln::server
