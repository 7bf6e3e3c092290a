#ifndef EK_CLIENT_CHECK_SARIF_H_
#define EK_CLIENT_CHECK_SARIF_H_

#include <string>

#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// The result as a log of SARIF 2.1.0: what is broken or failed, with the line
// of the budget in the project file and the file of the model. docs/check.md
// has every rule and property. Pure.
std::string CheckToSarif(const v1::CheckResult& result,
                         const std::string& version);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_SARIF_H_
