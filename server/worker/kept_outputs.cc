#include "server/worker/kept_outputs.h"

#include <utility>

namespace edgekiln::server {

void KeptOutputs::Keep(v1::ChildReply::Result& result) {
  outputs_.clear();
  int64_t bytes = 0;
  for (const v1::ChildBlob& blob : result.outputs()) {
    bytes += static_cast<int64_t>(blob.data().size());
  }
  if (bytes > kMaxBytes) return;
  for (v1::ChildBlob& blob : *result.mutable_outputs()) {
    outputs_.emplace_back().blob.Swap(&blob);
  }
}

const std::string* KeptOutputs::Find(const v1::BlobRef& input) {
  for (Output& output : outputs_) {
    const std::string& data = output.blob.data();
    if (output.blob.role() != input.role() ||
        static_cast<int64_t>(data.size()) != input.digest().size_bytes()) {
      continue;
    }
    if (output.hash.empty()) output.hash = DigestOf(data).hash;
    if (output.hash == input.digest().hash()) return &data;
  }
  return nullptr;
}

}  // namespace edgekiln::server
