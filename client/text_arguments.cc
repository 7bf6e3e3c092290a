#include "client/text_arguments.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "client/exit_code.h"

namespace edgekiln::client {
namespace {

constexpr int kMaxShownBytes = 255;

bool IsText(const std::string& text) {
  return SanitizeText(text, static_cast<int>(text.size())) == text;
}

absl::Status CheckIsText(const std::string& name, absl::string_view option) {
  if (IsText(name)) return absl::OkStatus();
  return UsageError(absl::StrCat("'", name, "' is not UTF-8 text"), option,
                    "UTF-8 without control characters",
                    "write names of a model as `edgekiln inspect` shows them");
}

}  // namespace

absl::Status CheckNamesAreText(const CommandLine& line) {
  for (const v1::InputTransform& transform : line.transforms) {
    EK_RETURN_IF_ERROR(CheckIsText(transform.input(), "--input"));
  }
  for (const v1::DimensionBinding& dimension : line.dimensions) {
    EK_RETURN_IF_ERROR(CheckIsText(dimension.name(), "--bind"));
  }
  for (const NamedFile& file : line.bound_inputs) {
    EK_RETURN_IF_ERROR(CheckIsText(file.name, "--bind-input"));
  }
  for (const NamedFile& file : line.external_data) {
    EK_RETURN_IF_ERROR(CheckIsText(file.name, "--external-data"));
  }
  EK_RETURN_IF_ERROR(CheckIsText(line.slot, "--supersede"));
  EK_RETURN_IF_ERROR(CheckIsText(line.recipe, "--recipe"));
  for (const std::string& target : line.targets) {
    const bool path = target.find('/') != std::string::npos ||
                      absl::EndsWith(target, ".txtpb") ||
                      absl::EndsWith(target, ".textproto");
    if (!path) {
      EK_RETURN_IF_ERROR(CheckIsText(target, "--target"));
    }
  }
  const bool files = line.command == Command::kTargetsCheck ||
                     line.command == Command::kTargetsSources ||
                     line.command == Command::kReportShow ||
                     line.command == Command::kReportDiff ||
                     line.command == Command::kReportBaseline ||
                     line.command == Command::kReportHtml ||
                     line.command == Command::kReportExport;
  for (const std::string& name : line.names) {
    if (!files) EK_RETURN_IF_ERROR(CheckIsText(name, "NAME"));
  }
  return absl::OkStatus();
}

std::string ShownFileName(const std::string& path) {
  const size_t slash = path.rfind('/');
  return SanitizeText(
      slash == std::string::npos ? path : path.substr(slash + 1),
      kMaxShownBytes);
}

}  // namespace edgekiln::client
