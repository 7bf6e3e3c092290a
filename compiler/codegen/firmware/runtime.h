#ifndef EK_COMPILER_CODEGEN_FIRMWARE_RUNTIME_H_
#define EK_COMPILER_CODEGEN_FIRMWARE_RUNTIME_H_

#include <string>

namespace edgekiln::compiler {

// The file beside a network that has what compilers call where a processor
// lacks instructions. No network has that name.
inline constexpr char kRuntimeFile[] = "runtime.c";

// Arithmetic of 64 bits, floats and memcpy() in C99, by the names that gcc and
// clang call; one text for all processors. With EK_RUNTIME_TEST defined, all
// functions are there, and "ek_test" is put before their names.
std::string RuntimeText();

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_FIRMWARE_RUNTIME_H_
