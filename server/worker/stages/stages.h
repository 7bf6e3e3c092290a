#ifndef EK_SERVER_WORKER_STAGES_STAGES_H_
#define EK_SERVER_WORKER_STAGES_STAGES_H_

// One function per stage, each in a file and library of its own, so that its
// version (cmake/StageVersions.cmake) covers what it links and no more. Roles
// of inputs and outputs are documented at the options in stage.proto. Pure, but
// that RunBuildFirmware() runs a compiler, whose digest is among its options;
// thread-safe.

#include "absl/status/statusor.h"
#include "edgekiln/v1/stage.pb.h"
#include "server/worker/stage_io.h"

namespace edgekiln::server {
absl::StatusOr<StageOutput> RunImport(const v1::ImportOptions& options,
                                      const StageInputs& inputs);
absl::StatusOr<StageOutput> RunSimplify(const v1::SimplifyOptions& options,
                                        const StageInputs& inputs);
absl::StatusOr<StageOutput> RunUnquantize(const v1::UnquantizeOptions& options,
                                          const StageInputs& inputs);
absl::StatusOr<StageOutput> RunCalibrate(
    const v1::CollectStatisticsOptions& options, const StageInputs& inputs,
    const ProgressSink& progress);
absl::StatusOr<StageOutput> RunChoose(const v1::ChooseOptions& options,
                                      const StageInputs& inputs,
                                      const ProgressSink& progress);
absl::StatusOr<StageOutput> RunQuantize(const v1::QuantizeOptions& options,
                                        const StageInputs& inputs,
                                        const ProgressSink& progress);
absl::StatusOr<StageOutput> RunDescribe(const v1::DescribeOptions& options,
                                        const StageInputs& inputs);
absl::StatusOr<StageOutput> RunConvertData(
    const v1::ConvertDataOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunSynthesizeData(
    const v1::SynthesizeDataOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunPackOutputs(
    const v1::PackOutputsOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunResolveTarget(
    const v1::ResolveTargetOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunPlanSweep(const v1::PlanSweepOptions& options,
                                         const StageInputs& inputs);
absl::StatusOr<StageOutput> RunExportOnnx(const v1::ExportOnnxOptions& options,
                                          const StageInputs& inputs);
absl::StatusOr<StageOutput> RunSetIo(const v1::SetIoOptions& options,
                                     const StageInputs& inputs);
absl::StatusOr<StageOutput> RunOpenDocument(
    const v1::OpenDocumentOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunCheckFit(const v1::CheckFitOptions& options,
                                        const StageInputs& inputs);
absl::StatusOr<StageOutput> RunPartition(const v1::PartitionOptions& options,
                                         const StageInputs& inputs);
absl::StatusOr<StageOutput> RunPlace(const v1::PlaceOptions& options,
                                     const StageInputs& inputs);
absl::StatusOr<StageOutput> RunTile(const v1::TileOptions& options,
                                    const StageInputs& inputs);
absl::StatusOr<StageOutput> RunEmit(const v1::EmitOptions& options,
                                    const StageInputs& inputs);
absl::StatusOr<StageOutput> RunEmitC(const v1::EmitCOptions& options,
                                     const StageInputs& inputs);
absl::StatusOr<StageOutput> RunBuildFirmware(
    const v1::BuildFirmwareOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunBundle(const v1::BundleOptions& options,
                                      const StageInputs& inputs);
absl::StatusOr<StageOutput> RunCountCycles(
    const v1::CountCyclesOptions& options, const StageInputs& inputs);
absl::StatusOr<StageOutput> RunSimulate(const v1::SimulateOptions& options,
                                        const StageInputs& inputs,
                                        const ProgressSink& progress);
absl::StatusOr<StageOutput> RunInterpret(const v1::InterpretOptions& options,
                                         const StageInputs& inputs,
                                         const ProgressSink& progress);
absl::StatusOr<StageOutput> RunScore(const v1::ScoreOptions& options,
                                     const StageInputs& inputs);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_STAGES_H_
