#include "compiler/codegen/host/move_loops.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/c_text.h"
#include "target/layout.h"

namespace edgekiln::compiler {
namespace {

// What an index of `axis` adds to the byte of an element: "i0 / 4 * 32 + i0 %
// 4".
std::string OffsetOf(const v1::Layout& layout, int axis) {
  std::vector<std::string> terms;
  for (const v1::Layout::Term& term : layout.terms()) {
    if (term.axis() != axis || layout.extents(axis) <= 1) continue;
    std::string digit = absl::StrCat("i", axis);
    if (term.divide() > 1) absl::StrAppend(&digit, " / ", term.divide(), "u");
    if (term.modulo() > 0) absl::StrAppend(&digit, " % ", term.modulo(), "u");
    if (term.modulo() == 1) continue;
    if (term.stride_bytes() != 1) {
      absl::StrAppend(&digit, " * ", term.stride_bytes(), "u");
    }
    terms.push_back(std::move(digit));
  }
  return absl::StrJoin(terms, " + ");
}

// The index of byte `at` where groups of bytes lie in reverse order.
std::string InGroup(const std::string& at, const v1::Layout& layout) {
  if (layout.reversed_bytes() <= 1) return at;
  return absl::StrCat("(", layout.first_byte(), "u + ", at, ") ^ ",
                      layout.reversed_bytes() - 1, "u");
}

absl::Status CheckPair(const v1::Layout& from, const v1::Layout& to) {
  for (const v1::Layout* layout : {&from, &to}) {
    EK_RETURN_IF_ERROR(target::Layout::Create(*layout).status());
    if (layout->size_bytes() > std::numeric_limits<int32_t>::max()) {
      return absl::UnimplementedError("no C for a move of more than 2 GiB");
    }
  }
  if (!std::equal(from.extents().begin(), from.extents().end(),
                  to.extents().begin(), to.extents().end()) ||
      from.element_bits() != to.element_bits()) {
    return absl::InvalidArgumentError("a move's layouts are of two arrays");
  }
  return absl::OkStatus();
}

// Both have the values alone, in one order.
bool IsPlain(const v1::Layout& from, const v1::Layout& to) {
  const absl::StatusOr<target::Layout> a = target::Layout::Create(from);
  const absl::StatusOr<target::Layout> b = target::Layout::Create(to);
  return a.ok() && b.ok() && a->is_dense() && b->is_dense() &&
         from.reversed_bytes() == 0 && to.reversed_bytes() == 0;
}

}  // namespace

absl::StatusOr<std::string> MoveFunction(absl::string_view function,
                                         const v1::Layout& from,
                                         const v1::Layout& to) {
  EK_RETURN_IF_ERROR(CheckPair(from, to));
  const int64_t bytes = from.element_bits() / 8;
  int64_t count = 1;
  for (const int64_t extent : from.extents()) count *= extent;
  CodeWriter c;
  c.Open("static void ", function, "(const uint8_t *from, uint8_t *to)");
  if (IsPlain(from, to)) {
    c.Line("uint32_t i;");
    c.Line("for (i = 0; i < ", count * bytes, "u; ++i) to[i] = from[i];");
    c.Close();
    return c.text();
  }
  std::vector<std::string> indices;
  std::string at_from, at_to;
  int opened = 0;
  for (int axis = 0; axis < from.extents_size(); ++axis) {
    if (from.extents(axis) <= 1) continue;
    const std::string i = absl::StrCat("i", axis);
    c.Line("uint32_t ", i, ";");
    c.Open("for (", i, " = 0; ", i, " < ", from.extents(axis), "u; ++", i, ")");
    ++opened;
    for (auto [layout, sum, name] :
         {std::tuple(&from, &at_from, "f"), std::tuple(&to, &at_to, "t")}) {
      const std::string offset = OffsetOf(*layout, axis);
      if (offset.empty()) continue;
      const std::string variable = absl::StrCat(name, axis);
      c.Line("const uint32_t ", variable, " = ",
             sum->empty() ? "" : absl::StrCat(*sum, " + "), offset, ";");
      *sum = variable;
    }
  }
  for (std::string* sum : {&at_from, &at_to}) {
    if (sum->empty()) *sum = "0u";
  }
  if (count > 0) {
    for (int64_t b = 0; b < bytes; ++b) {
      const std::string behind = b == 0 ? "" : absl::StrCat(" + ", b, "u");
      c.Line("to[", InGroup(at_to + behind, to), "] = from[",
             InGroup(at_from + behind, from), "];");
    }
  }
  for (int i = 0; i < opened; ++i) c.Close();
  c.Close();
  return c.text();
}

}  // namespace edgekiln::compiler
