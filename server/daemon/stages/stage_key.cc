#include "server/daemon/stages/stage_key.h"

#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "base/canonical_encoder.h"
#include "base/status_macros.h"
#include "proto/convert.h"
#include "server/stage_versions.h"

namespace edgekiln::server {
namespace {

// A double by its 64 bits: equal bits, equal key. -0 and 0 differ, which costs
// a recomputation and never a wrong result.
void AddDoubles(CanonicalEncoder& encoder,
                const google::protobuf::RepeatedField<double>& values) {
  encoder.BeginList(values.size());
  for (const double value : values) {
    encoder.Add(std::bit_cast<uint64_t>(value));
  }
}

void Add(
    CanonicalEncoder& encoder,
    const google::protobuf::RepeatedPtrField<v1::InputTransform>& transforms) {
  encoder.BeginList(transforms.size());
  for (const v1::InputTransform& transform : transforms) {
    encoder.Add(transform.input());
    AddDoubles(encoder, transform.scale());
    AddDoubles(encoder, transform.offset());
    encoder.Add(transform.order());
    encoder.Add(transform.layout());
  }
}

void Add(CanonicalEncoder& encoder,
         const google::protobuf::RepeatedPtrField<std::string>& names) {
  encoder.BeginList(names.size());
  for (const std::string& name : names) encoder.Add(name);
}

void Add(CanonicalEncoder& encoder, const v1::ImportOptions& options) {
  encoder.BeginList(options.dimensions_size());
  for (const v1::DimensionBinding& dimension : options.dimensions()) {
    encoder.Add(dimension.name());
    encoder.Add(dimension.extent());
  }
  Add(encoder, options.bound_inputs());
  Add(encoder, options.external_data());
}

void Add(CanonicalEncoder& encoder, const v1::ConvertDataOptions& options) {
  Add(encoder, options.transforms());
  encoder.Add(options.limit());
  encoder.Add(options.chunk_samples());
  encoder.Add(options.raw());
  encoder.Add(options.label_offset());
  if (options.real()) encoder.Add(true);
}

void Add(CanonicalEncoder& encoder, const v1::SynthesizeDataOptions& options) {
  encoder.Add(options.seed());
  encoder.Add(options.samples());
  encoder.Add(options.chunk_samples());
}

void Add(CanonicalEncoder& encoder, const v1::LayerScheme& scheme) {
  encoder.Add(scheme.weights());
  encoder.Add(scheme.per_tensor());
  encoder.Add(scheme.weight_range());
  encoder.Add(scheme.rounding());
  encoder.Add(scheme.keep_float());
  encoder.Add(scheme.channels_per_scale());
  encoder.Add(scheme.accumulator_bits());
}

void Add(CanonicalEncoder& encoder, const v1::QuantizationConfig& config) {
  encoder.Add(config.ranges().method());
  encoder.Add(config.ranges().percentile_ppm());
  Add(encoder, config.scheme());
  encoder.BeginList(config.layers_size());
  for (const auto& rule : config.layers()) {
    encoder.Add(rule.layer());
    Add(encoder, rule.scheme());
  }
  encoder.Add(config.equalization());
  encoder.Add(config.bias_correction());
  encoder.Add(config.symmetric_activations());
  encoder.Add(config.samples());
  encoder.Add(config.accuracy_budget_ppm());
  encoder.Add(config.activations());
  encoder.Add(config.requantize());
}

void Add(CanonicalEncoder& encoder, const v1::TileRecipe& recipe) {
  encoder.BeginList(recipe.engines_size());
  for (const v1::TileRecipe::Engine& engine : recipe.engines()) {
    encoder.Add(engine.engine());
    encoder.Add(engine.decisions().type_url());
    encoder.Add(engine.decisions().value());
  }
  // What came after results had been stored: the others keep their keys.
  if (!recipe.round_trips() && recipe.host_rooms().empty() &&
      !recipe.ports_stay()) {
    return;
  }
  encoder.Add(recipe.round_trips());
  encoder.BeginList(recipe.host_rooms_size());
  for (const v1::TileRecipe::HostRoom& room : recipe.host_rooms()) {
    encoder.Add(room.op());
    encoder.Add(room.bytes_expr());
    encoder.Add(room.code_bytes_expr());
  }
  encoder.Add(recipe.ports_stay());
}

void Add(CanonicalEncoder& encoder, const v1::PartitionRecipe& recipe) {
  const auto& separate = recipe.separate_requantization();
  encoder.BeginList(separate.size());
  for (const int32_t engine : separate) encoder.Add(engine);
  if (recipe.narrowest_weights()) encoder.Add(true);
}

// It is the only option of its stage, so leaving it out is unambiguous.
void AddUnlessDefault(CanonicalEncoder& encoder, v1::Offload offload) {
  if (offload != v1::OFFLOAD_UNSPECIFIED) encoder.Add(offload);
}

// What came after results had been stored: those of jobs that do not ask for it
// keep their keys. Only behind all that is always there.
void AddIfSet(CanonicalEncoder& encoder, bool value) {
  if (value) encoder.Add(value);
}

// A recipe that decides nothing adds nothing; the offload before another is
// always there.
void AddPlacing(CanonicalEncoder& encoder, v1::Offload offload,
                const v1::PartitionRecipe& recipe) {
  if (recipe.ByteSizeLong() == 0) {
    return AddUnlessDefault(encoder, offload);
  }
  encoder.Add(offload);
  Add(encoder, recipe);
}

void Add(CanonicalEncoder& encoder, const v1::Numerics::Converter& converter) {
  encoder.Add(converter.min());
  encoder.Add(converter.max());
  encoder.Add(converter.max_gain());
  encoder.Add(converter.max_shift());
}

// The same: targets without needs share a key, with or without engines. To be
// added last.
void AddUnlessEmpty(CanonicalEncoder& encoder,
                    const v1::QuantizationNeeds& needs) {
  if (needs.ByteSizeLong() == 0) return;
  Add(encoder, needs.per_tensor());
  encoder.Add(needs.symmetric_activations());
  encoder.Add(needs.power_of_two_scales());
  encoder.Add(needs.activations());
  encoder.Add(needs.rounding());
  encoder.Add(needs.equal_addends());
  encoder.BeginList(needs.ops_size());
  for (const v1::QuantizationNeeds::Op& op : needs.ops()) {
    encoder.Add(op.op());
    encoder.Add(op.weight_values());
    encoder.Add(op.has_converter());
    Add(encoder, op.converter());
    encoder.Add(op.accumulator_bits());
    encoder.BeginList(op.narrower_size());
    for (const v1::QuantizationNeeds::Op::Form& form : op.narrower()) {
      encoder.Add(form.weight_values());
      encoder.Add(form.has_converter());
      Add(encoder, form.converter());
      encoder.Add(form.accumulator_bits());
    }
  }
}

void Add(CanonicalEncoder& encoder, const v1::BundleOptions& options) {
  encoder.Add(options.target_name());
  encoder.Add(options.recipe_name());
  const v1::NetworkOrigin& network = options.network();
  encoder.Add(network.model_name());
  encoder.Add(network.model().hash());
  encoder.Add(network.model().size_bytes());
  encoder.Add(network.io());
  encoder.Add(network.ranges());
  encoder.Add(network.has_quantized_for());
  Add(encoder, network.quantization());
  AddUnlessEmpty(encoder, network.quantized_for());
}

// Exactly the fields the stage is handed. Stages without fields add nothing.
absl::Status AddOptions(CanonicalEncoder& encoder,
                        const v1::StageOptions& options) {
  switch (options.options_case()) {
    case v1::StageOptions::kImport:
      Add(encoder, options.import());
      return absl::OkStatus();
    case v1::StageOptions::kSimplify:
    case v1::StageOptions::kResolveTarget:
    case v1::StageOptions::kEmit:
    case v1::StageOptions::kOpenDocument:
    case v1::StageOptions::kCalibrate:
    case v1::StageOptions::kExportOnnx:
      return absl::OkStatus();
    case v1::StageOptions::kQuantize:
      Add(encoder, options.quantize().config());
      encoder.Add(options.quantize().rank());
      AddUnlessEmpty(encoder, options.quantize().needs());
      return absl::OkStatus();
    case v1::StageOptions::kChoose:
      Add(encoder, options.choose().config());
      encoder.Add(options.choose().offload());
      Add(encoder, options.choose().recipe());
      AddUnlessEmpty(encoder, options.choose().needs());
      return absl::OkStatus();
    case v1::StageOptions::kUnquantize:
      encoder.Add(options.unquantize().requantize());
      return absl::OkStatus();
    case v1::StageOptions::kEmitC:
      encoder.Add(options.emit_c().recipe().kernels());
      return absl::OkStatus();
    case v1::StageOptions::kBuildFirmware:
      // Its files, not what it calls itself.
      encoder.Add(options.build_firmware().compiler().family());
      encoder.Add(options.build_firmware().compiler().digest());
      AddIfSet(encoder, options.build_firmware().debug_info());
      return absl::OkStatus();
    case v1::StageOptions::kPartition:
      AddPlacing(encoder, options.partition().offload(),
                 options.partition().recipe());
      return absl::OkStatus();
    case v1::StageOptions::kPlace:
      AddPlacing(encoder, options.place().offload(), options.place().recipe());
      return absl::OkStatus();
    case v1::StageOptions::kCheckFit:
      AddUnlessDefault(encoder, options.check_fit().offload());
      return absl::OkStatus();
    case v1::StageOptions::kInterpret:
      encoder.Add(options.interpret().digest_tensors());
      return absl::OkStatus();
    case v1::StageOptions::kCountCycles:
      encoder.Add(options.count_cycles().timing_only());
      encoder.Add(options.count_cycles().timeline());
      AddIfSet(encoder, options.count_cycles().hot_spots());
      return absl::OkStatus();
    case v1::StageOptions::kDescribe:
      encoder.Add(options.describe().format());
      return absl::OkStatus();
    case v1::StageOptions::kConvertData:
      Add(encoder, options.convert_data());
      return absl::OkStatus();
    case v1::StageOptions::kSynthesizeData:
      Add(encoder, options.synthesize_data());
      return absl::OkStatus();
    case v1::StageOptions::kTile:
      Add(encoder, options.tile().recipe());
      return absl::OkStatus();
    case v1::StageOptions::kBundle:
      Add(encoder, options.bundle());
      return absl::OkStatus();
    case v1::StageOptions::kSimulate:
      encoder.Add(options.simulate().compare_layers());
      return absl::OkStatus();
    case v1::StageOptions::kPackOutputs:
      Add(encoder, options.pack_outputs().transforms());
      return absl::OkStatus();
    case v1::StageOptions::kSetIo:
      encoder.Add(options.set_io().io());
      if (!options.set_io().name().empty()) {
        encoder.Add(options.set_io().name());
      }
      return absl::OkStatus();
    case v1::StageOptions::kPlanSweep:
      encoder.Add(options.plan_sweep().max_cells());
      return absl::OkStatus();
    case v1::StageOptions::kScore:
      encoder.Add(options.score().measure());
      encoder.Add(options.score().first_only());
      return absl::OkStatus();
    case v1::StageOptions::OPTIONS_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a stage without options");
}

}  // namespace

absl::StatusOr<std::string> StageKey(absl::string_view stage_version,
                                     const v1::StageOptions& options,
                                     const std::vector<v1::BlobRef>& inputs) {
  const absl::string_view name = StageName(options.options_case());
  // Results of all versions would share a name.
  if (stage_version.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("stage ", name, " has no version"));
  }
  CanonicalEncoder encoder(absl::StrCat("edgekiln.stage.", name));
  encoder.Add(stage_version);
  EK_RETURN_IF_ERROR(AddOptions(encoder, options));
  encoder.BeginList(static_cast<int64_t>(inputs.size()));
  for (const v1::BlobRef& input : inputs) {
    EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(input.digest()),
                        absl::StrCat("input ", input.role(), " of ", name));
    encoder.Add(input.role());
    encoder.Add(digest);
  }
  return encoder.digest().hash;
}

}  // namespace edgekiln::server
