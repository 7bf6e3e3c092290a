#include "client/option_definitions.h"

#include "absl/strings/str_cat.h"
#include "base/wrap_help.h"
#include "client/check/check_options.h"
#include "client/help.h"
#include "client/job_options.h"
#include "client/option_building.h"
#include "client/self_description.h"
#include "client/sweep_options.h"

namespace edgekiln::client {
namespace {

enum class Model { kRequired, kOrDocument };

void AddModel(CLI::App& app, RawOptions& raw, Model model = Model::kRequired) {
  CLI::Option* const option =
      app.add_option("MODEL", raw.line.model, "A .tflite or .onnx file")
          ->type_name("");
  if (model == Model::kRequired) option->required();
  app.add_option("--bind", raw.dimensions,
                 WrapHelp("ONNX: the extent of a symbolic dimension; that of "
                          "an unnamed one is written INPUT:POSITION=EXTENT"))
      ->type_name("NAME=EXTENT")
      ->allow_extra_args(false);
  app.add_option("--bind-input", raw.bound_inputs,
                 WrapHelp("ONNX: a graph input becomes the constant in an .npy "
                          "or TensorProto (.pb) file"))
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  app.add_option("--external-data", raw.external_data,
                 WrapHelp("ONNX: a file that the model keeps tensors in. "
                          "LOCATION is what the model calls it; without it, "
                          "the name of the file"))
      ->type_name("[LOCATION=]FILE")
      ->allow_extra_args(false);
}

enum class Targets { kOptional, kSeveral };

void AddTarget(CLI::App& app, RawOptions& raw, Targets count) {
  const bool several = count == Targets::kSeveral;
  auto* option = app.add_option(
      "--target", raw.line.targets,
      WrapHelp(absl::StrCat(
          "A chip by name (edgekiln targets list), or a descriptor FILE (an "
          "existing file, a path with '/', or ending in .txtpb or .textproto)",
          several ? ". May be given several times" : "")));
  // One value per --target, so that the MODEL behind it is not taken for one.
  option->type_name("T|FILE")->allow_extra_args(false);
  if (count != Targets::kOptional) option->required();
}

void AddRecipe(CLI::App& app, RawOptions& raw) {
  app.add_option("--recipe", raw.line.recipe,
                 WrapHelp("One of the chip's recipes (edgekiln targets list); "
                          "every --target must have it. Stages that it does "
                          "not change are not run again (default: default)"))
      ->type_name("NAME");
}

void AddOffload(CLI::App& app, RawOptions& raw) {
  app.add_option("--offload", raw.offload,
                 WrapHelp("Layers given to engines: all that one can run "
                          "(default); paying, only those that it runs faster "
                          "than the host, by predicted cycles; or none"))
      ->type_name("all|paying|none");
}

void AddCompiler(CLI::App& app, RawOptions& raw) {
  app.add_option(
         "--compiler", raw.compiler,
         WrapHelp("What builds the C code of a target that runs C "
                  "(rv32imc, cortex-m4, ...): gcc (default), clang with "
                  "ld.lld, or none, which gives the code and estimates. "
                  "A worker must have it; no other is taken instead"))
      ->type_name("gcc|clang|none");
}

void AddData(CLI::App& app, RawOptions& raw, const std::string& help) {
  app.add_option("--data", raw.line.data, WrapHelp(help))->type_name("DATA");
}

void AddQuantization(CLI::App& app, RawOptions& raw) {
  app.add_option("--calibration", raw.line.calibration,
                 WrapHelp("Samples to learn activation ranges from (float "
                          "models)"))
      ->type_name("DATA");
  app.add_option("--calibration-method", raw.calibration_method,
                 WrapHelp("How ranges follow from the samples: output-mse "
                          "(default), percentile[:P], P in percent (99.99; "
                          "default without --calibration), mse, kl, "
                          "moving-average or minmax"))
      ->type_name("METHOD");
  app.add_option("--quantization", raw.line.quantization,
                 WrapHelp("What a float model's layers become, in a file "
                          "(edgekiln quantize --help)"))
      ->type_name("FILE");
  app.add_option("--accuracy-budget", raw.accuracy_budget,
                 WrapHelp("Of several forms that the target's engines take, "
                          "use the fastest that answers this share of samples "
                          "as the float network does, but for POINTS of 100: "
                          "0.5pp (default). Judged on the calibration data, "
                          "without labels; an error if it cannot be kept"))
      ->type_name("POINTS");
  app.add_option("--seed", raw.seed, WrapHelp("Seed of the synthetic inputs"))
      ->type_name("N");
  app.add_option("--input", raw.inputs,
                 WrapHelp("How stored samples become the input NAME, on top of "
                          "the data set's own scale. SPEC is "
                          "NAME:KEY=VALUE,... with the keys scale, offset, "
                          "order (rgb, bgr), layout (nhwc, nchw). NAME: may be "
                          "left out for the only input; values "
                          "per channel are written 0.1/0.2/0.3"))
      ->type_name("SPEC")
      ->allow_extra_args(false);
}

void AddLabelOffset(CLI::App& app, RawOptions& raw) {
  app.add_option("--label-offset", raw.label_offset,
                 WrapHelp("Class that the network gives to label 0: 1 for "
                          "ImageNet's labels and a network with a background "
                          "class"))
      ->type_name("N")
      ->check(WholeNumber());
}

void AddMetric(CLI::App& app, RawOptions& raw) {
  app.add_option(
         "--metric", raw.metric,
         WrapHelp(
             "What is measured. Of labelled classes: top1 (default), top5. Of "
             "an auto-encoder whose labels are 0 (normal) and 1 (anomaly): auc "
             "(default), of its reconstruction errors. Of outputs against "
             "those "
             "of the reference, without labels: agreement of classes (default "
             "for classifiers), mse (default for others), mae, cosine. Outputs "
             "stored in DATA are not compared with"))
      ->type_name("METRIC");
}

void AddIo(CLI::App& app, RawOptions& raw) {
  app.add_option(
         "--io", raw.io,
         WrapHelp(
             "Form of float inputs and outputs on the chip: int (default), the "
             "caller converts them; float, the chip's host does, and its "
             "cycles count. Data sets and arrays are the same for both"))
      ->type_name("int|float");
}

void AddClass(CLI::App& app, RawOptions& raw) {
  app.add_option("--class", raw.job_class,
                 WrapHelp("Priority among waiting jobs: interactive before ci "
                          "before batch. Default: interactive on a terminal "
                          "and with --supersede, ci otherwise"))
      ->type_name("interactive|ci|batch")
      ->group(kJobGroup);
}

// What the daemon does for the job, also once this command is gone.
void AddJob(CLI::App& app, RawOptions& raw) {
  AddClass(app, raw);
  AddFollow(app, raw);
  app.add_option("--supersede", raw.line.slot,
                 WrapHelp("Cancel your unfinished jobs with the same KEY; for "
                          "editors that submit on every change"))
      ->type_name("KEY")
      ->group(kJobGroup);
  app.add_option(
         "--queue-timeout", raw.queue_timeout,
         WrapHelp(
             "Fail the job (exit code 4) if it waits this long for a worker"))
      ->type_name("DURATION")
      ->group(kJobGroup);
  app.add_option(
         "--run-timeout", raw.run_timeout,
         WrapHelp(
             "Fail the job (exit code 5) this long after a worker started it"))
      ->type_name("DURATION")
      ->group(kJobGroup);
}

// What every report must keep; exit code 3 if one does not.
void AddGates(CLI::App& app, RawOptions& raw, bool accuracy) {
  const auto add = [&](const char* name, auto& value, const char* type,
                       const char* help) {
    return app.add_option(name, value, WrapHelp(help))
        ->type_name(type)
        ->group("Limits (exit code 3 if broken on any target)");
  };
  add("--max-cycles", raw.max_cycles, "N",
      "Cycles of one inference: 500000, 500k, 1.5M");
  add("--max-latency", raw.max_latency, "TIME",
      "Latency of one inference: 2ms, 500us, 1.5s");
  add("--max-memory", raw.max_memory, "NAME=BYTES",
      "Bytes used of a memory, by its name in the report and in `targets "
      "show`: flash=64KiB, sram=96kB (KiB, MiB: powers of 1024; kB, MB: of "
      "1000). May be given several times")
      ->allow_extra_args(false);
  add("--max-ram", raw.max_ram, "BYTES",
      "RAM for activations, whatever the target calls it");
  if (!accuracy) return;
  add("--min-accuracy", raw.min_accuracy, "SHARE",
      "Accuracy on the simulated chip, in the metric that is measured: 0.95 or "
      "95%. Also broken if it was not measured");
  add("--max-error", raw.max_error, "X",
      "The metrics mse and mae on the simulated chip: 0.02, 1e-4. Also broken "
      "if neither was measured");
  add("--max-disagreement", raw.max_disagreement, "SHARE",
      "Samples whose class on the simulated chip is not the reference's: 0.01 "
      "or 1%. Needs no labels. Also broken if it was not measured");
}

// What decides the program.
void AddCompilation(CLI::App& app, RawOptions& raw, Targets targets,
                    Model model = Model::kRequired) {
  AddModel(app, raw, model);
  AddTarget(app, raw, targets);
  AddRecipe(app, raw);
  AddOffload(app, raw);
  AddCompiler(app, raw);
  AddQuantization(app, raw);
  AddIo(app, raw);
  AddStages(app, raw);
}

void AddQuantizeCommand(CLI::App& root, RawOptions& raw) {
  CLI::App* app = AddCommand(root, raw, Command::kQuantize, "quantize",
                             "What integers cost each layer of a float model");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kOptional);
  AddQuantization(*app, raw);
  AddData(*app, raw,
          "A labelled data set: accuracy of the float network and of the "
          "quantized one, on the reference");
  AddLimit(*app, raw, "Use at most N samples of --data");
  AddLabelOffset(*app, raw);
  app->add_flag("--compare", raw.line.compare,
                WrapHelp("Also with ranges by minmax, percentile and mse: one "
                         "row for each, with what it costs the outputs"));
  AddOutput(*app, raw, false, "OUT.onnx",
            "Write the quantized network as an ONNX model (QDQ)");
  AddStages(*app, raw);
  AddJob(*app, raw);
}

void AddModelCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* app = AddCommand(root, raw, Command::kInspect, "inspect",
                             "Inputs, outputs and layers of a model");
  AddModel(*app, raw);
  AddTarget(*app, raw, Targets::kOptional);
  AddRecipe(*app, raw);

  AddQuantizeCommand(root, raw);

  app = AddCommand(root, raw, Command::kCompile, "compile",
                   "Generate the code for a chip");
  AddCompilation(*app, raw, Targets::kSeveral, Model::kOrDocument);
  app->add_option("--from", raw.line.document,
                  WrapHelp("Instead of MODEL: network.ekn of a bundle, for any "
                           "chip whose arithmetic needs the same quantization. "
                           "Gives the bundle that MODEL would give"))
      ->type_name("FILE");
  app->add_option("--name", raw.line.network_name,
                  WrapHelp("What the network is called in the bundle, instead "
                           "of the model's name for it: files and identifiers "
                           "of its C code begin with it. Networks of one "
                           "firmware need different names"))
      ->type_name("NAME");
  AddOutput(*app, raw, false, "DIR", "Where to put the bundle");
  AddGates(*app, raw, /*accuracy=*/false);
  AddJob(*app, raw);

  app = AddCommand(root, raw, Command::kProfile, "profile",
                   "Cycles per layer on the simulated chip");
  AddCompilation(*app, raw, Targets::kSeveral);
  AddData(*app, raw,
          "Inputs to compare with the reference on (default: random ones, from "
          "--seed)");
  AddLimit(*app, raw,
           "Compare on at most N samples of DATA, or on N random ones (16)");
  app->add_flag(
      "--timing-only", raw.line.timing_only,
      WrapHelp("Only count cycles: compute no values, compare nothing"));
  app->add_option("--timeline", raw.line.timeline,
                  WrapHelp("Write a timeline of all units to FILE, as an "
                           "edgekiln.v1.Timeline (protoc --decode reads it); "
                           "one target only"))
      ->type_name("FILE");
  app->add_flag(
      "--hot", raw.line.hot,
      WrapHelp("Also show the functions, source lines and loops in which the "
               "first sample spends its instructions. For targets whose host "
               "is a simulated RV32 core"));
  AddGates(*app, raw, /*accuracy=*/false);
  AddJob(*app, raw);

  app = AddCommand(root, raw, Command::kValidate, "validate",
                   "Accuracy and bit-exactness on a data set");
  AddCompilation(*app, raw, Targets::kSeveral);
  AddData(*app, raw,
          "The data set; without labels, the chip is compared with the "
          "reference. Required, unless the model has no inputs");
  AddLimit(*app, raw, "Use at most N samples");
  AddLabelOffset(*app, raw);
  AddMetric(*app, raw);
  app->add_flag("--confusion", raw.line.confusion,
                WrapHelp("Report how often each label was taken for each "
                         "class: a matrix, at most 1000 classes"));
  AddGates(*app, raw, /*accuracy=*/true);
  AddJob(*app, raw);
}

void AddRunCommand(CLI::App& root, RawOptions& raw) {
  CLI::App* app =
      AddCommand(root, raw, Command::kRun, "run",
                 "Outputs of the reference, or of the simulated chip");
  AddCompilation(*app, raw, Targets::kOptional);
  AddData(*app, raw,
          "A .npz with one array per input, named like it (or x). Required, "
          "unless the model has no inputs");
  AddOutput(*app, raw, true, "OUT.npz",
            "Where to put the outputs, one array per output");
  AddLimit(*app, raw, "Use at most N samples");
  AddClass(*app, raw);
  AddFollow(*app, raw);
}

void AddTargetCommands(CLI::App& root, RawOptions& raw) {
  CLI::App* group = AddGroup(root, "targets", "The chips known by name");
  AddCommand(*group, raw, Command::kTargetsList, "list", "List all of them");
  CLI::App* app = AddCommand(*group, raw, Command::kTargetsShow, "show",
                             "The descriptor of one");
  AddNames(*app, raw, "TARGET", "Its name");
  app = AddCommand(*group, raw, Command::kTargetsCheck, "check",
                   "Whether a descriptor file is valid");
  AddNames(*app, raw, "FILE", "A descriptor in text form");
  app = AddCommand(*group, raw, Command::kTargetsSources, "sources",
                   "C files as text of a descriptor that calls them");
  AddNames(*app, raw, "FILE", "C files: .c, .h, .S");
}

void AddLspCommand(CLI::App& root, RawOptions& raw) {
  CLI::App* app = AddTextCommand(root, raw, Command::kLsp, "lsp",
                                 "A language server for files in text form");
  app->add_option("--server", raw.line.server,
                  WrapHelp("Address of a daemon, as of the other commands"))
      ->type_name("ADDRESS");
  app->add_flag("--stdio", raw.line.stdio,
                WrapHelp("Speak on standard input and output, as always"));
}

// What `sweep` shares with `validate`.
void AddSweepJob(CLI::App& app, RawOptions& raw) {
  AddOffload(app, raw);
  AddQuantization(app, raw);
  AddIo(app, raw);
  AddData(app, raw,
          "Samples of all models. --validate needs them, for most metrics with "
          "labels");
  AddLimit(app, raw, "Use at most N samples");
  AddLabelOffset(app, raw);
  AddMetric(app, raw);
  AddGates(app, raw, /*accuracy=*/true);
}

}  // namespace

void DefineCommands(CLI::App& root, RawOptions& raw) {
  root.footer(HelpFooter(Command::kHelp));
  root.set_help_flag("-h,--help", "Print this help");
  root.set_version_flag("--version", VersionText(), "Print the version");
  root.require_subcommand(1);
  root.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root.get_formatter()->label("Subcommands", "Commands");
  AddCommon(root, raw);
  AddModelCommands(root, raw);
  AddRunCommand(root, raw);
  AddSweepCommands(root, raw, AddSweepJob);
  AddCheckCommands(root, raw);
  AddTargetCommands(root, raw);
  AddJobCommands(root, raw);
  AddQuarantineCommands(root, raw);
  AddTopCommand(root, raw);
  AddReportCommands(root, raw);
  AddLspCommand(root, raw);
  AddSelfDescriptionCommands(root, raw);
}

}  // namespace edgekiln::client
