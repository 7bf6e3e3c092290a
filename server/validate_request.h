#ifndef EK_SERVER_VALIDATE_REQUEST_H_
#define EK_SERVER_VALIDATE_REQUEST_H_

// What a request asks for, and whether that makes sense. Pure.

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

bool Wants(const v1::CreateJobRequest& request, v1::JobGoal goal);
// Whether a target's program is needed.
bool WantsProgram(const v1::CreateJobRequest& request);
// Whether something is measured, or made: inspection alone leaves no report.
bool WantsReport(const v1::CreateJobRequest& request);
// Whether chunks of input are computed, on the chip or on the reference, for
// programs and outputs. QUANTIZE decides by its data.
bool WantsSamples(const v1::CreateJobRequest& request);

// Whether the caller must supply the samples: accuracy and outputs make no
// sense on synthetic ones.
bool NeedsOwnData(const v1::CreateJobRequest& request);

// The request's offload, ALL if unspecified.
v1::Offload OffloadOf(const v1::CreateJobRequest& request);
// The form of inputs and outputs of what is compiled: IO_INTEGER unless the
// request says otherwise.
v1::IoForm IoFormOf(const v1::CreateJobRequest& request);

// OK if the goals fit together and with targets; INVALID_ARGUMENT otherwise.
// Checks no blob: whether data is needed depends on the model.
absl::Status ValidateRequest(const v1::CreateJobRequest& request);

}  // namespace edgekiln::server

#endif  // EK_SERVER_VALIDATE_REQUEST_H_
