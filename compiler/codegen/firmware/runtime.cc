#include "compiler/codegen/firmware/runtime.h"

#include "absl/strings/str_cat.h"

namespace edgekiln::compiler {
namespace {

struct Part {
  const char* name;
  const char* text;
};

constexpr Part kParts[] = {
#include "compiler/codegen/firmware/runtime_data.inc"
};

}  // namespace

std::string RuntimeText() {
  std::string text;
  for (const Part& part : kParts) absl::StrAppend(&text, part.text);
  return text;
}

}  // namespace edgekiln::compiler
