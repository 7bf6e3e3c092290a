#ifndef EK_SERVER_WORKER_KEPT_OUTPUTS_H_
#define EK_SERVER_WORKER_KEPT_OUTPUTS_H_

// What the last stage of a child has made. The next one of a chain reads it,
// and need not ask the worker for it.

#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/worker_child.pb.h"

namespace edgekiln::server {

// Not thread-safe.
class KeptOutputs {
 public:
  // Of chains no more is in one lease (lease_executor.cc).
  static constexpr int64_t kMaxBytes = int64_t{1} << 20;

  // Takes the outputs of `result`, in place of those before, if they have no
  // more than kMaxBytes together.
  void Keep(v1::ChildReply::Result& result);
  // The output that is this input of a stage; null if there is none. Valid
  // until the next call of Keep().
  const std::string* Find(const v1::BlobRef& input);

 private:
  struct Output {
    v1::ChildBlob blob;
    std::string hash;  // Once it was asked for.
  };
  std::vector<Output> outputs_;
};

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_KEPT_OUTPUTS_H_
