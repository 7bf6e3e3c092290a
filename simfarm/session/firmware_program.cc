#include "simfarm/session/firmware_program.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "simfarm/session/firmware_config.h"

namespace edgekiln::simfarm {
namespace {

constexpr int64_t kMaxInstructions = int64_t{1} << 40;

absl::Status CheckKind(const v1::Program& program) {
  if (program.steps_size() != 0 || program.streams_size() != 0 ||
      program.ranges_size() != 0 || program.segments_size() != 0) {
    return InvalidProgram("firmware beside steps, streams, ranges or segments",
                          "firmware");
  }
  if (program.firmware().functions_size() != program.layers_size()) {
    return InvalidProgram(
        absl::StrCat(program.firmware().functions_size(), " functions for ",
                     program.layers_size(), " layers"),
        "firmware");
  }
  return absl::OkStatus();
}

absl::Status CheckDigest(const v1::Program::Firmware& firmware,
                         absl::string_view elf) {
  if (!firmware.has_elf()) return absl::OkStatus();
  const Digest digest = DigestOf(elf);
  if (firmware.elf().hash() == digest.hash &&
      firmware.elf().size_bytes() == digest.size_bytes) {
    return absl::OkStatus();
  }
  return InvalidProgram("the program belongs to another ELF file", "firmware");
}

// The addresses of functions, by name; absent where two have the same.
using Addresses =
    absl::flat_hash_map<absl::string_view, std::optional<uint32_t>>;

Addresses AddressesOf(const rv32::Executable& executable) {
  Addresses addresses;
  for (const rv32::Function& function : executable.functions) {
    const auto [it, is_new] =
        addresses.try_emplace(function.name, function.address);
    if (!is_new && it->second != function.address) it->second.reset();
  }
  return addresses;
}

absl::StatusOr<uint32_t> FindFunction(const Addresses& addresses,
                                      const std::string& name) {
  const auto found = addresses.find(name);
  if (found == addresses.end()) {
    return InvalidProgram(
        absl::StrCat("the ELF file has no function \"", name, "\""),
        "firmware");
  }
  if (!found->second.has_value()) {
    return InvalidProgram(
        absl::StrCat("the ELF file has several functions \"", name, "\""),
        "firmware");
  }
  return *found->second;
}

absl::Status LoadFunctions(FirmwareProgram* program) {
  const v1::Program::Firmware& firmware = program->loaded->program.firmware();
  const Addresses addresses = AddressesOf(program->executable);
  EK_ASSIGN_OR_RETURN(program->run, FindFunction(addresses, firmware.run()));
  absl::flat_hash_map<uint32_t, int> index_of;
  for (const std::string& name : firmware.functions()) {
    if (name.empty()) {
      program->function_of_layer.push_back(-1);
      continue;
    }
    EK_ASSIGN_OR_RETURN(const uint32_t address, FindFunction(addresses, name));
    const auto [it, is_new] = index_of.try_emplace(
        address, static_cast<int>(program->entries.size()));
    if (is_new) program->entries.push_back(address);
    program->function_of_layer.push_back(it->second);
  }
  return absl::OkStatus();
}

absl::Status CheckTaps(const LoadedProgram& loaded) {
  for (const LoadedStep& layer : loaded.steps) {
    for (const LoadedTap& tap : layer.taps) {
      if (loaded.IsSystem(tap.tap->location().memory())) continue;
      return InvalidProgram("a tap in memory that the processor cannot reach",
                            absl::StrCat("tensor ", tap.tap->tensor()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckMemories(const FirmwareProgram& program) {
  int64_t total = 0;
  for (const rv32::MemoryRegion& region : program.config.memory) {
    total += region.size_bytes;
  }
  return CheckMemoryBytes(total, program.loaded->options);
}

// Clears and copies all that can be written, byte by byte.
int64_t SetupLimit(const FirmwareProgram& program) {
  int64_t writable = 0;
  for (const rv32::MemoryRegion& region : program.config.memory) {
    if (region.writable) writable += region.size_bytes;
  }
  return 1'000'000 + 16 * writable;
}

// Float arithmetic in software takes some hundred instructions, an exponential
// function some thousand.
int64_t InferenceLimit(const LoadedProgram& loaded) {
  if (loaded.options.max_instructions > 0) {
    return loaded.options.max_instructions;
  }
  __int128 limit = int64_t{1} << 30;
  for (const v1::Program::Layer& layer : loaded.program.layers()) {
    limit += __int128{1024} * std::max<int64_t>(layer.macs(), 0);
  }
  for (const v1::TensorUse& tensor : loaded.program.tensors()) {
    limit += __int128{4096} * std::max<int64_t>(tensor.bytes(), 0);
  }
  return static_cast<int64_t>(std::min<__int128>(limit, kMaxInstructions));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const FirmwareProgram>> LoadFirmware(
    const v1::Program& program, absl::string_view elf,
    const v1::Machine& machine, const SessionOptions& options) {
  EK_RETURN_IF_ERROR(CheckKind(program));
  auto firmware = std::make_shared<FirmwareProgram>();
  EK_ASSIGN_OR_RETURN(firmware->config,
                      FirmwareConfig(program.firmware(), machine));
  EK_ASSIGN_OR_RETURN(
      const std::shared_ptr<LoadedProgram> loaded,
      LoadInterface(program, std::make_shared<const v1::Machine>(machine),
                    options));
  firmware->loaded = loaded;
  EK_RETURN_IF_ERROR(CheckMemories(*firmware));
  loaded->steps.resize(loaded->program.layers_size());
  EK_RETURN_IF_ERROR(LoadTaps(loaded.get()));
  EK_RETURN_IF_ERROR(CheckTaps(*loaded));
  EK_RETURN_IF_ERROR(CheckDigest(program.firmware(), elf));
  EK_ASSIGN_OR_RETURN(firmware->executable, rv32::ReadElf(elf), "firmware");
  EK_RETURN_IF_ERROR(LoadFunctions(firmware.get()));
  firmware->setup_limit = SetupLimit(*firmware);
  firmware->inference_limit = InferenceLimit(*loaded);
  return firmware;
}

}  // namespace edgekiln::simfarm
