#ifndef EK_SERVER_IMPORT_CALL_H_
#define EK_SERVER_IMPORT_CALL_H_

// The first stages of a model and of a target, for its job and for those who
// need to know of it before its job runs: what both ask for is the same.

#include "absl/status/statusor.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/job_context.h"

namespace edgekiln::server {

// Reads the model of `request`, which has one.
StageCall ImportCall(const v1::CreateJobRequest& request);

// Simplifies the graph that it left.
StageCall SimplifyCall(v1::BlobRef graph);
// Of what that left: the graph that is compiled, in float32 where the model has
// other floats.
absl::StatusOr<v1::BlobRef> CompiledGraph(const v1::StageResult& simplified);

// Reads a target's descriptor.
StageCall ResolveCall(const v1::Digest& descriptor);

// Decides whether a model that came quantized is quantized anew: it is if that
// leaves a graph. `capabilities`: the target's; `asked`: what the request says,
// if ON, they are not looked at and may be null.
StageCall UnquantizeCall(const v1::BlobRef& compiled,
                         const v1::BlobRef* capabilities, v1::Switch asked);

}  // namespace edgekiln::server

#endif  // EK_SERVER_IMPORT_CALL_H_
