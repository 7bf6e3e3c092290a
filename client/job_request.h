#ifndef EK_CLIENT_JOB_REQUEST_H_
#define EK_CLIENT_JOB_REQUEST_H_

// From the command line to a CreateJobRequest whose blobs the daemon has.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/command_context.h"
#include "client/local_blob.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::client {

// Names a request, so that sending it again makes no second job.
std::string NewRequestId();

// What --queue-timeout and --run-timeout say.
void SetDeadlines(const CommandLine& line, v1::JobOptions& options);

// What a target is called that comes from the file `path`.
std::string TargetFileName(const std::string& path);

// Whether a --target names a file: it contains "/", ends in ".txtpb" or
// ".textproto", or is an existing file.
bool NamesTargetFile(FileSystem& files, const std::string& target);

// The target as a reference, and its file into `blobs` if it is one. Others are
// asked of the daemon, which then has their blob, and which refuses a --recipe
// that the target does not have.
absl::StatusOr<v1::TargetRef> ResolveTarget(const std::string& target,
                                            CommandContext& context,
                                            std::vector<LocalBlob>& blobs);

// What the command line says about the model, and its files into `blobs`.
absl::StatusOr<v1::ModelBindings> OpenBindings(CommandContext& context,
                                               std::vector<LocalBlob>& blobs);

// Whether what is asked for cannot be measured without labels.
bool NeedsLabels(const CommandLine& line);

// Uploads `blobs`, showing how far it is.
absl::Status UploadBlobs(const std::vector<LocalBlob>& blobs,
                         CommandContext& context);

// A request with everything the command line says, after the upload of model
// (or document), targets and data. `labels_needed`: whether images alone will
// not do.
absl::StatusOr<v1::CreateJobRequest> PrepareJob(v1::JobGoal goal,
                                                bool labels_needed,
                                                CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_JOB_REQUEST_H_
