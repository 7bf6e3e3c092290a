#ifndef EK_COMPILER_PASSES_TESTING_REWRITE_CASE_H_
#define EK_COMPILER_PASSES_TESTING_REWRITE_CASE_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/passes/pass.h"

// For tests of passes: a table row, and what every row must hold.
namespace edgekiln::compiler {

struct RewriteCase {
  const char* name;
  const char* before;
  const char* after;  // "" where the pass must leave the graph alone.
};

// Keeps GoogleTest from printing the bytes of the row.
inline void PrintTo(const RewriteCase& row, std::ostream* out) {
  *out << row.name;
}

// Runs the pass on `before`, then removes what is unused. Fails the running
// test unless the text is `after`, the pass says correctly whether it changed
// anything, the graph verifies, and both graphs compute the same.
void ExpectRewrite(const Pass& pass, const RewriteCase& row);

// Fails the running test unless both graphs give the same outputs for inputs
// drawn from `seed`: integers bit for bit, floats to 1e-5 of the largest.
void ExpectSameOutputs(const Graph& a, const Graph& b, uint64_t seed);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_PASSES_TESTING_REWRITE_CASE_H_
