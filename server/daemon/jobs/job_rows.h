#ifndef EK_SERVER_DAEMON_JOBS_JOB_ROWS_H_
#define EK_SERVER_DAEMON_JOBS_JOB_ROWS_H_

// Jobs, events and reports as the columns of the job database hold them: with a
// checksum over value and key (seal.h). Readers return nothing for what is
// damaged.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "edgekiln/v1/jobs.pb.h"

namespace edgekiln::server {

// Reason of the error of a job whose row is damaged.
inline constexpr char kJobDamaged[] = "JOB_DAMAGED";

// Of an event's row: its sequence is valid. Damaged rows may hold text, blobs,
// fractions or huge numbers, which sort behind all others. No job has as many
// events.
#define EK_VALID_SEQUENCE \
  "typeof(sequence) = 'integer' AND sequence BETWEEN 1 AND 4294967296"

// The job without its request, which has a column of its own.
std::string JobColumn(const v1::Job& job);
std::string RequestColumn(const v1::Job& job);
// See job_head.h; the former without the request's.
std::string HeadColumn(const v1::Job& job);
std::string RequestHeadColumn(const v1::Job& job);
// Of blobs that must stay while the job is kept, one per line.
std::string BlobsColumn(const v1::Job& job,
                        const std::vector<v1::Report>& reports);
std::string EventColumn(absl::string_view id, const v1::JobEvent& event);
std::string ReportColumn(absl::string_view id, int64_t target,
                         absl::string_view report);

// `state` is the column of that name.
std::optional<v1::Job> ReadJob(absl::string_view id, int64_t state,
                               absl::string_view column);
std::optional<v1::CreateJobRequest> ReadRequest(absl::string_view id,
                                                absl::string_view column);
std::optional<v1::Job> ReadHead(absl::string_view id, int64_t state,
                                absl::string_view head,
                                absl::string_view request);
std::optional<std::vector<std::string>> ReadBlobs(absl::string_view id,
                                                  absl::string_view column);
// A damaged event keeps its sequence and says nothing.
v1::JobEvent ReadEvent(absl::string_view id, int64_t sequence,
                       absl::string_view column);
// Serialized.
std::optional<std::string> ReadReport(absl::string_view id, int64_t target,
                                      absl::string_view column);

// What takes the place of a damaged job: FAILED with reason JOB_DAMAGED.
v1::Job DamagedJob(absl::string_view id);
absl::Status ReportDamaged(absl::string_view id, int64_t target);

google::protobuf::Timestamp ToTimestamp(absl::Time time);

}  // namespace edgekiln::server

#endif  // EK_SERVER_DAEMON_JOBS_JOB_ROWS_H_
