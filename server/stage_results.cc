#include "server/stage_results.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "server/report_builder.h"

namespace edgekiln::server {

v1::BlobRef As(absl::string_view role, const v1::Digest& digest) {
  v1::BlobRef ref;
  ref.set_role(std::string(role));
  *ref.mutable_digest() = digest;
  return ref;
}

std::vector<v1::Digest> All(const v1::StageResult& result,
                            absl::string_view role) {
  std::vector<v1::Digest> digests;
  for (const v1::BlobRef& output : result.outputs()) {
    if (output.role() == role) digests.push_back(output.digest());
  }
  return digests;
}

absl::StatusOr<v1::BlobRef> Only(const v1::StageResult& result,
                                 absl::string_view role) {
  const std::vector<v1::Digest> digests = All(result, role);
  if (digests.size() == 1) return As(role, digests.front());
  return MakeError(
      absl::StatusCode::kInternal,
      {.fault = Fault::kInfra,
       .reason = "STAGE_OUTPUT",
       .what = absl::StrCat("a stage left ", digests.size(), " blobs called '",
                            role, "' instead of one"),
       .where = absl::StrCat("blob '", role, "'"),
       .fix = "report this bug"});
}

absl::StatusOr<std::vector<v1::BlobRef>> StatesLeftBy(
    const v1::StageResult& result) {
  EK_ASSIGN_OR_RETURN(v1::BlobRef states, Only(result, "states"));
  return std::vector<v1::BlobRef>{std::move(states)};
}

std::vector<v1::Digest> Covering(const Values& values, int64_t first,
                                 int64_t count) {
  std::vector<v1::Digest> covering;
  int64_t begin = 0;
  for (size_t i = 0; i < values.chunks.size(); ++i) {
    const int64_t end = begin + values.samples[i];
    if (begin < first + count && first < end) {
      covering.push_back(values.chunks[i]);
    }
    begin = end;
  }
  return covering;
}

absl::Status AddChunk(const v1::StageResult& result, Computed& computed) {
  EK_ASSIGN_OR_RETURN(const v1::BlobRef chunk, Only(result, "chunk"));
  const v1::StageSummary::Samples& samples = result.summary().samples();
  computed.outputs.chunks.push_back(chunk.digest());
  computed.outputs.samples.push_back(samples.samples());
  Add(samples, computed.totals);
  return absl::OkStatus();
}

absl::StatusOr<Values> ValuesOf(const Data& data) {
  const auto& samples = data.summary.chunk_samples();
  if (samples.size() != static_cast<int>(data.chunks.size())) {
    return absl::InternalError("chunks of unknown numbers of samples");
  }
  return Values{data.chunks, {samples.begin(), samples.end()}};
}

absl::StatusOr<Data> DataOf(const v1::StageResult& result) {
  Data data;
  data.chunks = All(result, "chunk");
  for (const v1::Digest& labels : All(result, "labels")) {
    data.labels.push_back(As("labels", labels));
  }
  data.samples = result.summary().data().samples();
  data.labelled = result.summary().data().labelled();
  data.sequential = result.summary().data().sequential();
  data.summary = result.summary().data();
  if (!data.chunks.empty()) return data;
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kUser,
                    .reason = "DATA_EMPTY",
                    .what = "the data set has no samples",
                    .where = "data set",
                    .need = "at least one sample",
                    .fix = "give a data set with samples"});
}

}  // namespace edgekiln::server
