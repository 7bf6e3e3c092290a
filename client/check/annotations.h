#ifndef EK_CLIENT_CHECK_ANNOTATIONS_H_
#define EK_CLIENT_CHECK_ANNOTATIONS_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/check.pb.h"

namespace edgekiln::client {

// The result as workflow commands of GitHub Actions, one a line:
// "::error file=edgekiln.txtpb,line=12,col=5,title=..::..". What comes out of
// models cannot end a command or begin another one. Pure.
std::string CheckToGithubAnnotations(const v1::CheckResult& result);

// GitHub's runner also reads commands in all other output: lines that begin
// with "::", and "##[" anywhere in a line. Between these two it obeys nothing.
// `token`: what models cannot guess.
std::string StopGithubCommands(const std::string& token);
std::string ResumeGithubCommands(const std::string& token);
// `text` with "##(" for "##[".
std::string WithoutGithubCommands(absl::string_view text);
// The same of all texts of an error. Its lines are printed behind labels of
// ours, so that "::" does not matter there.
absl::Status WithoutGithubCommands(const absl::Status& status);

}  // namespace edgekiln::client

#endif  // EK_CLIENT_CHECK_ANNOTATIONS_H_
