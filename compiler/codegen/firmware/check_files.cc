#include "compiler/codegen/firmware/check_files.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/firmware/large_check.h"
#include "compiler/codegen/firmware/own_kernels.h"
#include "compiler/codegen/firmware/runtime.h"
#include "compiler/dataset/synthesize.h"
#include "compiler/ir/interpreter.h"
#include "target/firmware.h"

namespace edgekiln::compiler {
namespace {

constexpr int64_t kTwoSamplesBytes = int64_t{1} << 20;
// As arrays, and at all: the stage that makes bundles computes all of them.
constexpr int64_t kMostArrayBytes = int64_t{16} << 20;
constexpr int64_t kMostBytes = int64_t{256} << 20;
// Of all samples: whoever asked for the bundle waits for them.
constexpr int64_t kMostOperations = 4'000'000'000;

// Inputs that the caller writes, and outputs, of one sample.
struct Sample {
  std::vector<std::string> inputs;  // Empty: a state.
  std::vector<std::string> outputs;
};

int64_t BytesOf(const Graph& graph, const std::vector<TensorId>& tensors) {
  int64_t bytes = 0;
  for (const TensorId id : tensors) {
    bytes +=
        graph.tensors[id].num_elements() * ElementBytes(graph.tensors[id].type);
  }
  return bytes;
}

int64_t PortBytes(const Graph& graph) {
  return BytesOf(graph, graph.inputs) + BytesOf(graph, graph.outputs);
}

bool IsLarge(const Graph& graph) { return PortBytes(graph) > kMostArrayBytes; }

// Of one inference: multiply-accumulates, and values that are written.
int64_t OperationsOf(const Graph& graph) {
  int64_t operations = 0;
  for (const Op& op : graph.ops) {
    int64_t values = 0;
    for (const TensorId id : op.outputs) {
      values += std::min(graph.tensors[id].num_elements(), kMostOperations);
    }
    operations +=
        std::min(std::max(MacsOf(graph, op), values), kMostOperations);
    if (operations > kMostOperations) return kMostOperations + 1;
  }
  return operations;
}

std::vector<bool> StatesOf(const Graph& graph) {
  std::vector<bool> is_state(graph.inputs.size(), false);
  for (const State& state : graph.states) {
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      if (graph.inputs[i] == state.input) is_state[i] = true;
    }
  }
  return is_state;
}

bool Computes(Interpreter& interpreter, const Sample& sample) {
  const std::vector<absl::string_view> inputs(sample.inputs.begin(),
                                              sample.inputs.end());
  return interpreter.Run(inputs).ok();
}

absl::StatusOr<std::vector<Sample>> Samples(const Graph& graph, int most) {
  const int64_t operations = OperationsOf(graph);
  if (IsLarge(graph) || most == 0 || operations > kMostOperations) {
    return std::vector<Sample>();
  }
  const bool is_small =
      PortBytes(graph) <= kTwoSamplesBytes && operations <= kMostOperations / 2;
  const std::vector<bool> is_state = StatesOf(graph);
  std::vector<v1::TensorType> types;
  for (const TensorId id : graph.inputs) {
    types.push_back(TypeOf(graph.tensors[id]));
  }
  v1::SynthesizeDataOptions options;
  options.set_seed(1);
  options.set_samples(is_small ? most : 1);
  options.set_chunk_samples(1);
  EK_ASSIGN_OR_RETURN(const std::vector<v1::Chunk> chunks,
                      SynthesizeData(options, types, nullptr, is_state));
  const auto created =
      Interpreter::Create(graph, {.max_buffer_bytes = kCheckBufferBytes});
  if (absl::IsResourceExhausted(created.status())) {
    return std::vector<Sample>();
  }
  EK_RETURN_IF_ERROR(created.status());
  Interpreter& interpreter = **created;
  std::vector<Sample> samples;
  for (const v1::Chunk& chunk : chunks) {
    Sample sample;
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      sample.inputs.push_back(
          is_state[i] ? "" : chunk.arrays(static_cast<int>(i)).data());
    }
    // What is random need not be an index: 0 mostly is one.
    if (!Computes(interpreter, sample)) {
      for (std::string& input : sample.inputs) input.assign(input.size(), '\0');
      if (!Computes(interpreter, sample)) return std::vector<Sample>();
    }
    for (const TensorId output : graph.outputs) {
      sample.outputs.emplace_back(interpreter.value(output));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

void AppendArray(const std::string& name, const std::string& bytes,
                 std::string& out) {
  absl::StrAppend(&out, "static const unsigned char ", name, "[",
                  std::max<size_t>(bytes.size(), 1), "] = {");
  if (bytes.empty()) absl::StrAppend(&out, "0");
  constexpr size_t kPerLine = 20;
  for (size_t i = 0; i < bytes.size(); ++i) {
    absl::StrAppend(&out, i % kPerLine == 0 ? "\n  " : "",
                    static_cast<int>(static_cast<unsigned char>(bytes[i])),
                    ",");
  }
  absl::StrAppend(&out, "};\n");
}

std::string DataText(const std::vector<Sample>& samples) {
  std::string out =
      "/* Made by edgekiln: inputs, and outputs of the reference interpreter; "
      "bytes of\n   little-endian values. */\n";
  for (size_t s = 0; s < samples.size(); ++s) {
    for (size_t i = 0; i < samples[s].inputs.size(); ++i) {
      if (samples[s].inputs[i].empty()) continue;
      AppendArray(absl::StrCat("input_", s, "_", i), samples[s].inputs[i], out);
    }
    for (size_t i = 0; i < samples[s].outputs.size(); ++i) {
      AppendArray(absl::StrCat("output_", s, "_", i), samples[s].outputs[i],
                  out);
    }
  }
  return out;
}

// Bytes of a float of each output; 0 of integers.
std::vector<int64_t> FloatBytes(const Graph& graph) {
  std::vector<int64_t> bytes;
  for (const TensorId id : graph.outputs) {
    const v1::ElementType type = graph.tensors[id].type;
    const bool is_float =
        type == v1::FLOAT16 || type == v1::FLOAT32 || type == v1::FLOAT64;
    bytes.push_back(is_float ? ElementBytes(type) : 0);
  }
  return bytes;
}

std::string CheckText(const Graph& graph, const std::vector<Sample>& samples,
                      const std::string& prefix, const CheckOptions& options) {
  const std::vector<int64_t> float_bytes = FloatBytes(graph);
  const std::string macro = CMacroPrefix(prefix);
  if (samples.empty()) {
    return "/* Made by edgekiln. */\n#include <stdio.h>\n\nint main(void) {\n"
           "  printf(\"nothing was recorded: the network is too large, or "
           "generated inputs do not suit it\\n\");\n"
           "  return 0;\n}\n";
  }
  std::string out = absl::StrCat(
      "/* Made by edgekiln: runs the network on this machine and compares it "
      "with\n   recorded outputs. */\n#include <stdint.h>\n#include "
      "<stdio.h>\n#include <string.h>\n\n#include \"",
      prefix, ".h\"\n#include \"check_data.h\"\n",
      options.include.empty()
          ? ""
          : absl::StrCat("#include \"", options.include, "\"\n"),
      "\n",
      R"(static int wrong;

/* Whether two floats of that many bytes are the same, or a NaN both. */
static int same(const unsigned char *a, const unsigned char *b, size_t bytes) {
  const uint64_t infinity = bytes == 2   ? 0x7c00
                            : bytes == 4 ? 0x7f800000
                                         : (uint64_t)0x7ff << 52;
  const uint64_t size = ((uint64_t)1 << (8 * bytes - 1)) - 1;
  uint64_t x = 0;
  uint64_t y = 0;
  size_t i;
  for (i = 0; i < bytes; ++i) {
    x |= (uint64_t)a[i] << (8 * i);
    y |= (uint64_t)b[i] << (8 * i);
  }
  return x == y || ((x & size) > infinity && (y & size) > infinity);
}

/* `float_bytes`: of each value; 0 for integers. */
static void compare(int sample, int output, const void *got, const void *want,
                    size_t bytes, size_t float_bytes) {
  const unsigned char *a = (const unsigned char *)got;
  const unsigned char *b = (const unsigned char *)want;
  size_t i;
  if (memcmp(got, want, bytes) == 0) return;
  for (i = 0; float_bytes != 0 && i < bytes; i += float_bytes) {
    if (!same(a + i, b + i, float_bytes)) break;
  }
  if (float_bytes != 0 && i == bytes) return;
  printf("sample %d: output %d differs from what was recorded\n", sample,
         output);
  wrong = 1;
}

int main(void) {
  int code;
)");
  if (!options.start.empty()) absl::StrAppend(&out, "  ", options.start, "\n");
  for (size_t s = 0; s < samples.size(); ++s) {
    for (size_t i = 0; i < samples[s].inputs.size(); ++i) {
      const std::string& input = samples[s].inputs[i];
      if (input.empty()) continue;
      absl::StrAppend(&out, "  memcpy((void *)", macro, "_INPUT_", i,
                      ", input_", s, "_", i, ", ", input.size(), ");\n");
    }
    absl::StrAppend(&out, "  code = ", prefix, "_invoke();\n  if (code != 0) ",
                    "{\n    printf(\"sample ", s,
                    ": layer %d met an index out of range\\n\", code - 1);\n",
                    "    return 1;\n  }\n");
    for (size_t i = 0; i < samples[s].outputs.size(); ++i) {
      const std::string& output = samples[s].outputs[i];
      if (output.empty()) continue;
      absl::StrAppend(&out, "  compare(", s, ", ", i, ", (const void *)", macro,
                      "_OUTPUT_", i, ", output_", s, "_", i, ", ",
                      output.size(), ", ", float_bytes[i], ");\n");
    }
  }
  absl::StrAppend(&out, "  if (wrong == 0) printf(\"", prefix, ": ",
                  samples.size(),
                  " samples equal what was recorded\\n\");\n  return "
                  "wrong;\n}\n");
  return out;
}

// Variables GCC_CC and so on.
std::string CompilerText(const target::CompilerUse& use) {
  const std::string name = absl::AsciiStrToUpper(
      std::string(target::CompilerFamilyName(use.family)));
  return absl::StrCat(
      name, "_CC = ", use.program, "\n", name,
      "_FLAGS = ", absl::StrJoin(target::CompileFlags(use), " "), "\n", name,
      "_LD = ", target::LinkProgram(use), "\n", name,
      "_LINK_FLAGS = ", absl::StrJoin(target::LinkFlags(use), " "), "\n");
}

// What a Makefile says of a target's own kernels; all of it is empty where no
// layer calls one.
struct OwnKernelRules {
  std::string variables;
  std::string flags;    // Of the files that include their headers.
  std::string check;    // What the check links.
  std::string rules;    // That make it.
  std::string compile;  // Commands of firmware.elf.
  std::string objects;  // That it links.
  std::string sources;  // What all of that is made of.
  std::string made;     // Files that these rules make, but for the programs.
};

OwnKernelRules RulesOf(const std::vector<std::string>& paths) {
  OwnKernelRules own;
  if (std::find(paths.begin(), paths.end(), kOwnKernelsFile) == paths.end()) {
    return own;
  }
  own.flags = " $(KERNEL_FLAGS)";
  std::string folders;
  for (const std::string& folder : OwnIncludeFolders(paths)) {
    absl::StrAppend(&folders, " -isystem ", folder);
  }
  own.variables = absl::StrCat("KERNEL_FLAGS =", folders, "\n");
  std::string headers;
  for (const std::string& path : paths) {
    if (!IsOwnPath(path)) continue;
    absl::StrAppend(&own.sources, " ", path);
    if (absl::EndsWith(path, ".h")) absl::StrAppend(&headers, " ", path);
  }
  int number = 0;
  for (const std::string& path : paths) {
    if (!IsOwnPath(path) || absl::EndsWith(path, ".h")) continue;
    const std::string object = absl::StrCat("kernel_", number, ".o");
    absl::StrAppend(&own.compile, "\t$($(COMPILER)_CC) $($(COMPILER)_FLAGS) ",
                    "$(KERNEL_FLAGS) -c ", path, " -o ", object, "\n");
    absl::StrAppend(&own.objects, " ", object);
    absl::StrAppend(&own.made, " ", object);
    if (absl::EndsWith(path, ".c")) {
      const std::string checked = absl::StrCat("$(PROGRAM)_", number, ".o");
      absl::StrAppend(&own.check, " ", checked);
      absl::StrAppend(&own.made, " check_network_", number,
                      ".o check_sanitized_", number, ".o");
      absl::StrAppend(&own.rules, checked, ": ", path, headers,
                      "\n\t$(CC) -std=c99 -ffp-contract=off $(CFLAGS) -w "
                      "$(KERNEL_FLAGS) -c ",
                      path, " -o $@\n\n");
    }
    ++number;
  }
  if (own.sources.empty()) {
    absl::StrAppend(&own.variables,
                    "# What KERNELS.txt lists: sources, objects or archives of "
                    "yours.\nKERNELS =\n");
    own.check = own.objects = own.sources = " $(KERNELS)";
  }
  return own;
}

std::string MakeText(const std::string& prefix, v1::Processor processor,
                     const OwnKernelRules& own) {
  std::string compilers;
  const target::ProcessorInfo* const info = target::FindProcessor(processor);
  if (info != nullptr) {
    for (const target::CompilerUse& use : info->compilers) {
      absl::StrAppend(&compilers, CompilerText(use));
    }
  }
  return absl::StrReplaceAll(
      R"(# Made by edgekiln.
#   make check              compares the network, on this machine, with what the
#                           reference interpreter computed
#   make check SANITIZE=1   the same with the compiler's sanitizers
#   make firmware.elf       builds it for the target; COMPILER=CLANG for clang

CC = cc
CFLAGS = -O2 -Wall -Wextra -Werror
PROGRAM = check_network
ifdef SANITIZE
CFLAGS += -g -fsanitize=address,undefined -fno-sanitize-recover=all
PROGRAM = check_sanitized
endif
COMPILER = GCC
@variables@@compilers@
check: $(PROGRAM)
	./$(PROGRAM)

$(PROGRAM): check.c check_data.h @prefix@.c @prefix@.h@check@
	$(CC) -std=c99 -ffp-contract=off $(CFLAGS)@flags@ check.c @prefix@.c@check@ -o $@

@rules@firmware.elf: @prefix@.c @prefix@.h @runtime@ start.S firmware.ld@sources@
	$($(COMPILER)_CC) $($(COMPILER)_FLAGS)@flags@ -c @prefix@.c -o network.o
	$($(COMPILER)_CC) $($(COMPILER)_FLAGS) -c @runtime@ -o runtime.o
	$($(COMPILER)_CC) $($(COMPILER)_FLAGS) -c start.S -o start.o
@compile@	$($(COMPILER)_LD) $($(COMPILER)_LINK_FLAGS) network.o runtime.o start.o@objects@ -o $@

clean:
	rm -f check_network check_sanitized firmware.elf network.o runtime.o start.o@made@

.PHONY: check clean
)",
      {{"@compilers@", compilers},
       {"@prefix@", prefix},
       {"@runtime@", kRuntimeFile},
       {"@variables@", own.variables},
       {"@flags@", own.flags},
       {"@check@", own.check},
       {"@rules@", own.rules},
       {"@compile@", own.compile},
       {"@objects@", own.objects},
       {"@sources@", own.sources},
       {"@made@", own.made}});
}

}  // namespace

absl::StatusOr<std::vector<CFile>> CheckProgram(const Graph& graph,
                                                const CheckOptions& options) {
  EK_ASSIGN_OR_RETURN(const std::vector<Sample> samples,
                      Samples(graph, options.most_samples));
  const std::string prefix = CPrefix(graph.name);
  std::string text;
  if (IsLarge(graph) && PortBytes(graph) <= kMostBytes &&
      options.most_samples > 0 && OperationsOf(graph) <= kMostOperations) {
    EK_ASSIGN_OR_RETURN(
        text, LargeCheckText(graph, prefix, options.include, options.start));
  }
  if (text.empty()) text = CheckText(graph, samples, prefix, options);
  std::vector<CFile> files;
  files.push_back({"check.c", std::move(text)});
  files.push_back({"check_data.h", DataText(samples)});
  return files;
}

absl::StatusOr<std::vector<CFile>> CheckFiles(
    const Graph& graph, v1::Processor processor,
    const std::vector<std::string>& paths) {
  EK_ASSIGN_OR_RETURN(std::vector<CFile> files, CheckProgram(graph, {}));
  files.insert(
      files.begin(),
      {"Makefile", MakeText(CPrefix(graph.name), processor, RulesOf(paths))});
  return files;
}

}  // namespace edgekiln::compiler
