#ifndef EK_COMPILER_CODEGEN_C_HELPERS_H_
#define EK_COMPILER_CODEGEN_C_HELPERS_H_

#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/string_view.h"

// Static C functions that layers call: fixed point, float functions of ops/,
// conversions. Each is a text in which `$name` stands for the helper of that
// name, with the prefix of the network in C.
namespace edgekiln::compiler {

// Which helpers a network needs, and their text. Not thread-safe.
class HelperSet {
 public:
  explicit HelperSet(std::string prefix) : prefix_(std::move(prefix)) {}

  // The C name of a helper, which it and what it calls are written for.
  std::string Use(absl::string_view name);

  // All that are used, callees first.
  std::string Text() const;
  // Estimated code of those that are functions of their own.
  int64_t CodeBytes() const;

 private:
  std::string CName(absl::string_view name) const;

  const std::string prefix_;
  std::set<size_t> used_;  // Into the table, whose order is callees first.
};

// Whether there is a helper of that name.
bool IsHelper(absl::string_view name);

// Replaces each `$name` of `text` by prefix + "_" + name.
std::string WithPrefix(absl::string_view text, absl::string_view prefix);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_HELPERS_H_
