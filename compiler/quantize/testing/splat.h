#ifndef EK_COMPILER_QUANTIZE_TESTING_SPLAT_H_
#define EK_COMPILER_QUANTIZE_TESTING_SPLAT_H_

#include <cstdint>
#include <regex>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"

namespace edgekiln::compiler {

// ParseGraph() of a text in which "constant splat V" stands for a constant
// whose elements are all V.
inline Graph ParseWithSplats(std::string text) {
  static const std::regex kSplat(
      R"(\[([0-9,]+)\]([^\n]*) = constant splat ([-0-9.]+))");
  std::smatch found;
  while (std::regex_search(text, found, kSplat)) {
    int64_t count = 1;
    const std::string shape = found[1];
    for (size_t at = 0; at < shape.size();) {
      size_t used = 0;
      count *= std::stoll(shape.substr(at), &used);
      at += used + 1;
    }
    std::string list = found[3];
    for (int64_t i = 1; i < count; ++i) list += ", " + std::string(found[3]);
    text = std::string(found.prefix()) + "[" + shape + "]" +
           std::string(found[2]) + " = constant [" + list + "]" +
           std::string(found.suffix());
  }
  const auto graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  return graph.ok() ? *graph : Graph();
}

}  // namespace edgekiln::compiler

#endif  // EK_COMPILER_QUANTIZE_TESTING_SPLAT_H_
