#ifndef EK_TARGET_PATTERN_OPS_H_
#define EK_TARGET_PATTERN_OPS_H_

// The ops of patterns: which numerics apply to them, and the variables of a
// chain.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"

namespace edgekiln::target {

using OpCase = v1::OpAttributes::OpCase;

// What a name in a pattern's `ops` stands for: an op by its attribute name in
// OpAttributes ("conv2d"), or one function of Unary or Binary by that ("abs",
// "minimum").
struct PatternOp {
  OpCase kind = OpCase::OP_NOT_SET;
  int function = 0;  // Of Unary or Binary; 0: of any function, or another op.
  bool Matches(const v1::OpAttributes& attributes) const;
  bool operator==(const PatternOp&) const = default;
};

// Nothing if neither an op nor a function has the name.
std::optional<PatternOp> FindPatternOp(absl::string_view name);
// The kind of it.
std::optional<OpCase> FindOp(absl::string_view name);
// All of them.
std::vector<std::string> OpNames();
// What patterns call the op: by its function if it has one.
std::string PatternOpName(const v1::OpAttributes& attributes);

// Multiplies what it reads with weights, its second input; a third one is the
// bias.
bool HasWeights(OpCase op);
// Sums products or the elements of a window.
bool HasSums(OpCase op);
// Its output has the quantization of its input.
bool KeepsQuantization(OpCase op);
// Its output may have another quantization than its inputs, but need not: an
// engine whose numerics have no requantization gives them one for all.
bool MayKeepQuantization(OpCase op);
// It rescales a product or sum to the scale of its output.
bool Requantizes(OpCase op);

// "conv2d, add".
std::string ChainName(const v1::OpPattern& pattern);

// What the variables of the chain's op at `position` begin with in conditions:
// "" for the first, "add_", and "add2_" for the second add.
std::string VariablePrefix(const v1::OpPattern& pattern, int position);

// Variables of conditions: for each op of the chain, those of op_variables.h
// with the op's prefix. All ops are known.
std::vector<std::string> ChainVariableNames(const v1::OpPattern& pattern);

}  // namespace edgekiln::target

#endif  // EK_TARGET_PATTERN_OPS_H_
