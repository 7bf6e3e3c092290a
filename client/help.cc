#include "client/help.h"

#include "absl/strings/str_cat.h"
#include "client/report_help.h"
#include "reports/text/json.h"

namespace edgekiln::client {
namespace {

constexpr char kRoot[] = R"(Examples:
  edgekiln inspect net.tflite
      What is in the model, and what could not be compiled.
  edgekiln profile net.tflite --target dla-64-o-512k
      Cycles per layer on a simulated chip.
  edgekiln validate net.onnx --target dla-128-i-1m \
      --calibration calibration.npz --data test.npz
      Quantize a float model, then measure accuracy on the simulated chip.
  edgekiln compile net.tflite --target my_chip.txtpb -o out/
      The code for a chip of your own.
  edgekiln init && edgekiln check
      Budgets and baselines of all networks of a repository, for CI.
  edgekiln COMMAND --help
      More about one command.

Without --server, and without an address in the variable EDGEKILN_SERVER, the
daemon you run is found (edgekilnd without --listen), or one is started
(edgekilnd --local) that leaves after a while of idling. One that restarts is
waited for, for --timeout or five minutes.

Exit codes: 0 pass; 1 model, data or target; 2 usage, or a named file does not
exist; 3 a result is not good enough (a --max-... or --min-... limit is broken,
or values differ from the reference); 4 daemon unreachable, no worker in time,
or our fault; 5 --timeout or --run-timeout elapsed; 6 authentication;
130 interrupted; 143 ended by SIGTERM; 129 its terminal was closed.
)";

constexpr char kInspect[] = R"(Examples:
  edgekiln inspect net.onnx
  edgekiln inspect net.tflite --target dla-64-o-512k
      Also which engine takes each layer, and why: where several do, the first.
      `profile` chooses among them by predicted cycles.
  edgekiln inspect net.tflite --target dla-64-o-512k --recipe serial
      The same; fails if the target has no recipe of that name.
  edgekiln inspect net.onnx --json | jq '.inputs[] | {name, shape}'
)";

constexpr char kQuantize[] = R"(Examples:
  edgekiln quantize net.onnx --target dla-64-o-512k --calibration train.npz
      Each layer's integers for that chip, how far its results are from the
      float network's, and the layers that cost the outputs most.
  edgekiln quantize net.onnx --target dla-64-o-512k --calibration train.npz \
      --data test.npz --compare
      Output noise and accuracy by several ways to choose ranges.
  edgekiln quantize net.onnx --calibration train.npz --quantization net.txtpb \
      -o net_int8.onnx
      For no chip in particular, by a file, into a QDQ ONNX model.

A few hundred samples without labels will do for --calibration; without any,
ranges are a guess. What a FILE leaves out has a sensible default:

  # net.txtpb: compile, profile, validate, run and sweep take it, too.
  ranges { method: OUTPUT_MSE }      # of activations; MIN_MAX, PERCENTILE, ..
  scheme { rounding: ADAPTIVE }      # of all layers; NEAREST
  layers { layer: "conv*" scheme { weights: INT4 } }
  layers { layer: "softmax" scheme { keep_float: ON } }
  bias_correction: ON

Later rules come before earlier ones. docs/quantization.md explains every key
and the table; an unknown key or layer is an error.
)";

constexpr char kCompile[] = R"(Examples:
  edgekiln compile net.tflite --target dla-64-o-512k -o out/
      Program, streams, disassembly, weights and memory map into out/.
  edgekiln compile net.onnx --target dla-64-o-512k --calibration images.npz \
      --input 'image:scale=0.00392157,layout=nhwc' -o out/
  edgekiln compile net.tflite --target a --target b -o out/
      One folder per target: out/a/ and out/b/. With --json: a list of Reports
      instead of one Report.
  edgekiln compile net.tflite --target my_chip.txtpb --max-memory flash=64KiB
      Exit code 3 if it needs more; the files of -o are written all the same.
  edgekiln compile net.tflite --target dla-64-o-512k --recipe serial -o out/
      The chip used in another of its ways; the manifest names the recipe.
  edgekiln compile --from out/network.ekn --target dla-128-i-1m -o late/
      The network of a bundle for another variant of the chip, without the
      model: the same files as from the model.
)";

constexpr char kProfile[] = R"(Examples:
  edgekiln profile net.tflite --target dla-64-o-512k
  edgekiln profile net.tflite --target dla-64-o-512k --json | jq .totals.cycles
  edgekiln profile net.onnx --target dla-64-o-512k --calibration images.npz
  edgekiln profile net.tflite --target dla-64-o-512k --target dla-128-i-1m
      Two chips. With --json: a list of Reports instead of one Report.
  edgekiln profile net.tflite --target dla-64-o-512k --max-latency 2ms \
      --max-memory flash=64KiB --max-memory sram=200kB
      In CI: exit code 3 if a limit is broken. The error names every broken one,
      by how much, and the layer that costs most; --json has them as gates[].
  edgekiln profile net.tflite --target dla-64-o-512k --timing-only
      Cycles alone, without computing values: for editors and searches.
  edgekiln profile net.tflite --target rv32imc --hot
      Where C code spends its instructions: the first functions and source
      lines, and loops instruction by instruction. --json has more of them.
  edgekiln profile net.tflite --target dla-64-o-512k --json > a.json
  edgekiln profile net.tflite --target dla-64-o-512k --json \
      --recipe serial > b.json
  edgekiln report diff a.json b.json
      What overlap and reuse bring. Import, quantization and placement are not
      computed again: a recipe re-runs only what it changes.
  edgekiln profile net.tflite --target dla-64-o-512k --offload none
      The network on the chip's host alone; with `paying`, engines get the
      layers that are predicted to take fewer cycles there, moves included.
  edgekiln profile net.tflite --target dla-64-o-512k --supersede left-pane
      A newer one with that key cancels this one: only the last answer counts.

Every layer output of the simulated chip is compared with the reference; a
difference is exit code 3, as is a broken limit. With --timing-only nothing is
compared.

With --io int, the default, the chip reads and writes integers in the network's
own quantization, as firmware would; the report also has the total of --io
float, with which the host converts.
)";

constexpr char kValidate[] = R"(Examples:
  edgekiln validate net.tflite --target dla-64-o-512k --data test.npz
  edgekiln validate net.onnx --target dla-64-o-512k --calibration train.npz \
      --data t10k-images-idx3-ubyte.gz --limit 1000
      An IDX pair: labels are found beside the images, by name
      (t10k-labels-idx1-ubyte.gz), or named: --data IMAGES,LABELS
  edgekiln validate net.tflite --target chip.txtpb --data test.npz \
      --input 'serving_default_input:0:scale=0.1/0.2/0.3,order=bgr'
      Input names may contain colons. Fractions are written as decimals: "/"
      separates channels.
  edgekiln validate net.tflite --target chip.txtpb --data test.npz \
      --min-accuracy 95% --max-cycles 1.5M
      In CI: exit code 3 if a limit is broken, after the report was printed.
  edgekiln validate net.tflite --target chip.txtpb --data unlabelled.npz \
      --max-disagreement 1%
      Without labels: how often the chip's class is not the reference's.
  edgekiln validate autoencoder.tflite --target chip.txtpb --data windows.npz
      AUC of the reconstruction error; labels 0 = normal, 1 = anomaly.
  edgekiln validate net.tflite --target chip.txtpb --data test.npz \
      --metric mse --max-error 1e-3
  edgekiln validate mobilenet.tflite --target dla-64-o-512k \
      --data imagenet.npz --label-offset 1
      Class 0 of the network is the background; labels count from 0 without it.

DATA is a .npz with x, y and optionally x_scale, x_offset; or an .npy or IDX
pair, SAMPLES,LABELS. An array named like a model input feeds that input.
With several --target and --json: a list of Reports instead of one Report.
A difference between simulated chip and reference is exit code 3.
)";

constexpr char kRun[] = R"(Examples:
  edgekiln run net.tflite --data in.npz -o out.npz
      The reference interpreter's outputs.
  edgekiln run net.tflite --target dla-64-o-512k --data in.npz -o out.npz
      The simulated chip's outputs.

One array per model input, named like it (or x for the only one), samples along
the first axis, in the network's own element type and layout unless --input says
otherwise; one array per output comes back. That holds with --io int, too.
)";

constexpr char kTargetsList[] = R"(Examples:
  edgekiln targets list
  edgekiln targets list --json | jq '.targets[] | {name, recipes}'

A recipe is one way to use the chip, part of its descriptor: --recipe NAME of
inspect, compile, profile, validate and run. Every target has "default", which
is what you get without --recipe.
)";

constexpr char kTargetsShow[] = R"(Examples:
  edgekiln targets show dla-64-o-512k > my_chip.txtpb
  edgekiln targets show dla | grep -A2 '^recipes'
      Its recipes, as the descriptor has them.
)";

constexpr char kTargetsCheck[] = R"(Example:
  edgekiln targets show dla > my_chip.txtpb    # then change it
  edgekiln targets check my_chip.txtpb
      What is wrong with it, or its name and its recipes.
)";

constexpr char kTargetsSources[] = R"(Example:
  edgekiln targets sources my_conv.c my_conv.h >> my_chip.txtpb
      The chip brings the functions that its c_kernels call. Paths are kept as
      they are given, and must be relative.
)";

constexpr char kJobsWatch[] =
    R"(Ctrl-C stops watching; the job goes on. Stop it with: edgekiln jobs cancel ID
)";

constexpr char kJobsLog[] = R"(Examples:
  edgekiln jobs log 42
      Of a finished job: all of it. Of one that runs: up to now.
  edgekiln jobs log 42 --follow
      Until the job ends. Ctrl-C stops reading; the job goes on.
  edgekiln jobs log 42 --json | jq -r 'select(.log) | .log.text'
      Each event as one line of JSON; here the warnings alone.
)";

constexpr char kQuarantineList[] = R"(Examples:
  edgekiln quarantine list
  edgekiln quarantine list --json | jq '.stages[].error'

A stage is quarantined once it has timed out twice, its process has died twice
of the same signal, or it has ended three workers. Every job that needs it fails
at once, exit code 4, until it is released. Another build of edgekiln tries it
again by itself.
)";

constexpr char kLsp[] =
    R"(Started by an editor, not by hand; docs/editors.md says how, for VS Code,
Neovim, Emacs and Helix.

Serves target descriptors, sweeps and edgekiln.txtpb: errors as one types, by
the schema at once and by the daemon's own checks of targets; completion and
hover with the documentation of each key and parameter; quick fixes. With a
model, also its cycles, latency and memory on the target that is edited: set
edgekiln.model in the editor, or write a line into the file:

  # model: ../models/net.tflite
)";

constexpr char kTop[] = R"(Examples:
  edgekiln top
      Redrawn every second until Ctrl-C. Jobs that are not over come first.
  edgekiln top --once --server farm:7433
  edgekiln top --json | jq '.workers[] | {name, used_slots, slots}'
      One look, as the message DaemonStatus; the same over HTTP: /v1/daemon.

Counters begin at 0 when the daemon starts.
)";

constexpr char kQuarantineRelease[] = R"(Examples:
  edgekiln quarantine release 3f2a90c1d7e4
      After the daemon's lease timeout was raised, say; then run the job again.
  edgekiln quarantine list --json | jq -r '.stages[].id' |
      xargs -r edgekiln quarantine release
      All that the list has.
)";

constexpr char kCompletion[] = R"(Examples:
  source <(edgekiln completion bash)      # in this shell; or in ~/.bashrc
  edgekiln completion zsh > ~/.zfunc/_edgekiln  # a folder of $fpath
)";

constexpr char kMan[] = R"(Examples:
  man <(edgekiln man)
  man <(edgekiln man jobs list)
)";

constexpr char kSweep[] = R"(Examples:
  edgekiln sweep *.tflite --target 'dla-64-*' --timing-only
      Every model on every chip that matches: a row each, as they finish.
  edgekiln sweep net.tflite --target dla-64-o-512k \
      --vary sram_bytes=128KiB,256KiB,512KiB --vary pes=32,64,128
      Nine chips. Two varied keys make a matrix of cycles.
  edgekiln sweep net.onnx --target 'dla-64-*' --recipe default --recipe serial \
      --exclude 'target=*-1m recipe=serial' --calibration train.npz \
      --validate --data test.npz --min-accuracy 90% --csv rows.csv
      Accuracy of each; exit code 3 if a row is below 90 %.
  edgekiln sweep net.tflite --target 'dla-64-*' --dry-run
      What would be run, what is refused, and why.
  edgekiln sweep run sweep.txtpb --detach
      A sweep from a file (docs/sweeps.md); the daemon goes on alone.
  edgekiln sweep watch last

The daemon runs the cells as jobs of class batch, as many at once as there are
workers for. Stages that cells share run once. Closing this command stops
nothing with --detach; without it, Ctrl-C cancels the sweep, and what is
finished is not computed again.

With --json: a line for each cell as it finishes, then {"summary": ...}.

Exit codes: 0 every cell that could be run was, also where others are refused;
1 a cell failed, by the model or the data; 3 a limit is broken; 4 a cell failed
by our fault.
)";

constexpr char kSweepRun[] = R"(Examples:
  edgekiln sweep run sweep.txtpb
  edgekiln sweep run sweep.txtpb --dry-run

A file holds groups of models, targets, recipes and varied keys:

  groups {
    models { file: "net.tflite" }
    targets { name: "dla-64-*" }
    vary { key: "offload" values: ["all", "none"] }
    goal: SWEEP_TIMING
  }

proto/edgekiln/v1/sweep.proto has all keys; an unknown one is an error.
)";

}  // namespace

std::string HelpHeader() {
  return "edgekiln compiles trained models for edge accelerators and measures "
         "them on\nsimulated chips: cycles, memory, accuracy.";
}

std::string HelpFooter(Command command) {
  switch (command) {
    case Command::kHelp:
      return kRoot;
    case Command::kInspect:
      return kInspect;
    case Command::kQuantize:
      return kQuantize;
    case Command::kCompile:
      return kCompile;
    case Command::kProfile:
      return kProfile;
    case Command::kValidate:
      return kValidate;
    case Command::kRun:
      return kRun;
    case Command::kTargetsList:
      return kTargetsList;
    case Command::kTargetsShow:
      return kTargetsShow;
    case Command::kTargetsCheck:
      return kTargetsCheck;
    case Command::kTargetsSources:
      return kTargetsSources;
    case Command::kJobsWatch:
      return kJobsWatch;
    case Command::kJobsLog:
      return kJobsLog;
    case Command::kSweep:
      return kSweep;
    case Command::kSweepRun:
      return kSweepRun;
    case Command::kTop:
      return kTop;
    case Command::kLsp:
      return kLsp;
    case Command::kQuarantineList:
      return kQuarantineList;
    case Command::kQuarantineRelease:
      return kQuarantineRelease;
    case Command::kCompletion:
      return kCompletion;
    case Command::kMan:
      return kMan;
    default:
      return ReportHelpFooter(command);
  }
}

std::string VersionText() { return "edgekiln " EK_VERSION; }

std::string VersionJson() {
  return absl::StrCat("{\n \"version\": ", JsonString(EK_VERSION), "\n}\n");
}

}  // namespace edgekiln::client
