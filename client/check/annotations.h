#ifndef EK_CLIENT_CHECK_ANNOTATIONS_H_
#define EK_CLIENT_CHECK_ANNOTATIONS_H_

#include <string>

#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// The result as workflow commands of GitHub Actions, one a line:
// "::error file=edgekiln.txtpb,line=12,col=5,title=..::..". What comes out of
// models cannot end a command or begin another one. Pure.
std::string CheckToGithubAnnotations(const v1::CheckResult& result);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_ANNOTATIONS_H_
