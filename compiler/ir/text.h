#ifndef EK_COMPILER_IR_TEXT_H_
#define EK_COMPILER_IR_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "compiler/ir/graph.h"

// The graph as text, one line per tensor or op, for tests, dumps and reading:
//
//   graph "tiny"
//   %x : int8[1,4,4,1] scale 0.5 zero -128 = input
//   %w : int8[2,3,3,1] axis 0 scale [0.25, 0.125] zero [0, 0] = constant 0x01..
//   %b : int32[2] = constant [1, -2]
//   %y : int8[1,2,2,2] scale 1 zero 3 = conv2d(%x, %w, %b) {window {stride_h 1
//       stride_w 1 dilation_h 1 dilation_w 1} clamp {min 0}} id conv_1 name
//       "a/b"
//   return %y
//
// (an op is one line; it is broken here for the page only). "_" stands for an
// absent optional input. Names with other characters than [A-Za-z0-9_./:;-] are
// quoted: %"a b". Attribute fields are those of graph.proto, zero values left
// out. "#" starts a comment. Several outputs are separated by commas on the
// left of "=". Values of enums are their names. States follow the outputs:
// "return %y, %h1 states %h0 = %h1". Without `id` the parser makes one of kind
// and position.
namespace edgekiln::compiler {

struct PrintOptions {
  // Constants of more elements than this print as "constant sha256:<digest>",
  // which ParseGraph refuses; negative = never.
  int64_t elide_constants_above = -1;
};

// Prints any graph, also an invalid one. The same graph always gives the same
// text.
std::string PrintGraph(const Graph& graph, const PrintOptions& options = {});

// Reads what PrintGraph wrote, and verifies it. Tensors are numbered in the
// order of the text. INVALID_ARGUMENT "line:column: ..." otherwise.
absl::StatusOr<Graph> ParseGraph(absl::string_view text);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_IR_TEXT_H_
