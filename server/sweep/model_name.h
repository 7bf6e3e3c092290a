#ifndef EK_SERVER_SWEEP_MODEL_NAME_H_
#define EK_SERVER_SWEEP_MODEL_NAME_H_

#include <string>

#include "edgekiln/v1/sweep.pb.h"

namespace edgekiln::server {

// What the model is called in rows: its name, or else that of its file, without
// folder and extension.
std::string SweepModelName(const v1::SweepModel& model);

}  // namespace edgekiln::server

#endif  // EK_SERVER_SWEEP_MODEL_NAME_H_
