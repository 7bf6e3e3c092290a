#ifndef EK_CLIENT_CHECK_ANNOTATIONS_H_
#define EK_CLIENT_CHECK_ANNOTATIONS_H_

#include <string>

#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// The result as workflow commands of GitHub Actions, one a line:
// "::error file=edgekiln.txtpb,line=12,col=5,title=..::..". What comes out of
// models cannot end a command or begin another one. Pure.
std::string CheckToGithubAnnotations(const v1::CheckResult& result);

// Between these two lines GitHub's runner obeys nothing. `token`: what models
// cannot guess.
std::string StopGithubCommands(const std::string& token);
std::string ResumeGithubCommands(const std::string& token);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_ANNOTATIONS_H_
