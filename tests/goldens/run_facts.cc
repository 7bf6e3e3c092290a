#include "tests/goldens/run_facts.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "compiler/codegen/bundle.h"
#include "compiler/passes/integer_io.h"
#include "edgekiln/v1/program.pb.h"
#include "simfarm/session/session.h"
#include "tests/goldens/tap_text.h"
#include "tests/pipeline/chip_run.h"
#include "tests/pipeline/compiler_run.h"
#include "tests/pipeline/synthetic.h"

namespace edgekiln::tests {
namespace {

// Digits of a digest that a golden shows: 40 bits.
constexpr int kShownDigits = 10;

std::string ShortDigest(absl::string_view bytes) {
  return DigestOf(bytes).hash.substr(0, kShownDigits);
}

std::string TypeText(const v1::TensorType& type) {
  return absl::StrCat(v1::ElementType_Name(type.element_type()), "[",
                      absl::StrJoin(type.shape(), ","), "]");
}

std::string LocationText(const v1::Location& location) {
  return absl::StrCat("memory ", location.memory(), " at ", location.address());
}

std::string CodeText(const v1::Program& program) {
  std::string text;
  for (const v1::Program::Stream& stream : program.streams()) {
    absl::StrAppend(&text, "engine ", stream.engine(), " bytes ",
                    stream.code().size(), " ", ShortDigest(stream.code()),
                    "\n");
  }
  return text;
}

std::string ConstantsText(const compiler::EmitResult& compiled) {
  std::string text = absl::StrCat("bytes ", compiled.constants.size(), " ",
                                  ShortDigest(compiled.constants), "\n");
  for (const v1::Program::Segment& segment : compiled.program.segments()) {
    absl::StrAppend(&text, "segment ", LocationText(segment.location()),
                    " from ", segment.blob_offset(), " bytes ",
                    segment.size_bytes(), "\n");
  }
  return text;
}

std::string HostOpText(const v1::Program::HostOp& op) {
  std::string text =
      absl::StrCat("layer ", op.layer(), " ",
                   ShortDigest(op.attributes().SerializeAsString()));
  for (const auto* operands : {&op.inputs(), &op.outputs()}) {
    absl::StrAppend(&text, operands == &op.inputs() ? " from" : " to");
    for (const v1::Program::HostOp::Operand& operand : *operands) {
      absl::StrAppend(&text, " (",
                      operand.absent()
                          ? "absent"
                          : absl::StrCat(TypeText(operand.type()), " ",
                                         LocationText(operand.location())),
                      ")");
    }
  }
  return text;
}

std::string StepText(const v1::Program::Step& step) {
  switch (step.step_case()) {
    case v1::Program::Step::kHostOp:
      return absl::StrCat("host ", HostOpText(step.host_op()), "\n");
    case v1::Program::Step::kLaunch:
      return absl::StrCat("launch ", step.launch().stream(), "\n");
    case v1::Program::Step::kWait:
      return absl::StrCat("wait ", step.wait().engine(), "\n");
    case v1::Program::Step::kMove:
      return absl::StrCat("move layer ", step.move().layer(), " from ",
                          LocationText(step.move().from()), " to ",
                          LocationText(step.move().to()), "\n");
    default:
      return "nothing\n";
  }
}

std::string StepsText(const v1::Program& program) {
  std::string text;
  for (const v1::Program::Binding& input : program.inputs()) {
    absl::StrAppend(&text, "input ", TypeText(input.type()), " ",
                    LocationText(input.location()), "\n");
  }
  for (const v1::Program::Binding& output : program.outputs()) {
    absl::StrAppend(&text, "output ", TypeText(output.type()), " ",
                    LocationText(output.location()), "\n");
  }
  for (const v1::Program::Step& step : program.steps()) {
    absl::StrAppend(&text, StepText(step));
  }
  return text;
}

std::string LayersText(const v1::Program& program) {
  std::string text;
  for (const v1::Program::Layer& layer : program.layers()) {
    absl::StrAppend(&text, layer.id(), " \"", layer.name(), "\" ", layer.op(),
                    " ", v1::LayerKind_Name(layer.kind()), " subgraph ",
                    layer.subgraph(), " engine ", layer.engine(), " macs ",
                    layer.macs(), " sram ", layer.sram_bytes(), " tiles ",
                    layer.tiles());
    absl::StrAppend(&text, " reason ", layer.reason(), "\n");
  }
  for (const v1::Program::CommandRange& range : program.ranges()) {
    absl::StrAppend(&text, "stream ", range.stream(), " commands ",
                    range.first_command(), " to ", range.last_command(),
                    " layer ", range.layer(), "\n");
  }
  return text;
}

absl::StatusOr<std::string> TapsText(const compiler::Graph& graph,
                                     const v1::Program& program) {
  std::string text;
  for (const v1::Program::Tap& tap : program.taps()) {
    EK_ASSIGN_OR_RETURN(const std::string line, TapText(graph, program, tap));
    text += line;
  }
  return text;
}

std::string CyclesText(const v1::SimReport& report) {
  std::string text = absl::StrCat("cycles ", report.cycles(), " read ",
                                  report.dma_bytes_read(), " written ",
                                  report.dma_bytes_written(), "\n");
  for (const v1::SimReport::LayerCycles& layer : report.layers()) {
    absl::StrAppend(&text, "layer ", layer.layer(), " cycles ", layer.cycles(),
                    " compute ", layer.compute_cycles(), " stall ",
                    layer.stall_cycles(), " ");
    absl::StrAppend(&text, "read ", layer.dma_bytes_read(), " written ",
                    layer.dma_bytes_written(), " ",
                    v1::Fidelity_Name(layer.fidelity()), "\n");
  }
  for (const v1::SimReport::EngineBusy& engine : report.engines()) {
    absl::StrAppend(&text, "engine ", engine.name(), " hz ", engine.clock_hz(),
                    " busy ", engine.busy_cycles(), "\n");
  }
  return text;
}

bool IsQuantized(const compiler::Graph& graph) {
  for (const compiler::Tensor& tensor : graph.tensors) {
    if (!tensor.is_constant() && tensor.quantization) return true;
  }
  return false;
}

RunFacts Refusal(const absl::Status& status) {
  RunFacts facts;
  facts.figures = absl::StrCat(
      "refused: ", absl::StatusCodeToString(status.code()), " ",
      absl::StrReplaceAll(std::string(status.message()), {{"\n", " "}}));
  return facts;
}

// The files of a bundle that are not themselves messages or made of them.
absl::StatusOr<std::string> BundleText(const GoldenNetwork& network,
                                       const v1::Machine& machine,
                                       const compiler::EmitResult& compiled) {
  EK_ASSIGN_OR_RETURN(
      const std::vector<compiler::BundleFile> files,
      compiler::BundleFiles(compiled.program,
                            compiler::GraphToProto(network.graph),
                            compiled.constants, machine, {}));
  std::string text;
  for (const compiler::BundleFile& file : files) {
    if (file.path == "program.pb" || file.path == "manifest.json") continue;
    absl::StrAppend(&text, file.path, " bytes ", file.bytes.size(), " ",
                    ShortDigest(file.bytes), "\n");
  }
  return text;
}

struct Values {
  v1::SimReport report;
  std::string text;  // Of taps and outputs.
};

absl::StatusOr<Values> Run(const GoldenNetwork& network,
                           const v1::ResolvedTarget& target,
                           const compiler::EmitResult& compiled) {
  EK_ASSIGN_OR_RETURN(
      const std::unique_ptr<simfarm::Session> session,
      simfarm::LoadSession(compiled.program, compiled.constants,
                           target.machine(), OptionsOf(network.graph)));
  Values values;
  const auto visit = [&](const v1::Program::Tap& tap, absl::string_view bytes) {
    absl::StrAppend(&values.text, "tensor ", tap.tensor(), " bytes ",
                    bytes.size(), " ", ShortDigest(bytes), "\n");
    return absl::OkStatus();
  };
  const std::vector<absl::string_view> inputs(network.inputs.begin(),
                                              network.inputs.end());
  std::vector<std::string> outputs;
  EK_ASSIGN_OR_RETURN(values.report,
                      session->RunChecked(inputs, visit, &outputs));
  for (const std::string& output : outputs) {
    absl::StrAppend(&values.text, "output bytes ", output.size(), " ",
                    ShortDigest(output), "\n");
  }
  return values;
}

}  // namespace

absl::StatusOr<GoldenNetwork> LoadGoldenNetwork(absl::string_view model) {
  GoldenNetwork network;
  EK_ASSIGN_OR_RETURN(network.graph, SimplifiedGraph(model));
  if (!IsQuantized(network.graph)) {
    EK_ASSIGN_OR_RETURN(network.graph, QuantizedBySample(network.graph));
  }
  compiler::SetIoForm(v1::IO_INTEGER, network.graph);
  EK_ASSIGN_OR_RETURN(network.inputs, SyntheticInputs(network.graph));
  return network;
}

absl::StatusOr<RunFacts> FactsOf(const GoldenNetwork& network,
                                 const v1::ResolvedTarget& target) {
  const absl::StatusOr<compiler::EmitResult> compiled =
      CompileQuantized(network.graph, target);
  if (!compiled.ok()) return Refusal(compiled.status());
  const v1::Program& program = compiled->program;
  EK_ASSIGN_OR_RETURN(const Values values, Run(network, target, *compiled));
  EK_ASSIGN_OR_RETURN(const v1::SimReport counted,
                      simfarm::CountCycles(program, target.machine(),
                                           simfarm::SessionOptions()));
  EK_ASSIGN_OR_RETURN(const std::string bundle,
                      BundleText(network, target.machine(), *compiled));
  EK_ASSIGN_OR_RETURN(const std::string taps, TapsText(network.graph, program));
  const std::string cycles = CyclesText(values.report);
  if (CyclesText(counted) != cycles) {
    return absl::InternalError("cycles differ from those of a run with values");
  }
  RunFacts facts;
  facts.figures = absl::StrCat("cycles ", values.report.cycles(), " predicted ",
                               program.predicted_cycles(), " conversions ",
                               compiled->io_conversion_cycles, " read ",
                               values.report.dma_bytes_read());
  absl::StrAppend(&facts.figures, " written ",
                  values.report.dma_bytes_written(), " flash ",
                  program.flash_bytes(), " ram ", program.ram_bytes(), " sram ",
                  program.sram_peak_bytes(), " used ",
                  absl::StrJoin(compiled->memory_bytes, ","));
  facts.aspects = {{"code", CodeText(program)},
                   {"constants", ConstantsText(*compiled)},
                   {"steps", StepsText(program)},
                   {"layers", LayersText(program)},
                   {"taps", taps},
                   {"cycles", cycles},
                   {"values", values.text},
                   {"bundle", bundle}};
  return facts;
}

std::string Summary(const RunFacts& facts) {
  std::string text = absl::StrCat("  ", facts.figures, "\n");
  if (facts.aspects.empty()) return text;
  text += " ";
  for (const Aspect& aspect : facts.aspects) {
    absl::StrAppend(&text, " ", aspect.name, " ", ShortDigest(aspect.text));
  }
  return text + "\n";
}

}  // namespace edgekiln::tests
