#ifndef EK_SERVER_STAGE_RESULTS_H_
#define EK_SERVER_STAGE_RESULTS_H_

// Taking apart what stages left, and putting together what they are handed.

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/data.pb.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/job_context.h"
#include "server/task.h"

namespace edgekiln::server {

// Chunks of one target in flight at once: enough for a farm, few enough that
// another job's short stages do not wait behind a whole data set.
constexpr size_t kMaxChunksInFlight = 32;

v1::BlobRef As(absl::string_view role, const v1::Digest& digest);

// All outputs with that role, in order.
std::vector<v1::Digest> All(const v1::StageResult& result,
                            absl::string_view role);

// The one output with that role, still under that role. INTERNAL
// (Fault::kInfra) if there is not exactly one.
absl::StatusOr<v1::BlobRef> Only(const v1::StageResult& result,
                                 absl::string_view role);

// Samples in chunks, ready for a simulator or the interpreter.
struct Data {
  std::vector<v1::Digest> chunks;
  std::vector<v1::BlobRef> labels;  // Empty, or one.
  int64_t samples = 0;
  int64_t labelled = 0;
  // States are carried from sample to sample: each chunk needs the states at
  // the end of the one before.
  bool sequential = false;
  v1::StageSummary::Data summary;
};

// Chunks of values in sample order: of inputs, or of outputs.
struct Values {
  std::vector<v1::Digest> chunks;
  std::vector<int64_t> samples;  // Of each chunk.
};

// The chunks that have any of the `count` samples from `first` on.
std::vector<v1::Digest> Covering(const Values& values, int64_t first,
                                 int64_t count);

// The chunks that a data stage left. INVALID_ARGUMENT if there are none.
absl::StatusOr<Data> DataOf(const v1::StageResult& result);

// What the samples are, as Values. INTERNAL if the stage did not say how many
// each chunk has.
absl::StatusOr<Values> ValuesOf(const Data& data);

// The states at the end of a chunk, from its stage's result.
absl::StatusOr<std::vector<v1::BlobRef>> StatesLeftBy(
    const v1::StageResult& result);

// What was computed of all samples: sums of chunks, in sample order.
struct Computed {
  v1::StageSummary::Samples totals = {};
  Values outputs = {};
};

// Adds the next chunk, which an interpret or simulate stage left.
absl::Status AddChunk(const v1::StageResult& result, Computed& computed);

// Chunks that may be in flight at once.
inline size_t ChunksInFlight(const Data& data) {
  return data.sequential ? 1 : kMaxChunksInFlight;
}

// One thing done to every chunk, a bounded number at a time; `collect` sees the
// results in chunk order. `start` gets index, chunk, and the states that the
// chunk before left: a blob, or none if this is the first, or nothing is
// carried.
template <typename StartChunk, typename Collect>
Task<absl::Status> ForEachChunk(const Data& data, StartChunk start,
                                Collect collect) {
  const std::vector<v1::Digest>& chunks = data.chunks;
  std::deque<std::shared_ptr<PendingStage>> in_flight;
  std::vector<v1::BlobRef> states;
  size_t next = 0;
  while (next < chunks.size() || !in_flight.empty()) {
    while (next < chunks.size() && in_flight.size() < ChunksInFlight(data)) {
      in_flight.push_back(start(next, chunks[next], states));
      ++next;
    }
    const std::shared_ptr<PendingStage> first = std::move(in_flight.front());
    in_flight.pop_front();
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& result,
                           co_await ResultOf(first));
    if (data.sequential) {
      EK_CO_ASSIGN_OR_RETURN(states, StatesLeftBy(result));
    }
    EK_CO_RETURN_IF_ERROR(collect(result));
  }
  co_return absl::OkStatus();
}

// The same in two steps: `start` also gets what the stage of `prepare` left for
// the chunk, and returns an absl::StatusOr of a stage. Each step has states of
// its own.
template <typename PrepareChunk, typename StartChunk, typename Collect>
Task<absl::Status> ForEachPreparedChunk(const Data& data, PrepareChunk prepare,
                                        StartChunk start, Collect collect) {
  const std::vector<v1::Digest>& chunks = data.chunks;
  std::vector<v1::BlobRef> prepared_states;
  std::vector<v1::BlobRef> states;
  std::deque<std::shared_ptr<PendingStage>> preparing;
  std::deque<std::shared_ptr<PendingStage>> in_flight;
  size_t next = 0;
  size_t started = 0;
  while (started < chunks.size() || !in_flight.empty()) {
    while (next < chunks.size() &&
           preparing.size() + in_flight.size() < ChunksInFlight(data)) {
      preparing.push_back(prepare(next, chunks[next], prepared_states));
      ++next;
    }
    while (!preparing.empty()) {
      const std::shared_ptr<PendingStage> first = std::move(preparing.front());
      preparing.pop_front();
      EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& prepared,
                             co_await ResultOf(first));
      if (data.sequential) {
        EK_CO_ASSIGN_OR_RETURN(prepared_states, StatesLeftBy(prepared));
      }
      EK_CO_ASSIGN_OR_RETURN(auto stage,
                             start(started, chunks[started], states, prepared));
      in_flight.push_back(std::move(stage));
      ++started;
    }
    const std::shared_ptr<PendingStage> first = std::move(in_flight.front());
    in_flight.pop_front();
    EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& result,
                           co_await ResultOf(first));
    if (data.sequential) {
      EK_CO_ASSIGN_OR_RETURN(states, StatesLeftBy(result));
    }
    EK_CO_RETURN_IF_ERROR(collect(result));
  }
  co_return absl::OkStatus();
}

}  // namespace edgekiln::server

#endif  // EK_SERVER_STAGE_RESULTS_H_
