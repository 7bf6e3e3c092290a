#ifndef EK_COMPILER_CODEGEN_C_TESTING_OP_CASES_H_
#define EK_COMPILER_CODEGEN_C_TESTING_OP_CASES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "compiler/ir/graph.h"

// Random ops of every kind on every element type that ops/ takes.
//
// A tensor of indices is called "i<n>#<extent>" and a tensor of lengths
// "n<n>#<extent>": what is fed to them stays within that.
namespace edgekiln::compiler {

// Grows a graph by ops whose inputs are its own.
class OpCases {
 public:
  explicit OpCases(uint64_t seed) : random_(seed) { graph_.name = "case"; }

  // All kinds: "conv2d", "unary/SQRT", "binary/ADD", ...
  static std::vector<std::string> Kinds();

  // Adds an op of that kind whose first input has that type. False if ops/
  // does not take what was tried; then nothing is added.
  bool Add(const std::string& kind, v1::ElementType type);

  // Everything added, with all results as outputs. Empties the builder.
  Graph Take();

 private:
  friend class OpMaker;

  Rng random_;
  Graph graph_;
};

// (kind, type) that some attempt of `attempts` gets accepted.
std::map<std::string, std::set<v1::ElementType>> AcceptedCases(int attempts);

// Every accepted pair, each in one of several graphs of so many ops. INTERNAL
// if a pair is not accepted again within a thousand attempts.
absl::StatusOr<std::vector<Graph>> GraphsOfAllCases(int ops_per_graph,
                                                    uint64_t seed);

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_CODEGEN_C_TESTING_OP_CASES_H_
