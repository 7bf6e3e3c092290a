#include "server/worker/stage_table.h"

#include "server/worker/stages/stages.h"

namespace edgekiln::server {

absl::StatusOr<StageOutput> RunStage(const v1::StageOptions& options,
                                     const StageInputs& inputs,
                                     const ProgressSink& progress) {
  using Options = v1::StageOptions;
  switch (options.options_case()) {
    case Options::kImport:
      return RunImport(options.import(), inputs);
    case Options::kSimplify:
      return RunSimplify(options.simplify(), inputs);
    case Options::kDescribe:
      return RunDescribe(options.describe(), inputs);
    case Options::kResolveTarget:
      return RunResolveTarget(options.resolve_target(), inputs);
    case Options::kConvertData:
      return RunConvertData(options.convert_data(), inputs);
    case Options::kSynthesizeData:
      return RunSynthesizeData(options.synthesize_data(), inputs);
    case Options::kCalibrate:
      return RunCalibrate(options.calibrate(), inputs, progress);
    case Options::kQuantize:
      return RunQuantize(options.quantize(), inputs, progress);
    case Options::kPartition:
      return RunPartition(options.partition(), inputs);
    case Options::kPlace:
      return RunPlace(options.place(), inputs);
    case Options::kTile:
      return RunTile(options.tile(), inputs);
    case Options::kEmit:
      return RunEmit(options.emit(), inputs);
    case Options::kBundle:
      return RunBundle(options.bundle(), inputs);
    case Options::kCountCycles:
      return RunCountCycles(options.count_cycles(), inputs);
    case Options::kSimulate:
      return RunSimulate(options.simulate(), inputs, progress);
    case Options::kInterpret:
      return RunInterpret(options.interpret(), inputs, progress);
    case Options::kPackOutputs:
      return RunPackOutputs(options.pack_outputs(), inputs);
    case Options::kSetIo:
      return RunSetIo(options.set_io(), inputs);
    case Options::kCheckFit:
      return RunCheckFit(options.check_fit(), inputs);
    case Options::kPlanSweep:
      return RunPlanSweep(options.plan_sweep(), inputs);
    case Options::kOpenDocument:
      return RunOpenDocument(options.open_document(), inputs);
    case Options::kScore:
      return RunScore(options.score(), inputs);
    case Options::kExportOnnx:
      return RunExportOnnx(options.export_onnx(), inputs);
    case Options::kChoose:
      return RunChoose(options.choose(), inputs, progress);
    case Options::kEmitC:
      return RunEmitC(options.emit_c(), inputs);
    case Options::kBuildFirmware:
      return RunBuildFirmware(options.build_firmware(), inputs);
    case Options::kUnquantize:
      return RunUnquantize(options.unquantize(), inputs);
    case Options::OPTIONS_NOT_SET:
      break;
  }
  // Workers and daemon are of one build, so this is no newer stage.
  return absl::InternalError("lease without stage options");
}

}  // namespace edgekiln::server
