#ifndef EK_CLIENT_CHECK_JUNIT_H_
#define EK_CLIENT_CHECK_JUNIT_H_

#include <string>

#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// The result as JUnit XML, as GitLab, Jenkins and others read it: a test suite
// for each model, a test case for each of its cells. A broken cell is a
// failure, one that failed an error. docs/check.md has every attribute. Pure.
std::string CheckToJunit(const v1::CheckResult& result);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_JUNIT_H_
