#include "client/option_checks.h"

#include <string>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/c_name.h"
#include "client/exit_code.h"

namespace edgekiln::client {

absl::Status CheckFileNames(const CLI::App& app) {
  for (const char* name :
       {"-o", "--data", "--calibration", "--timeline", "--csv", "--junit",
        "--markdown", "--sarif", "--quantization"}) {
    const CLI::Option* const option = app.get_option_no_throw(name);
    if (option == nullptr || option->count() == 0) continue;
    if (!option->results().front().empty()) continue;
    return UsageError(
        absl::StrCat("the ", option->get_type_name(), " is empty"), name, "",
        absl::StrCat("name it, or leave ", name, " out"));
  }
  return absl::OkStatus();
}

absl::Status CheckNetworkName(const CommandLine& line) {
  if (!line.document.empty()) {
    return UsageError(
        "--name is for models: a document has the name of its network",
        "edgekiln compile", "", "leave --name out, or give MODEL");
  }
  if (IsCName(line.network_name)) return absl::OkStatus();
  constexpr size_t kShown = 40;
  return UsageError(
      absl::StrCat("'", absl::CHexEscape(line.network_name.substr(0, kShown)),
                   line.network_name.size() > kShown ? "..." : "",
                   "' cannot begin the names of C files and identifiers"),
      "--name", std::string(kCNameRule),
      absl::StrCat("--name ", CNameOf(line.network_name)));
}

absl::Status CheckPrintsOneThing(const CommandLine& line) {
  const bool writes = line.command == Command::kReportHtml ||
                      line.command == Command::kReportExport;
  if (!writes || !line.json || !line.output.empty()) return absl::OkStatus();
  return UsageError("--json needs -o here", "edgekiln report",
                    "a file for what is not JSON",
                    "give -o, or leave --json out");
}

absl::Status CheckCompare(const Given& given, const CommandLine& line) {
  if (!line.compare) return absl::OkStatus();
  for (const char* option :
       {"--calibration-method", "-o", "--supersede", "--follow", "--stages"}) {
    if (!given(option)) continue;
    return UsageError(
        absl::StrCat(option, " does not go with --compare"),
        "edgekiln quantize", "",
        absl::StrCat("leave ", option, " out; it takes one way to quantize"));
  }
  return absl::OkStatus();
}

absl::Status CheckQuantizeData(const Given& given, const CommandLine& line) {
  if (line.command != Command::kQuantize || !line.data.empty()) {
    return absl::OkStatus();
  }
  for (const char* option : {"--limit", "--label-offset"}) {
    if (!given(option)) continue;
    return UsageError(
        absl::StrCat(option, " needs --data"), "edgekiln quantize",
        "the labelled samples that it is about",
        absl::StrCat("add --data, or leave ", option,
                     " out; `samples` of a --quantization file limits those "
                     "of --calibration"));
  }
  return absl::OkStatus();
}

absl::Status CheckVaried(const Given& given, const v1::SweepVary& vary) {
  for (const char* option : {"--calibration-method", "--io", "--limit",
                             "--offload", "--quantization", "--seed"}) {
    if (option != absl::StrCat("--", vary.key()) || !given(option)) continue;
    return UsageError(absl::StrCat(option, " is given and varied"),
                      "edgekiln sweep", "the option, or --vary of it",
                      absl::StrCat("leave ", option,
                                   " out, or make its value one of those "
                                   "of --vary ",
                                   vary.key()));
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::client
