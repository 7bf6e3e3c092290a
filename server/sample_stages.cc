#include "server/sample_stages.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "server/accuracy.h"
#include "server/accuracy_stages.h"
#include "server/report_builder.h"
#include "server/stage_results.h"
#include "server/validate_request.h"

namespace edgekiln::server {
namespace {

// `digests` is null if the stage is to compute the reference itself.
StageCall SimulateCall(const TargetBinary& binary, const TargetRun& run,
                       const Data& data, size_t chunk,
                       const std::vector<v1::BlobRef>& states,
                       const v1::BlobRef* digests) {
  StageCall call = {
      .name = absl::StrCat("simulate[", chunk, "]"),
      .inputs = {binary.program, *binary.constants, binary.machine,
                 run.deployed->graph(), As("chunk", data.chunks[chunk])}};
  call.options.mutable_simulate()->set_compare_layers(true);
  call.inputs.insert(call.inputs.end(), data.labels.begin(), data.labels.end());
  if (digests != nullptr) call.inputs.push_back(*digests);
  call.inputs.insert(call.inputs.end(), states.begin(), states.end());
  call.work = absl::StrCat("simulate ", run.deployed->graph().digest().hash(),
                           " ", data.chunks[chunk].hash());
  return call;
}

class SampleStages {
 public:
  SampleStages(const v1::CreateJobRequest& request, const ModelStages& model,
               JobContext& context, TargetRun& run)
      : request_(request), model_(model), context_(context), run_(run) {}

  Task<absl::Status> Simulate(const TargetBinary& binary);
  Task<absl::Status> Interpret();

 private:
  // Whether what the chips are compared with is also what accuracy is.
  bool MeasuresDeployed() const {
    return Wants(request_, v1::VALIDATE) && model_.import().quantized() &&
           !run_.requantized;
  }
  Task<absl::Status> SimulateChunks(const TargetBinary& binary,
                                    const Data& data);
  Task<absl::Status> InterpretChunks(const Data& data);
  Task<absl::Status> PackOutputs(const std::vector<v1::Digest>& outputs);

  const v1::CreateJobRequest& request_;
  const ModelStages& model_;
  JobContext& context_;
  TargetRun& run_;
  v1::Metric metric_ = v1::METRIC_UNSPECIFIED;  // Of a validation.
  Computed simulated_;
  // Of the same graph, if MeasuresDeployed(), or of the model as it came.
  Computed interpreted_;
};

Task<absl::Status> SampleStages::PackOutputs(
    const std::vector<v1::Digest>& outputs) {
  v1::StageOptions options;
  *options.mutable_pack_outputs()->mutable_transforms() = request_.transforms();
  // The graph tells which integers stand for the model's own types.
  std::vector<v1::BlobRef> inputs = {run_.deployed->graph()};
  for (const v1::Digest& chunk : outputs) inputs.push_back(As("chunk", chunk));
  const auto packing = run_.stages.Start("pack_outputs", options, inputs);
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& packed,
                         co_await ResultOf(packing));
  EK_CO_ASSIGN_OR_RETURN(const v1::BlobRef npz, Only(packed, "npz"));
  run_.AddArtifact("outputs.npz", npz.digest());
  co_return absl::OkStatus();
}

Task<absl::Status> SampleStages::Interpret() {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(run_.deployed->data()));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret();
    std::vector<v1::BlobRef> inputs = {model_.imported(), As("chunk", chunk)};
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                             inputs);
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, interpreted_));
    context_.OnSamples(ProgressOf(interpreted_.totals, data.samples,
                                  run_.stages.target(), metric_));
    return absl::OkStatus();
  };
  EK_CO_RETURN_IF_ERROR(co_await ForEachChunk(data, start, collect));
  co_return co_await PackOutputs(interpreted_.outputs.chunks);
}

Task<absl::Status> SampleStages::SimulateChunks(const TargetBinary& binary,
                                                const Data& data) {
  const auto simulate = [&](size_t i, const std::vector<v1::BlobRef>& states,
                            const v1::BlobRef* digests) {
    return run_.stages.Start(
        SimulateCall(binary, run_, data, i, states, digests));
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, simulated_));
    context_.OnSamples(ProgressOf(simulated_.totals, data.samples,
                                  run_.stages.target(), metric_));
    return absl::OkStatus();
  };
  // For one chip alone, a stage that computes both has nothing to wait for.
  if (request_.targets_size() == 1 && !MeasuresDeployed()) {
    const auto start = [&](size_t i, const v1::Digest&,
                           const std::vector<v1::BlobRef>& states) {
      return simulate(i, states, nullptr);
    };
    co_return co_await ForEachChunk(data, start, collect);
  }
  // The same stage for every target.
  const auto interpret = [&](size_t i, const v1::Digest& chunk,
                             const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret()->set_digest_tensors(true);
    std::vector<v1::BlobRef> inputs = {run_.deployed->graph(),
                                       As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                             inputs);
  };
  const auto start = [&](size_t i, const v1::Digest&,
                         const std::vector<v1::BlobRef>& states,
                         const v1::StageResult& interpreted)
      -> absl::StatusOr<std::shared_ptr<PendingStage>> {
    EK_RETURN_IF_ERROR(AddChunk(interpreted, interpreted_));
    EK_ASSIGN_OR_RETURN(const v1::BlobRef digests,
                        Only(interpreted, "digests"));
    return simulate(i, states, &digests);
  };
  co_return co_await ForEachPreparedChunk(data, interpret, start, collect);
}

// Where nothing simulates the chip: its integers, as the reference computes
// them.
Task<absl::Status> SampleStages::InterpretChunks(const Data& data) {
  const auto start = [&](size_t i, const v1::Digest& chunk,
                         const std::vector<v1::BlobRef>& states) {
    v1::StageOptions options;
    options.mutable_interpret();
    std::vector<v1::BlobRef> inputs = {run_.deployed->graph(),
                                       As("chunk", chunk)};
    inputs.insert(inputs.end(), data.labels.begin(), data.labels.end());
    inputs.insert(inputs.end(), states.begin(), states.end());
    return run_.stages.Start(absl::StrCat("interpret[", i, "]"), options,
                             inputs);
  };
  const auto collect = [&](const v1::StageResult& result) -> absl::Status {
    EK_RETURN_IF_ERROR(AddChunk(result, simulated_));
    if (MeasuresDeployed()) EK_RETURN_IF_ERROR(AddChunk(result, interpreted_));
    context_.OnSamples(ProgressOf(simulated_.totals, data.samples,
                                  run_.stages.target(), metric_));
    return absl::OkStatus();
  };
  co_return co_await ForEachChunk(data, start, collect);
}

Task<absl::Status> SampleStages::Simulate(const TargetBinary& binary) {
  EK_CO_ASSIGN_OR_RETURN(const v1::StageResult& converted,
                         co_await ResultOf(run_.deployed->data()));
  EK_CO_ASSIGN_OR_RETURN(const Data data, DataOf(converted));
  // What is only profiled, or has no reference, has no metric.
  if (MeasuresDeployed() || model_.has_reference()) {
    EK_CO_ASSIGN_OR_RETURN(metric_,
                           ChooseMetric(request_.options(), data.summary));
  }
  if (binary.is_simulated) {
    EK_CO_RETURN_IF_ERROR(co_await SimulateChunks(binary, data));
    AddBitExact(simulated_.totals, run_.report);
    AddCycleRange(simulated_.totals, run_.report);
  } else {
    EK_CO_RETURN_IF_ERROR(co_await InterpretChunks(data));
  }
  if (Wants(request_, v1::RUN)) {
    EK_CO_RETURN_IF_ERROR(co_await PackOutputs(simulated_.outputs.chunks));
  }
  if (metric_ == v1::METRIC_UNSPECIFIED) co_return absl::OkStatus();
  if (!MeasuresDeployed()) {
    co_await model_.JoinReference();
    EK_CO_RETURN_IF_ERROR(model_.reference_status());
  }
  AccuracyStages stages(request_, model_, run_);
  co_return co_await stages.Run(
      metric_, data, simulated_,
      MeasuresDeployed() ? interpreted_ : model_.reference().computed);
}

}  // namespace

std::optional<StageCall> OnlySimulation(const TargetBinary& binary,
                                        const v1::CreateJobRequest& request,
                                        const TargetRun& run) {
  if (request.options().job_class() != v1::BATCH || !WantsSamples(request) ||
      NeedsOwnData(request) || request.targets_size() != 1 ||
      run.deployed->data() == nullptr) {
    return std::nullopt;
  }
  const auto* const converted = run.deployed->data()->Result();
  if (converted == nullptr || !converted->ok()) return std::nullopt;
  const absl::StatusOr<Data> data = DataOf(**converted);
  if (!data.ok() || data->chunks.size() != 1) return std::nullopt;
  return SimulateCall(binary, run, *data, 0, /*states=*/{},
                      /*digests=*/nullptr);
}

Task<absl::Status> RunSamples(const TargetBinary& binary,
                              const v1::CreateJobRequest& request,
                              const ModelStages& model, JobContext& context,
                              TargetRun& run) {
  SampleStages stages(request, model, context, run);
  co_return co_await stages.Simulate(binary);
}

Task<absl::Status> RunOnReference(const v1::CreateJobRequest& request,
                                  const ModelStages& model, JobContext& context,
                                  TargetRun& run) {
  SampleStages stages(request, model, context, run);
  co_return co_await stages.Interpret();
}

}  // namespace edgekiln::server
