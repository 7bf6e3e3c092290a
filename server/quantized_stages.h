#ifndef EK_SERVER_QUANTIZED_STAGES_H_
#define EK_SERVER_QUANTIZED_STAGES_H_

// Goal QUANTIZE: what a job does with the graph that quantization made.

#include "absl/status/status.h"
#include "edgekiln/v1/jobs.pb.h"
#include "server/job_context.h"
#include "server/model_stages.h"
#include "server/target_stages.h"
#include "server/task.h"

namespace edgekiln::server {

// Whether accuracy is asked for and means something: ranges learned from random
// inputs say nothing about it.
bool MeasuresQuantized(const v1::CreateJobRequest& request,
                       const ModelStages& model);

// From run.deployed to the report of its layers, its accuracy on the reference
// interpreter and, if `request` asks for it, an ONNX model. Ends at the first
// stage that fails, with its error. The arguments must outlive the task.
Task<absl::Status> RunQuantized(const v1::CreateJobRequest& request,
                                const ModelStages& model, JobContext& context,
                                TargetRun& run);

}  // namespace edgekiln::server

#endif  // EK_SERVER_QUANTIZED_STAGES_H_
