// Uploads a blob through a network that breaks, and sees that only little is
// sent twice.
//
//   chaos_upload --bin FOLDER [--megabytes N] [--cuts N] [--seed S]

#include <iostream>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tests/chaos/cut_upload.h"

namespace edgekiln::chaos {
namespace {

absl::Status Run(const CutUploadOptions& options) {
  EK_ASSIGN_OR_RETURN(const CutUpload upload, RunCutUpload(options));
  std::cout << absl::StrCat(
      upload.bytes, " bytes, ", options.cuts, " cuts, ", upload.resumes,
      " resumes; sent again ", upload.resent_bytes, " bytes, at most ",
      upload.worst_resent_bytes, " after one cut; ", upload.wire_bytes,
      " bytes on the wire in ", absl::FormatDuration(upload.took), "\n");
  if (upload.worst_resent_bytes <= kMaxResentBytes) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(
      upload.worst_resent_bytes,
      " bytes were sent again after one cut; the limit is ", kMaxResentBytes));
}

int Main(int argc, char** argv) {
  CutUploadOptions options;
  CLI::App app("Uploads through a network that breaks.", "chaos_upload");
  app.add_option("--bin", options.bin, "Folder of the programs")->required();
  app.add_option("--megabytes", options.megabytes)
      ->check(CLI::Range(4, 10'000))
      ->capture_default_str();
  app.add_option("--cuts", options.cuts)
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  std::cout << "seed " << options.seed << std::endl;
  const absl::Status status = Run(options);
  if (status.ok()) return 0;
  std::cerr << "chaos_upload: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace edgekiln::chaos

int main(int argc, char** argv) { return edgekiln::chaos::Main(argc, argv); }
