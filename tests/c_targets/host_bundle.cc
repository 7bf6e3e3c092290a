#include "tests/c_targets/host_bundle.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/c/testing/compiled_networks.h"
#include "compiler/codegen/host/host_files.h"
#include "compiler/ir/interpreter.h"
#include "compiler/ir/same_values.h"
#include "gtest/gtest.h"
#include "tests/pipeline/chip_run.h"

namespace edgekiln::tests {
namespace {

namespace fs = std::filesystem;

using compiler::Graph;
using compiler::TensorId;

std::string NewFolder() {
  static int number = 0;
  return absl::StrCat(testing::TempDir(), "/host_bundle_", getpid(), "_",
                      number++);
}

bool IsState(const Graph& graph, TensorId input) {
  for (const compiler::State& state : graph.states) {
    if (state.input == input) return true;
  }
  return false;
}

int64_t BytesOf(const Graph& graph, TensorId id) {
  return graph.tensors[id].num_elements() *
         compiler::ElementBytes(graph.tensors[id].type);
}

// Files of desk/ that are the same for every network, compiled once for each
// set of flags; the archive's path.
absl::StatusOr<std::string> ModelsOf(const HostBundle& bundle,
                                     const std::string& flags) {
  static auto& archives = *new std::map<std::string, std::string>;
  std::string names, key = flags;
  for (const auto& entry :
       fs::directory_iterator(bundle.folder() + "/c/desk")) {
    const std::string name = entry.path().filename();
    if (!absl::EndsWith(name, ".c") || name == "chip.c" ||
        absl::StartsWith(name, "engine_")) {
      continue;
    }
    absl::StrAppend(&names, " ", name);
  }
  absl::StrAppend(&key, names);
  std::string& archive = archives[key];
  if (!archive.empty() || names.empty()) return archive;
  const std::string made = NewFolder() + ".a";
  if (!bundle.Runs(absl::StrCat("cd c/desk && gcc -std=c99 ", flags, " -c",
                                names, " && ar rc '", made,
                                "' *.o && rm *.o"))) {
    return absl::InternalError("the models do not compile");
  }
  return archive = made;
}

}  // namespace

absl::StatusOr<HostBundle> HostBundle::Create(const Graph& graph,
                                              const v1::ResolvedTarget& target,
                                              const v1::TileRecipe& recipe) {
  HostBundle bundle(graph, NewFolder());
  EK_ASSIGN_OR_RETURN(bundle.compiled_,
                      CompileQuantized(graph, target, recipe));
  EK_ASSIGN_OR_RETURN(
      const std::vector<compiler::CFile> files,
      compiler::HostFiles(bundle.compiled_.program, graph,
                          bundle.compiled_.constants, target.machine()));
  fs::create_directories(bundle.folder_ + "/c/desk");
  fs::create_directories(bundle.folder_ + "/streams");
  for (const compiler::CFile& file : files) {
    bundle.Write("c/" + file.path, file.text);
  }
  bundle.Write("constants.bin", bundle.compiled_.constants);
  const v1::Program& program = bundle.compiled_.program;
  for (int s = 0; s < program.streams_size(); ++s) {
    bundle.Write(absl::StrFormat("streams/%03d.bin", s),
                 program.streams(s).code());
  }
  return bundle;
}

HostBundle::HostBundle(HostBundle&& other) noexcept
    : graph_(std::move(other.graph_)),
      folder_(std::exchange(other.folder_, "")),
      compiled_(std::move(other.compiled_)) {}

HostBundle::~HostBundle() {
  if (!folder_.empty()) fs::remove_all(folder_);
}

std::string HostBundle::Read(const std::string& path) const {
  std::ifstream file(folder_ + "/" + path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void HostBundle::Write(const std::string& path,
                       const std::string& bytes) const {
  std::ofstream(folder_ + "/" + path, std::ios::binary) << bytes;
}

bool HostBundle::Runs(const std::string& command) const {
  const int status = std::system(
      absl::StrCat("cd '", folder_, "' && timeout 300 sh -c \"", command, "\"")
          .c_str());
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool HostBundle::Checks(const std::string& variables) const {
  return Runs(absl::StrCat("make -s -C c check ", variables, " > log 2>&1"));
}

absl::Status HostBundle::BuildHarness(const std::string& flags) const {
  const std::string prefix = compiler::CPrefix(graph_.name);
  const std::string macro = absl::AsciiStrToUpper(prefix);
  std::string text = absl::StrCat(
      "#include <stdio.h>\n#include \"", prefix,
      ".h\"\n#include \"desk/desk.h\"\n"
      "int main(int argc, char **argv) {\n  int samples = argv[1][0] - '0';\n"
      "  (void)argc;\n  desk_start(\"..\");\n  while (samples-- > 0) {\n");
  for (size_t i = 0; i < graph_.inputs.size(); ++i) {
    const TensorId id = graph_.inputs[i];
    if (IsState(graph_, id) || BytesOf(graph_, id) == 0) continue;
    absl::StrAppend(&text, "    if (fread((void *)", macro, "_INPUT_", i, ", ",
                    BytesOf(graph_, id), ", 1, stdin) != 1) return 2;\n");
  }
  absl::StrAppend(&text, "    if (", prefix, "_invoke() != 0) return 3;\n");
  for (size_t i = 0; i < graph_.outputs.size(); ++i) {
    absl::StrAppend(&text, "    fwrite((const void *)", macro, "_OUTPUT_", i,
                    ", 1, ", BytesOf(graph_, graph_.outputs[i]),
                    ", stdout);\n");
  }
  absl::StrAppend(&text, "  }\n  return 0;\n}\n");
  Write("c/harness.c", text);
  std::string engines;
  for (const auto& entry : fs::directory_iterator(folder_ + "/c/desk")) {
    const std::string name = entry.path().filename();
    if (absl::StartsWith(name, "engine_")) {
      absl::StrAppend(&engines, " desk/", name);
    }
  }
  EK_ASSIGN_OR_RETURN(const std::string models, ModelsOf(*this, flags));
  if (Runs(absl::StrCat("cd c && gcc -std=c99 -ffp-contract=off -Wall -Wextra "
                        "-Werror -pedantic ",
                        flags, " -I. harness.c ", prefix, ".c desk/chip.c",
                        engines, " ", models, " -o harness"))) {
    return absl::OkStatus();
  }
  return absl::InternalError("the C does not compile");
}

absl::Status HostBundle::CompareWithInterpreter(int samples,
                                                const std::string& flags) {
  EK_RETURN_IF_ERROR(BuildHarness(flags));
  EK_ASSIGN_OR_RETURN(const auto reference,
                      compiler::Interpreter::Create(graph_));
  std::string all_inputs;
  std::vector<std::vector<std::string>> wanted;
  for (int s = 0; s < samples; ++s) {
    const std::vector<std::string> values =
        compiler::RandomInputs(graph_, static_cast<uint64_t>(s));
    std::vector<absl::string_view> inputs;
    size_t next = 0;
    for (const TensorId input : graph_.inputs) {
      if (IsState(graph_, input)) {
        inputs.emplace_back();
        continue;
      }
      inputs.push_back(values[next++]);
      absl::StrAppend(&all_inputs, inputs.back());
    }
    EK_RETURN_IF_ERROR(reference->Run(inputs));
    std::vector<std::string>& outputs = wanted.emplace_back();
    for (const TensorId output : graph_.outputs) {
      outputs.emplace_back(reference->value(output));
    }
  }
  Write("c/inputs", all_inputs);
  if (!Runs(
          absl::StrCat("cd c && ./harness ", samples, " < inputs > outputs"))) {
    return absl::InternalError(absl::StrCat("it fails: ", Read("c/outputs")));
  }
  const std::string got = Read("c/outputs");
  size_t at = 0;
  for (int s = 0; s < samples; ++s) {
    for (size_t i = 0; i < wanted[s].size(); ++i) {
      const size_t bytes = wanted[s][i].size();
      if (at + bytes > got.size() ||
          !compiler::SameValues(graph_.tensors[graph_.outputs[i]].type,
                                wanted[s][i],
                                absl::string_view(got).substr(at, bytes))) {
        return absl::InternalError(
            absl::StrCat("sample ", s, ": output ", i, " differs"));
      }
      at += bytes;
    }
  }
  return absl::OkStatus();
}

}  // namespace edgekiln::tests
