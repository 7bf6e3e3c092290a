#ifndef EK_TARGET_FIRMWARE_H_
#define EK_TARGET_FIRMWARE_H_

// The processors that C code is made for, and how it is compiled for them.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "edgekiln/v1/firmware.pb.h"

namespace edgekiln::target {

// What addresses, sizes of memories and of the stack are multiples of.
inline constexpr int64_t kMemoryAlignment = 16;

// How one family of compilers compiles for a processor.
struct CompilerUse {
  v1::CompilerFamily family{};
  std::string program;  // Found in PATH.
  std::string linker;   // Found there, too; empty: the program links.
  std::string package;  // Of Debian, that has them; several: "clang lld".
  std::vector<std::string> flags;  // What the processor asks for; no others.
};

struct ProcessorInfo {
  v1::Processor processor{};
  std::string name;  // "rv32imc"
  bool is_simulated = false;
  std::vector<CompilerUse> compilers;
};

absl::Span<const ProcessorInfo> Processors();
// Null for values that are none.
const ProcessorInfo* FindProcessor(v1::Processor processor);
// Null if that family has no compiler for it.
const CompilerUse* FindCompiler(v1::Processor processor,
                                v1::CompilerFamily family);
// "gcc", "clang", "none".
absl::string_view CompilerFamilyName(v1::CompilerFamily family);

// What FirmwareDescriptor.costs can name, and the least that it costs: 0 of
// what is added to others, else 1. Sorted; as simfarm/simulators/rv32/costs.h.
struct InstructionClass {
  absl::string_view name;
  int64_t least_cycles = 1;
};
absl::Span<const InstructionClass> InstructionClasses();

// How a file of a network is compiled: for the processor, as the reference
// computes, without a library.
std::vector<std::string> CompileFlags(const CompilerUse& use);
// What links: use.linker, or use.program.
const std::string& LinkProgram(const CompilerUse& use);
// How it links the objects, with firmware.ld beside them. No library is linked:
// what compilers call is in the firmware's own sources.
std::vector<std::string> LinkFlags(const CompilerUse& use);
// The same for memories of other lengths than those in firmware.ld, which may
// overlap then.
std::vector<std::string> LengthFlags(const CompilerUse& use,
                                     int64_t flash_bytes, int64_t ram_bytes);

}  // namespace edgekiln::target

#endif  // EK_TARGET_FIRMWARE_H_
