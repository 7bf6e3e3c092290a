#ifndef EK_CLIENT_SWEEP_REQUEST_H_
#define EK_CLIENT_SWEEP_REQUEST_H_

// From the command line, or a file, to a SweepRequest whose blobs can be sent.

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/command_context.h"
#include "client/local_blob.h"
#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::client {

struct LocalSweep {
  v1::SweepRequest request;  // With the digests of all its files.
  std::vector<LocalBlob> blobs;
};

// What the options of `sweep` say.
absl::StatusOr<LocalSweep> SweepOfLine(CommandContext& context);
// What the file says that `sweep run` names.
absl::StatusOr<LocalSweep> SweepOfFile(CommandContext& context);
// A request whose files are looked for in `folder` ("": the current one):
// opened, with their digests and with names for all models and targets.
absl::StatusOr<LocalSweep> OpenSweep(v1::SweepRequest request,
                                     std::string folder,
                                     CommandContext& context);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_SWEEP_REQUEST_H_
