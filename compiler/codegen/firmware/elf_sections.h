#ifndef EK_COMPILER_CODEGEN_FIRMWARE_ELF_SECTIONS_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_ELF_SECTIONS_H_

// What a linked ELF file takes of memories.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace edgekiln::compiler {

// A section that occupies memory of the target when the program runs.
struct ElfSection {
  std::string name;
  uint64_t address = 0;       // When it runs,
  uint64_t load_address = 0;  // and where its bytes are stored.
  uint64_t size_bytes = 0;    // More than 0.
  bool is_stored = false;     // Not so .bss.
  bool is_writable = false;
  bool is_executable = false;

  // Behind its last byte.
  uint64_t end() const { return address + size_bytes; }
  uint64_t load_end() const { return load_address + size_bytes; }
};

// The sections of a little-endian ELF file of 32 or 64 bits, in the file's
// order. INVALID_ARGUMENT for anything else, hostile bytes included.
absl::StatusOr<std::vector<ElfSection>> ReadElfSections(absl::string_view file);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_ELF_SECTIONS_H_
