#ifndef EK_CLIENT_COMMANDS_PAGING_H_
#define EK_CLIENT_COMMANDS_PAGING_H_

// Lists that the daemon hands out in pages.

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "base/status_macros.h"
#include "client/command_context.h"
#include "google/protobuf/repeated_field.h"

namespace edgekiln::client {

inline constexpr int64_t kDefaultListed = 20;

// The first entries of a list: as many as --limit says, else kDefaultListed.
// `mutable_entries` of a response are those of a page.
//
//   ListPages(context, &Connection::ListJobs,
//             &v1::ListJobsResponse::mutable_jobs)
template <typename Request, typename Response, typename Entry>
absl::StatusOr<Response> ListPages(
    CommandContext& context,
    absl::StatusOr<Response> (Connection::*list)(const Request&),
    google::protobuf::RepeatedPtrField<Entry>* (Response::*mutable_entries)()) {
  constexpr int64_t kMaxPage = 1000;  // The daemon's own limit.
  const int64_t wanted = context.line.limit.value_or(kDefaultListed);
  Response all;
  auto& entries = *(all.*mutable_entries)();
  Request request;
  while (entries.size() < wanted) {
    request.set_page_size(
        static_cast<int32_t>(std::min(wanted - entries.size(), kMaxPage)));
    EK_ASSIGN_OR_RETURN(Response page, (context.connection.*list)(request));
    for (Entry& entry : *(page.*mutable_entries)()) {
      *entries.Add() = std::move(entry);
    }
    all.set_next_page_token(page.next_page_token());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  return all;
}

}  // namespace edgekiln::client

#endif  // EK_CLIENT_COMMANDS_PAGING_H_
