#include "server/worker/stages/firmware_image.h"

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "base/status_macros.h"
#include "compiler/codegen/firmware/elf_sections.h"

namespace edgekiln::server {
namespace {

constexpr uint64_t kStackAlignment = 16;

std::optional<int> FirstThatHolds(const v1::Machine& machine,
                                  v1::MemoryDescriptor::Content content) {
  for (int i = 0; i < machine.memories_size(); ++i) {
    for (const int held : machine.memories(i).holds()) {
      if (held == content) return i;
    }
  }
  return std::nullopt;
}

// From the base of the memory to `end`.
absl::StatusOr<int64_t> Extent(const compiler::ElfSection& section,
                               uint64_t begin, uint64_t end,
                               const v1::ResolvedMemory& memory) {
  if (begin >= memory.base_address()) {
    return static_cast<int64_t>(end - memory.base_address());
  }
  return MakeError(absl::StatusCode::kInvalidArgument,
                   {.fault = Fault::kInfra,
                    .reason = "FIRMWARE_MISPLACED",
                    .what = absl::StrCat("section '", section.name,
                                         "' lies outside of its memory"),
                    .where = absl::StrCat("address ", begin),
                    .limit = absl::StrCat("memory ", memory.name(), " at ",
                                          memory.base_address())});
}

}  // namespace

std::optional<FirmwareMemories> FindFirmwareMemories(
    const v1::Machine& machine) {
  const auto flash = FirstThatHolds(machine, v1::MemoryDescriptor::CODE);
  const auto ram = FirstThatHolds(machine, v1::MemoryDescriptor::ACTIVATIONS);
  if (!flash || !ram || *flash == *ram) return std::nullopt;
  return FirmwareMemories{.flash = *flash, .ram = *ram};
}

absl::StatusOr<FirmwareImage> MeasureImage(absl::string_view elf,
                                           const v1::ResolvedMemory& flash,
                                           const v1::ResolvedMemory& ram) {
  EK_ASSIGN_OR_RETURN(const std::vector<compiler::ElfSection> sections,
                      compiler::ReadElfSections(elf));
  FirmwareImage image;
  v1::FirmwareSections& sizes = image.sections;
  for (const compiler::ElfSection& section : sections) {
    const auto bytes = static_cast<int64_t>(section.size_bytes);
    if (section.is_stored) {
      EK_ASSIGN_OR_RETURN(
          const int64_t extent,
          Extent(section, section.load_address, section.load_end(), flash));
      image.flash_bytes = std::max(image.flash_bytes, extent);
    }
    if (section.is_writable) {
      EK_ASSIGN_OR_RETURN(const int64_t extent,
                          Extent(section, section.address, section.end(), ram));
      image.ram_bytes = std::max(image.ram_bytes, extent);
    }
    if (section.is_writable && section.is_stored) {
      sizes.set_data_bytes(sizes.data_bytes() + bytes);
    } else if (section.is_writable) {
      sizes.set_bss_bytes(sizes.bss_bytes() + bytes);
    } else if (section.is_executable) {
      sizes.set_text_bytes(sizes.text_bytes() + bytes);
    } else {
      sizes.set_rodata_bytes(sizes.rodata_bytes() + bytes);
    }
  }
  return image;
}

int64_t RamNeed(const FirmwareImage& image, int64_t stack_bytes,
                const v1::ResolvedMemory& ram) {
  const uint64_t end = ram.base_address() +
                       static_cast<uint64_t>(image.ram_bytes) +
                       static_cast<uint64_t>(stack_bytes);
  const uint64_t top =
      (end + kStackAlignment - 1) / kStackAlignment * kStackAlignment;
  return static_cast<int64_t>(top - ram.base_address());
}

}  // namespace edgekiln::server
