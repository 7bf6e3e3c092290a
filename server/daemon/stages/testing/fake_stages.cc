#include "server/daemon/stages/testing/fake_stages.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "edgekiln/v1/sweep.pb.h"
#include "proto/convert.h"
#include "server/kept_integers.h"
#include "server/stage_chain.h"
#include "server/stage_versions.h"

namespace edgekiln::server {
namespace {

constexpr int64_t kCyclesPerLayer = 100;

// One stage being executed.
class FakeStage {
 public:
  FakeStage(const v1::StageOptions& options, cache::BlobStore& blobs)
      : options_(options), blobs_(blobs) {}

  absl::StatusOr<v1::StageResult> Run(const std::vector<v1::BlobRef>& inputs) {
    for (const v1::BlobRef& input : inputs) {
      EK_ASSIGN_OR_RETURN(const Digest digest, FromProto(input.digest()));
      EK_ASSIGN_OR_RETURN(const std::string bytes, blobs_.Get(digest));
      inputs_.emplace_back(input.role(), bytes);
      absl::StrAppend(&all_, input.role(), "<", bytes, ">");
    }
    Compute();
    return result_;
  }

 private:
  std::string Input(absl::string_view role) const {
    for (const auto& [name, bytes] : inputs_) {
      if (name == role) return bytes;
    }
    return "";
  }

  void Output(absl::string_view role, absl::string_view bytes) {
    v1::BlobRef& output = *result_.add_outputs();
    output.set_role(std::string(role));
    *output.mutable_digest() = PutText(blobs_, std::string(bytes));
  }

  void UserError(absl::string_view what, std::string reason = "FAKE_ERROR",
                 std::string need = "") {
    *result_.mutable_error() = ErrorToProto(MakeError(
        absl::StatusCode::kInvalidArgument, {.fault = Fault::kUser,
                                             .reason = std::move(reason),
                                             .what = std::string(what),
                                             .need = std::move(need)}));
  }

  static int64_t Number(absl::string_view text, absl::string_view key) {
    for (const absl::string_view part : absl::StrSplit(text, ' ')) {
      const std::pair<std::string, std::string> pair =
          absl::StrSplit(part, absl::MaxSplits('=', 1));
      int64_t value = 0;
      if (pair.first == key && absl::SimpleAtoi(pair.second, &value)) {
        return value;
      }
    }
    return 0;
  }

  void Chunks(int64_t samples, int64_t labelled, int chunk_samples) {
    for (int64_t first = 0; first < samples; first += chunk_samples) {
      const int64_t count = std::min<int64_t>(chunk_samples, samples - first);
      Output("chunk",
             absl::StrCat("chunk samples=", count,
                          " labelled=", labelled > first ? count : 0,
                          " first=", first, " classes=", Classes(),
                          " real=", options_.convert_data().real() ? 1 : 0,
                          " sequential=", Number(Input("data"), "sequential")));
      result_.mutable_summary()->mutable_data()->add_chunk_samples(count);
    }
    if (labelled > 0) Output("labels", "labels");
    result_.mutable_summary()->mutable_data()->set_samples(samples);
    result_.mutable_summary()->mutable_data()->set_labelled(labelled);
    result_.mutable_summary()->mutable_data()->set_sequential(
        Number(Input("data"), "sequential") == 1);
    v1::StageSummary::Data& data = *result_.mutable_summary()->mutable_data();
    data.set_classes(Classes());
    data.set_reconstructs(Number(Input("data"), "reconstructs") == 1);
    if (labelled > 0) data.set_largest_label(1);
  }

  // "classes=12" in the data; of an auto-encoder 0.
  int64_t Classes() const {
    if (Number(Input("data"), "reconstructs") == 1) return 0;
    const int64_t classes = Number(Input("data"), "classes");
    return classes == 0 ? 3 : classes;
  }

  // Scores are the samples' numbers; labels are 0 and 1 by turns.
  void Score() {
    const std::string outputs = Input("outputs");
    v1::StageSummary::Samples& samples =
        *result_.mutable_summary()->mutable_samples();
    samples.set_samples(Number(outputs, "samples"));
    int64_t covered = 0;
    for (const auto& [role, bytes] : inputs_) {
      if (role != "reference") continue;
      covered += Number(bytes, "samples");
      if (options_.score().first_only() != (Number(bytes, "real") == 1)) {
        UserError("compared with what it should not be");
      }
    }
    if (covered < samples.samples()) UserError("not all is covered");
    for (int64_t i = 0; i < samples.samples(); ++i) {
      const int64_t sample = Number(outputs, "first") + i;
      samples.add_score(static_cast<double>(sample));
      if (!Input("labels").empty()) {
        samples.add_label(static_cast<int32_t>(sample % 2));
      }
    }
  }

  void Samples(int64_t wrong) {
    const std::string chunk = Input("chunk");
    v1::StageSummary::Samples& samples =
        *result_.mutable_summary()->mutable_samples();
    samples.set_samples(Number(chunk, "samples"));
    samples.set_labelled(Number(chunk, "labelled"));
    samples.set_correct(std::max<int64_t>(0, samples.labelled() - wrong));
    samples.set_outputs_compared(10 * samples.samples());
    samples.set_classes(Number(chunk, "classes"));
    if (Input("constants") == "ELF") {
      samples.set_cycles_min(100 + Number(chunk, "first"));
      samples.set_cycles_max(200 + Number(chunk, "first"));
    }
    // Every label is 1; what is wrong is taken for 0.
    for (int64_t i = 0; samples.classes() > 0 && i < samples.samples(); ++i) {
      samples.add_predicted(i < wrong ? 0 : 1);
      if (options_.has_interpret() && samples.labelled() > 0) {
        samples.add_label(1);
      }
    }
    Output("chunk", absl::StrCat("outputs of ", chunk));
    const bool sequential = Number(chunk, "sequential") == 1;
    const int64_t first = Number(chunk, "first");
    const auto states = [&](int64_t sample) {
      return absl::StrCat("states for ", StageName(options_.options_case()),
                          " of ", sample);
    };
    if (Input("states") != (sequential && first > 0 ? states(first) : "")) {
      UserError("another chunk's states");
    }
    if (sequential) Output("states", states(first + samples.samples()));
  }

  void ResolveTarget() {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(Input("target"), absl::MaxSplits(';', 1));
    if (parts.second.empty()) return UserError("not a target");
    Output("capabilities", parts.first);
    Output("machine", parts.second);
    v1::StageSummary::Target& target =
        *result_.mutable_summary()->mutable_target();
    target.set_name("fake");
    target.mutable_machine()->set_clock_hz(1'000'000);
    target.mutable_machine()->add_engine_names("array");
    target.mutable_machine()->add_engine_macs_per_cycle(64);
    target.mutable_machine()->set_host_name("host");
    if (absl::StrContains(parts.first, "per tensor")) {
      target.mutable_quantization_needs()->add_per_tensor("conv2d");
    }
    if (absl::StrContains(parts.first, "ternary too")) {
      v1::QuantizationNeeds::Op& need =
          *target.mutable_quantization_needs()->add_ops();
      need.set_op("conv2d");
      need.add_narrower()->set_weight_values(v1::WEIGHTS_TERNARY);
    }
    if (absl::StrContains(parts.second, "runs C")) {
      target.clear_machine();
      target.mutable_machine()->set_host_name("core");
      target.set_processor(absl::StrContains(parts.second, "nobody simulates")
                               ? v1::CORTEX_M4
                               : v1::RV32IMC);
    }
    target.add_recipes()->set_name("default");
    if (absl::StrContains(parts.second, "plain")) return;
    v1::ResolvedRecipe& other = *target.add_recipes();
    other.set_name("serial");
    other.mutable_tile()->add_engines()->mutable_decisions()->set_value("s");
    target.add_recipes()->set_name("twin");  // Decides as "default" does.
  }

  void Emit() {
    Output("program", absl::StrCat("program ", all_));
    Output("constants", "constants");
    v1::StageSummary::Emit& emit = *result_.mutable_summary()->mutable_emit();
    v1::Program::Layer& layer = *emit.add_layers();
    layer.set_id("conv1");
    layer.set_macs(3200);
    emit.add_layers()->set_engine(-1);
    emit.set_flash_bytes(7);
    emit.set_io_conversion_cycles(30);
  }

  void EmitC() {
    Output("program",
           absl::StrCat("C program ", all_,
                        options_.emit_c().recipe().ShortDebugString()));
    Output("c_sources", "int main() {}");
    v1::StageSummary::Emit& emit = *result_.mutable_summary()->mutable_emit();
    emit.add_layers()->set_predicted_cycles(11);
    emit.add_layers()->set_predicted_cycles(12);
    if (options_.has_emit_c()) emit.set_io_conversion_cycles(30);
    for (v1::Program::Layer& layer : *emit.mutable_layers()) {
      layer.set_engine(-1);
    }
    emit.set_flash_bytes(7);
  }

  // A machine of "medium flash" takes kernels that were chosen after a refused
  // program, one of "small flash" those of recipe size, one of "tiny flash"
  // none.
  void BuildFirmware() {
    const std::string machine = Input("machine");
    const std::string program = Input("program");
    const bool small = absl::StrContains(program, "SMALL");
    const bool again = program.find("C program", 1) != std::string::npos;
    if (absl::StrContains(machine, "tiny flash") ||
        (absl::StrContains(machine, "medium flash") && !again) ||
        (absl::StrContains(machine, "small flash") && !small)) {
      return UserError("too large", "FIRMWARE_DOES_NOT_FIT",
                       small ? "500 bytes" : "900 bytes");
    }
    EmitC();
    result_.clear_outputs();
    const bool lines = options_.build_firmware().debug_info();
    Output("program",
           absl::StrCat(lines ? "with lines " : "built ", Input("program")));
    Output("constants", "ELF");
    v1::StageSummary::Emit& emit = *result_.mutable_summary()->mutable_emit();
    emit.set_flash_bytes(9);
    emit.mutable_sections()->set_text_bytes(5);
  }

  // A document is text, "per tensor" or "integers".
  void OpenDocument() {
    v1::NetworkOrigin& network = *result_.mutable_summary()->mutable_network();
    network.set_model_name("original");
    *network.mutable_model() = ToProto(DigestOf("original"));
    network.set_io(v1::IO_INTEGER);
    if (absl::StrContains(all_, "per tensor")) {
      network.mutable_quantized_for()->add_per_tensor("conv2d");
      network.set_ranges(v1::NetworkOrigin::DATA);
    }
    Output("graph", absl::StrCat("opened ", all_));
    Output("outline", absl::StrCat("outline ", all_));
  }

  // The first layer becomes ternary.
  void Choose() {
    v1::StageSummary::Choose_& choose =
        *result_.mutable_summary()->mutable_choose();
    *choose.mutable_config() = options_.choose().config();
    v1::QuantizationConfig::LayerRule& rule =
        *choose.mutable_config()->add_layers();
    rule.set_layer("conv1");
    rule.mutable_scheme()->set_weights(v1::LayerScheme::TERNARY);
    v1::SchemeChoice::Layer& layer = *choose.mutable_choice()->add_layers();
    layer.set_id("conv1");
    layer.add_options()->set_weights(v1::LayerScheme::INT8);
    layer.add_options()->set_weights(v1::LayerScheme::TERNARY);
    layer.set_chosen(1);
    choose.mutable_choice()->set_samples(10);
  }

  void PlanSweep() {
    v1::SweepRequest request;
    request.ParseFromString(Input("sweep"));
    v1::SweepPlan plan;
    const v1::SweepGroup& group = request.groups(0);
    for (int model = 0; model < group.models_size(); ++model) {
      for (int target = 0; target < group.targets_size(); ++target) {
        for (const std::string& recipe : group.recipes()) {
          v1::SweepPlan::Cell& cell = *plan.add_cells();
          cell.set_model(model);
          cell.set_target(target);
          cell.set_variant(target);
          cell.set_recipe(recipe);
          for (int i = 0; i < group.vary_size(); ++i) cell.add_values(0);
          const bool refused =
              absl::StrContains(group.targets(target).name(), "refused");
          cell.set_state(refused ? v1::SweepPlan::REFUSED
                                 : v1::SweepPlan::VALID);
          if (refused) cell.mutable_error()->set_reason("FAKE_ERROR");
        }
      }
    }
    for (const v1::SweepTarget& target : group.targets()) {
      plan.add_targets(target.name());
      plan.add_texts(target.name());
      v1::SweepPlan::Variant& variant = *plan.add_variants();
      variant.set_name(target.name());
      variant.set_text(plan.texts_size() - 1);
    }
    v1::SweepGroup quantized;
    quantized.ParseFromString(Input("quantized"));
    for (const v1::SweepModel& model : quantized.models()) {
      plan.add_warnings(absl::StrCat(model.name(), " came quantized"));
    }
    v1::SweepPlan kept;
    kept.ParseFromString(Input("kept"));
    for (const v1::SweepPlan::Cell& cell : kept.cells()) {
      plan.add_warnings(absl::StrCat(group.models(cell.model()).name(),
                                     " stays on ",
                                     kept.variants(cell.variant()).name()));
    }
    Output("plan", plan.SerializeAsString());
  }

  void Compute() {
    const absl::string_view stage = StageName(options_.options_case());
    switch (options_.options_case()) {
      case v1::StageOptions::kImport: {
        if (absl::StartsWith(all_, "model<bad")) return UserError("bad model");
        v1::StageSummary::Import& import =
            *result_.mutable_summary()->mutable_import();
        import.set_format("fake");
        import.set_quantized(absl::StartsWith(all_, "model<int8"));
        if (absl::StrContains(all_, "warns")) {
          result_.add_warnings("N is taken for 1");
        }
        return Output("graph", absl::StrCat("imported ", all_));
      }
      case v1::StageOptions::kDescribe:
        result_.mutable_summary()->mutable_description()->add_layers()->set_id(
            Input("capabilities").empty() ? "conv1" : "conv1 placed");
        return;
      case v1::StageOptions::kResolveTarget:
        return ResolveTarget();
      case v1::StageOptions::kConvertData:
        if (absl::StrContains(Input("data"), "warns")) {
          result_.add_warnings("pixels are dark");
        }
        if (Input("data").empty()) {
          if (!absl::StrContains(all_, "no inputs"))
            return UserError("no data");
          return Chunks(1, 0, 16);
        }
        return Chunks(Number(Input("data"), "samples"),
                      Number(Input("data"), "labelled"),
                      options_.convert_data().chunk_samples());
      case v1::StageOptions::kSynthesizeData:
        return Chunks(options_.synthesize_data().samples() == 0
                          ? 16
                          : options_.synthesize_data().samples(),
                      0, options_.synthesize_data().chunk_samples());
      case v1::StageOptions::kCheckFit:
        if (absl::StrContains(Input("machine"), "dwarf for integers")
                ? !absl::StartsWith(Input("outline"), "unquantized")
                : absl::StrContains(Input("machine"), "dwarf")) {
          return UserError("cannot fit");
        }
        if (absl::StrContains(Input("machine"), "unchecked")) {
          UserError("we cannot tell");
          result_.mutable_error()->set_fault(v1::ErrorDetail::INFRA);
        }
        return;
      case v1::StageOptions::kTile:
        if (absl::StrContains(Input("machine"), "tiny")) {
          return UserError("does not fit");
        }
        if (absl::StrContains(Input("machine"), "warns")) {
          result_.add_warnings("tiles are thin");
        }
        return Output("tiling",
                      absl::StrCat("tiling ", all_,
                                   options_.tile().recipe().DebugString()));
      case v1::StageOptions::kEmit:
        return Emit();
      case v1::StageOptions::kEmitC:
        return EmitC();
      case v1::StageOptions::kBuildFirmware:
        return BuildFirmware();
      case v1::StageOptions::kBundle:
        return Output(
            "manifest.json",
            absl::StrCat("bundle ", all_, options_.bundle().recipe_name(),
                         options_.bundle().network().ShortDebugString()));
      case v1::StageOptions::kCountCycles: {
        // Who asks for cycles alone need not bring the constants.
        const bool runs_firmware = Input("constants") == "ELF";
        if (!runs_firmware && options_.count_cycles().timing_only() !=
                                  Input("constants").empty()) {
          return UserError("constants for nothing, or none");
        }
        v1::SimReport& report =
            *result_.mutable_summary()->mutable_sim_report();
        for (int i = 0; i < 2; ++i) {
          report.add_layers()->set_cycles(kCyclesPerLayer);
        }
        report.set_cycles(2 * kCyclesPerLayer);
        if (runs_firmware) {
          report.set_instructions(Input("chunk").empty() ? 1 : 2);
          report.set_setup_instructions(3);
        }
        if (options_.count_cycles().hot_spots()) {
          if (Input("c_sources").empty() ||
              !absl::StrContains(Input("program"), "with lines")) {
            return UserError("hot spots without sources, or without lines");
          }
          report.mutable_hot_spots()->set_instructions(2);
        }
        if (options_.count_cycles().timeline()) {
          Output("timeline", absl::StrCat("timeline ", all_));
        }
        return;
      }
      case v1::StageOptions::kSimulate:
        if (absl::StrContains(Input("machine"), "warns")) {
          result_.add_warnings("not all was compared");
        }
        if (absl::StrContains(Input("machine"), "stalls")) {
          return UserError("stalled");
        }
        return Samples(/*wrong=*/1);
      case v1::StageOptions::kInterpret:
        if (options_.interpret().digest_tensors()) {
          Output("digests", absl::StrCat("digests ", all_));
        }
        return Samples(/*wrong=*/0);
      case v1::StageOptions::kScore:
        return Score();
      case v1::StageOptions::kOpenDocument:
        return OpenDocument();
      case v1::StageOptions::kPlanSweep:
        return PlanSweep();
      case v1::StageOptions::kExportOnnx:
        return Output("model", absl::StrCat("onnx ", all_));
      case v1::StageOptions::kPackOutputs:
        return Output("npz", absl::StrCat("npz ", all_));
      case v1::StageOptions::kSimplify:
        Output("outline", absl::StrCat("outline ", all_));
        if (absl::StrContains(all_, "model<half")) {
          Output("float32_graph", absl::StrCat("float32 ", all_));
        }
        return Output("graph", absl::StrCat(stage, " ", all_));
      case v1::StageOptions::kCalibrate:
        return Output("statistics", "statistics");
      case v1::StageOptions::kChoose:
        return Choose();
      case v1::StageOptions::kQuantize:
        if (absl::StrContains(all_, "unquantizable") &&
            options_.quantize().needs().per_tensor_size() > 0) {
          return UserError("no such form");
        }
        if (absl::StrContains(Input("source"), "rounds to even") &&
            options_.quantize().config().ByteSizeLong() == 0) {
          result_.mutable_summary()->mutable_quantization()->add_notes(
              kIntegersKept);
        }
        if (!Input("source").empty()) {
          result_.mutable_summary()->mutable_quantization()->add_notes(
              absl::StrCat(Input("trial").empty() ? "data" : "trial",
                           " says 20 dB"));
        }
        if (options_.quantize().rank()) {
          v1::QuantizationReport& report =
              *result_.mutable_summary()->mutable_quantization();
          report.add_layers()->set_id("conv1");
          report.set_output_sqnr_db(30);
        }
        return Output(
            "graph",
            absl::StrCat(stage, " ", all_,
                         options_.quantize().needs().ShortDebugString(),
                         options_.quantize().config().ShortDebugString()));
      case v1::StageOptions::kUnquantize: {
        const std::string capabilities = Input("capabilities");
        const bool anew = absl::StrContains(capabilities, "shifts");
        if (!anew && options_.unquantize().requantize() != v1::ON) return;
        result_.mutable_summary()->mutable_unquantize()->set_reason(
            "array needs zero points 0");
        Output("graph", absl::StrCat("unquantized ", Input("graph")));
        Output("outline", absl::StrCat("unquantized outline ", all_));
        if (absl::StrContains(all_, "float islands")) return;
        return Output("statistics", "ranges of integers");
      }
      case v1::StageOptions::kPartition:
        result_.mutable_summary()->mutable_partition()->set_engines_to_choose(
            absl::StrContains(Input("capabilities"), "two engines"));
        return Output("partition", absl::StrCat("partition ", all_));
      case v1::StageOptions::kPlace:
        return Output("partition", absl::StrCat("placed ", all_));
      default:
        return Output("graph", absl::StrCat(stage, " ", all_));
    }
  }

  const v1::StageOptions& options_;
  cache::BlobStore& blobs_;
  std::vector<std::pair<std::string, std::string>> inputs_;
  std::string all_;
  v1::StageResult result_;
};

}  // namespace

absl::StatusOr<v1::StageResult> RunFakeStage(
    const v1::StageOptions& options, const std::vector<v1::BlobRef>& inputs,
    cache::BlobStore& blobs) {
  return FakeStage(options, blobs).Run(inputs);
}

v1::Digest PutText(cache::BlobStore& blobs, const std::string& text) {
  const Digest digest = DigestOf(text);
  blobs.Put(digest, text).IgnoreError();
  return ToProto(digest);
}

std::optional<v1::Compiler> FakeLeases::FindCompiler(
    v1::CompilerFamily family, const std::string& program) {
  MutexLock lock(mutex_);
  if (hides_compilers_) return std::nullopt;
  v1::Compiler compiler;
  compiler.set_family(family);
  compiler.set_program(program);
  compiler.set_version("12");
  compiler.set_digest("d1");
  return compiler;
}

void FakeLeases::HideCompilers() {
  MutexLock lock(mutex_);
  hides_compilers_ = true;
}

uint64_t FakeLeases::Submit(LeaseRequest request, LeaseCallbacks callbacks) {
  uint64_t id = 0;
  bool blocked = false;
  bool leased = true;
  {
    MutexLock lock(mutex_);
    id = next_id_++;
    executed_.push_back(request.stage);
    for (const v1::BlobRef& input : request.inputs) {
      if (input.role() != "graph") continue;
      const absl::StatusOr<Digest> digest = FromProto(input.digest());
      const absl::StatusOr<std::string> bytes =
          digest.ok() ? blobs_.Get(*digest) : digest.status();
      if (bytes.ok()) graphs_read_.emplace(request.stage, *bytes);
    }
    blocked = !blocked_stage_.empty() && request.stage == blocked_stage_ &&
              (blocked_input_.empty() || HasInput(request, blocked_input_));
    if (blocked) leased = blocked_leased_;
  }
  if (leased && callbacks.leased) callbacks.leased();
  if (blocked) {
    MutexLock lock(mutex_);
    blocked_[id] = std::move(callbacks);
    return id;
  }
  absl::StatusOr<v1::StageResult> result =
      RunFakeStage(request.options, request.inputs, blobs_);
  if (!result.ok()) {
    callbacks.done(result.status());
    return id;
  }
  LeaseOutcome outcome;
  outcome.result = *std::move(result);
  {
    MutexLock lock(mutex_);
    outcome.cpu_seconds = cpu_seconds_;
  }
  if (!outcome.result.has_error()) ExecuteNext(request.next, outcome);
  callbacks.done(std::move(outcome));
  return id;
}

void FakeLeases::ExecuteNext(const std::vector<LeaseRequest::Next>& next,
                             LeaseOutcome& outcome) {
  outcome.next.reserve(next.size());
  std::vector<const v1::StageResult*> before = {&outcome.result};
  for (const LeaseRequest::Next& stage : next) {
    if (stage.goes_along && !stage.goes_along()) return;
    const auto inputs = ChainedInputs(stage.inputs, before);
    {
      MutexLock lock(mutex_);
      if (!inputs.ok() || stage.stage == blocked_stage_) return;
      executed_.push_back(stage.stage);
      chained_.push_back(stage.stage);
    }
    absl::StatusOr<v1::StageResult> result =
        RunFakeStage(stage.options, *inputs, blobs_);
    if (!result.ok()) return;
    LeaseOutcome& made = outcome.next.emplace_back();
    made.result = *std::move(result);
    made.cpu_seconds = outcome.cpu_seconds;
    if (made.result.has_error()) return;
    before.push_back(&made.result);
  }
}

int FakeLeases::Leases() {
  MutexLock lock(mutex_);
  return static_cast<int>(next_id_) - 1;
}

void FakeLeases::Cancel(uint64_t lease_id) {
  LeaseCallbacks callbacks;
  {
    MutexLock lock(mutex_);
    const auto it = blocked_.find(lease_id);
    if (it == blocked_.end()) return;
    callbacks = std::move(it->second);
    blocked_.erase(it);
  }
  callbacks.done(absl::CancelledError("cancelled"));
}

std::multimap<std::string, std::string> FakeLeases::GraphsRead() {
  MutexLock lock(mutex_);
  return graphs_read_;
}

std::vector<std::string> FakeLeases::TakeExecuted() {
  MutexLock lock(mutex_);
  std::vector<std::string> out;
  out.swap(executed_);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<std::string> FakeLeases::TakeChained() {
  MutexLock lock(mutex_);
  std::vector<std::string> out;
  out.swap(chained_);
  std::sort(out.begin(), out.end());
  return out;
}

void FakeLeases::SetCpuSeconds(double seconds) {
  MutexLock lock(mutex_);
  cpu_seconds_ = seconds;
}

bool FakeLeases::HasInput(const LeaseRequest& request,
                          const std::string& text) const {
  for (const v1::BlobRef& input : request.inputs) {
    const absl::StatusOr<Digest> digest = FromProto(input.digest());
    if (!digest.ok()) continue;
    const absl::StatusOr<std::string> bytes = blobs_.Get(*digest);
    if (bytes.ok() && absl::StrContains(*bytes, text)) return true;
  }
  return false;
}

void FakeLeases::Block(const std::string& stage, bool leased,
                       const std::string& input) {
  MutexLock lock(mutex_);
  blocked_input_ = input;
  blocked_stage_ = stage;
  blocked_leased_ = leased;
}

int FakeLeases::Blocked() {
  MutexLock lock(mutex_);
  return static_cast<int>(blocked_.size());
}

}  // namespace edgekiln::server
