#include "client/job_pages.h"

#include "base/status_macros.h"

namespace edgekiln::client {
namespace {

constexpr int kJobsOfAPage = 1000;  // The daemon's own limit.
// A page may end early, hence more than kMaxVisitedJobs / kJobsOfAPage; a
// daemon that sends nothing but tokens for further pages ends here, too.
constexpr int kMaxPages = 100;

}  // namespace

absl::StatusOr<Visited> VisitJobs(
    Connection& connection, const std::function<Visit(const v1::Job&)>& visit) {
  v1::ListJobsRequest request;
  request.set_page_size(kJobsOfAPage);
  int64_t visited = 0;
  for (int page = 0; page < kMaxPages; ++page) {
    EK_ASSIGN_OR_RETURN(const v1::ListJobsResponse response,
                        connection.ListJobs(request));
    for (const v1::Job& job : response.jobs()) {
      if (++visited > kMaxVisitedJobs) return Visited::kCutOff;
      if (visit(job) == Visit::kStop) return Visited::kAll;
    }
    if (response.next_page_token().empty()) return Visited::kAll;
    request.set_page_token(response.next_page_token());
  }
  return Visited::kCutOff;
}

}  // namespace edgekiln::client
