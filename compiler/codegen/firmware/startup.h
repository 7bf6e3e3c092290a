#ifndef EK_COMPILER_CODEGEN_FIRMWARE_STARTUP_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_STARTUP_H_

#include <string>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/firmware.pb.h"
#include "edgekiln/v1/target.pb.h"

// What makes a firmware of C code: the way from reset to the network, and where
// everything lies.
namespace edgekiln::compiler {

// Program.Firmware.run.
inline constexpr char kRunSymbol[] = "ek_run";

// Assembler of _start and ek_run. On a simulated processor both end by writing
// to the exit device (docs/targets/rv32.md, section 8); on others _start runs
// one inference and stops. `prefix` is that of the network's C names.
std::string StartText(v1::Processor processor, absl::string_view prefix);

// Linker script: code and constants in `flash`; the arena at the begin of
// `ram`, then variables, and the stack at its end. Their lengths are symbols,
// ek_flash_bytes and ek_ram_bytes, which may be set to others.
std::string LinkerScript(const v1::ResolvedMemory& flash,
                         const v1::ResolvedMemory& ram,
                         absl::string_view prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_STARTUP_H_
