#ifndef EK_TESTS_CHAOS_ATTACK_CALLS_H_
#define EK_TESTS_CHAOS_ATTACK_CALLS_H_

// Calls as an attacker makes them: without retries, limits of its own, or care.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/digest.h"
#include "edgekiln/v1/jobs.pb.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"

namespace edgekiln::chaos {

// A TCP connection that no other channel shares; takes messages of any size.
std::shared_ptr<grpc::Channel> OwnChannel(const std::string& address);

void SetTimeout(grpc::ClientContext& context, absl::Duration timeout);

// Each call below gives up after this.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(15);

// Streams of `bytes`, at once, as one blob.
absl::StatusOr<Digest> PutBlob(const std::shared_ptr<grpc::Channel>& channel,
                               const std::string& bytes);
// Small blobs in one message.
absl::Status PutBlobs(const std::shared_ptr<grpc::Channel>& channel,
                      const std::vector<std::string>& blobs);
absl::StatusOr<v1::Job> CreateJob(const std::shared_ptr<grpc::Channel>& channel,
                                  const v1::CreateJobRequest& request);
absl::Status CancelJob(const std::shared_ptr<grpc::Channel>& channel,
                       const std::string& id);
// Asks until the job is over or `limit` has passed, which is no error.
absl::StatusOr<v1::Job> AwaitJob(const std::shared_ptr<grpc::Channel>& channel,
                                 const std::string& id, absl::Duration limit);

// Chip `number`: as large as none with another number.
std::string ChipText(int number);

// Runs as much of the job as `limit` allows and cancels the rest. The status is
// how the daemon received it; what became of the job is the job's.
absl::StatusOr<v1::Job> RunJob(const std::shared_ptr<grpc::Channel>& channel,
                               const v1::CreateJobRequest& request,
                               absl::Duration limit);

}  // namespace edgekiln::chaos

#endif  // EK_TESTS_CHAOS_ATTACK_CALLS_H_
