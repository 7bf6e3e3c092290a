#ifndef EK_SERVER_JOB_REPORT_H_
#define EK_SERVER_JOB_REPORT_H_

// What a report says of the job itself: its request and its stages. What
// targets measure is server/report_builder.h.

#include <string>

#include "edgekiln/v1/jobs.pb.h"
#include "edgekiln/v1/report.pb.h"
#include "server/model_stages.h"
#include "server/stage_sequence.h"

namespace edgekiln::server {

// The report of one target, an index into those of the request or
// StageSequence::kAllTargets, before anything was measured.
v1::Report NewReport(const std::string& job_id,
                     const v1::CreateJobRequest& request, int target);

// Warns if the request has calibration data that changes nothing: the user
// would take it for used.
void WarnOfUnusedCalibration(const v1::CreateJobRequest& request,
                             const ModelStages& model, v1::Report& report);

// Adds the stages and, each once and in the order of the stages, their
// warnings. Only of stages whose results were asked for: where a target fails,
// whether others that started beside it end is chance, and warnings must not
// differ from run to run.
void AddStages(const StageSequence& stages, v1::Report& report);

}  // namespace edgekiln::server

#endif  // EK_SERVER_JOB_REPORT_H_
