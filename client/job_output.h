#ifndef EK_CLIENT_JOB_OUTPUT_H_
#define EK_CLIENT_JOB_OUTPUT_H_

// What a finished job leaves for the user: reports and files.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "client/command_context.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

// Fetches the job's reports, applies the limits of the command line (gate.h)
// and prints the reports, as text or as JSON: one Report, or with several
// targets a list. Targets that failed are shown with their error. Returns the
// outcome of the job: its error; GATE_FAILED (gate.h); OK. Nothing is printed
// for a job that failed as a whole with --json: the error is then the output.
// With --follow each report is a line: {"report": ...}.
absl::Status PrintReports(const v1::Job& job, CommandContext& context);

// Prints reports, as text or as JSON: one Report, or a list of them. Of a
// single report with an error nothing: the caller returns that error, which is
// then the output.
void PrintReportList(const std::vector<v1::Report>& reports,
                     CommandContext& context);

// Where an artifact belongs: FOLDER/PATH, with several targets
// FOLDER/TARGET/PATH. Errors: DATA_LOSS if the daemon names a path that is
// absolute, empty, or leads out of the folder.
absl::StatusOr<std::string> ArtifactPath(const v1::Job& job,
                                         const v1::Artifact& artifact,
                                         const std::string& folder);

// Whether this `-o` means standard output: none, or "-".
bool IsStandardOutput(absl::string_view output);

// Whether `option` names a file that can be written: in a folder that is there,
// and neither a folder nor a device. For before the job. A usage error
// otherwise.
absl::Status CheckOutputFile(const std::string& path,
                             absl::string_view option = "-o");

// A usage error if -o is a file that the command reads: it would be replaced by
// what is made of it.
absl::Status CheckKeepsInputs(const CommandLine& line);

// The same of a folder, which may be missing, as may those above it.
absl::Status CheckOutputFolder(const std::string& path);

// Makes the file `path` hold `bytes`: completely or not at all.
absl::Status WriteOutputFile(const std::string& path, absl::string_view bytes,
                             CommandContext& context);

// Fetches `artifact` into the file `path`, which appears complete or not at
// all. Folders are created.
absl::Status FetchArtifact(const v1::Artifact& artifact,
                           const std::string& path, CommandContext& context);

// Fetches all artifacts of the job into `folder`; returns their paths.
absl::StatusOr<std::vector<std::string>> FetchArtifacts(
    const v1::Job& job, const std::string& folder, CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_JOB_OUTPUT_H_
