#ifndef EK_SERVER_WORKER_STAGES_FIRMWARE_IMAGE_H_
#define EK_SERVER_WORKER_STAGES_FIRMWARE_IMAGE_H_

// What linked firmware takes of the two memories that it lies in.

#include <cstdint>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::server {

// Indices into Machine.memories.
struct FirmwareMemories {
  int flash = 0;  // Code, constants, initial values of variables.
  int ram = 0;    // Variables, the arena, the stack at its end.
};

// The first that holds code, and the first that holds activations; empty if
// these are not two.
std::optional<FirmwareMemories> FindFirmwareMemories(
    const v1::Machine& machine);

struct FirmwareImage {
  v1::FirmwareSections sections;  // stack_bytes is 0.
  // From the memory's base to the last byte, gaps included.
  int64_t flash_bytes = 0;
  int64_t ram_bytes = 0;  // Without the stack.
};

// INVALID_ARGUMENT for what is no ELF file, and for sections below the base of
// their memory.
absl::StatusOr<FirmwareImage> MeasureImage(absl::string_view elf,
                                           const v1::ResolvedMemory& flash,
                                           const v1::ResolvedMemory& ram);

// The capacity that `ram` must have at least for the image and a stack of that
// many bytes, whose top is a multiple of 16.
int64_t RamNeed(const FirmwareImage& image, int64_t stack_bytes,
                const v1::ResolvedMemory& ram);

}  // namespace edgekiln::server

#endif  // EK_SERVER_WORKER_STAGES_FIRMWARE_IMAGE_H_
