#include "compiler/codegen/host/host_files.h"

#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/codegen/firmware/check_files.h"
#include "compiler/codegen/host/desk_chip.h"
#include "compiler/codegen/host/host_network.h"
#include "compiler/codegen/host/host_operators.h"

namespace edgekiln::compiler {
namespace {

// Multiply-accumulates above which one sample is recorded, and none: the stage
// computes them.
constexpr int64_t kMacsOfTwoSamples = 20'000'000;
constexpr int64_t kMacsOfOneSample = 20'000'000'000;

// Indices and addresses, which the others take for granted.
absl::Status CheckPlaces(const v1::Program& program, const Graph& graph,
                         const v1::Machine& machine) {
  const auto is_known = [&](const v1::Location& location) {
    return location.memory() >= 0 &&
           location.memory() < machine.memories_size() &&
           location.address() >=
               machine.memories(location.memory()).base_address();
  };
  bool known = program.inputs_size() == std::ssize(graph.inputs) &&
               program.outputs_size() == std::ssize(graph.outputs);
  for (const auto& segment : program.segments()) {
    known = known && is_known(segment.location());
  }
  for (const auto* bindings : {&program.inputs(), &program.outputs()}) {
    for (const auto& binding : *bindings) {
      known = known && is_known(binding.location());
    }
  }
  for (const v1::Program::Step& step : program.steps()) {
    for (const auto* operands :
         {&step.host_op().inputs(), &step.host_op().outputs()}) {
      for (const auto& operand : *operands) {
        known = known && (operand.absent() || is_known(operand.location()));
      }
    }
    if (step.has_move()) {
      known =
          known && is_known(step.move().from()) && is_known(step.move().to());
    }
    if (step.register_writes().has_record()) {
      known = known && is_known(step.register_writes().record().location());
    }
    if (step.has_launch()) {
      known = known && step.launch().stream() >= 0 &&
              step.launch().stream() < program.streams_size();
    }
  }
  for (const v1::Program::Carry& carry : program.carries()) {
    known = known && carry.output() >= 0 &&
            carry.output() < program.outputs_size() && carry.input() >= 0 &&
            carry.input() < program.inputs_size();
  }
  if (known) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the program names a memory, stream or tensor that is none");
}

std::string MakeText(const std::string& prefix,
                     const std::vector<CFile>& files) {
  std::string sources = absl::StrCat(prefix, ".c");
  std::string headers = absl::StrCat(prefix, ".h edgekiln_driver.h");
  for (const CFile& file : files) {
    if (!absl::StartsWith(file.path, "desk/")) continue;
    absl::StrAppend(absl::EndsWith(file.path, ".c") ? &sources : &headers, " ",
                    file.path);
  }
  return absl::StrReplaceAll(
      R"(# Made by edgekiln.
#   make check              compares the network, on this machine and models of
#                           the chip's engines, with what the reference
#                           interpreter computed
#   make check SANITIZE=1   the same with the compiler's sanitizers

CC = cc
CFLAGS = -O2 -Wall -Wextra -Werror -pedantic
PROGRAM = check_network
ifdef SANITIZE
CFLAGS += -g -fsanitize=address,undefined -fno-sanitize-recover=all
PROGRAM = check_sanitized
endif

check: $(PROGRAM)
	./$(PROGRAM)

$(PROGRAM): check.c check_data.h @headers@ @sources@
	$(CC) -std=c99 -ffp-contract=off $(CFLAGS) -I. check.c @sources@ -o $@

clean:
	rm -f check_network check_sanitized

.PHONY: check clean
)",
      {{"@sources@", sources}, {"@headers@", headers}});
}

}  // namespace

absl::StatusOr<std::vector<CFile>> HostFiles(const v1::Program& program,
                                             const Graph& graph,
                                             absl::string_view constants,
                                             const v1::Machine& machine) {
  EK_RETURN_IF_ERROR(CheckPlaces(program, graph, machine));
  const std::string prefix = CPrefix(graph.name);
  EK_ASSIGN_OR_RETURN(const COperators operators,
                      HostOperators(program, constants, machine, prefix));
  EK_ASSIGN_OR_RETURN(std::vector<CFile> files,
                      HostNetwork(program, operators, machine, prefix));
  EK_ASSIGN_OR_RETURN(
      std::vector<CFile> desk,
      DeskChip(program, std::ssize(constants), machine, prefix));
  if (desk.empty()) return files;
  int64_t macs = 0;
  for (const v1::Program::Layer& layer : program.layers()) {
    macs += layer.macs();
  }
  CheckOptions options;
  options.most_samples = macs > kMacsOfOneSample    ? 0
                         : macs > kMacsOfTwoSamples ? 1
                                                    : 2;
  options.include = "desk/desk.h";
  options.start = "desk_start(\"..\");";
  EK_ASSIGN_OR_RETURN(std::vector<CFile> check, CheckProgram(graph, options));
  files.push_back({"Makefile", MakeText(prefix, desk)});
  for (std::vector<CFile>* more : {&desk, &check}) {
    for (CFile& file : *more) files.push_back(std::move(file));
  }
  return files;
}

}  // namespace edgekiln::compiler
