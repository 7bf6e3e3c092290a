#include "compiler/frontend/onnx/replacements.h"

#include "absl/strings/str_cat.h"
#include "compiler/frontend/unsupported_operators.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr absl::string_view kRandom =
    "random values; export in evaluation mode, or make them an input";
constexpr absl::string_view kFeatures =
    "compute features before the network and feed them to it";
constexpr absl::string_view kAfterwards =
    "end the network before it, and do it on the network's outputs";
constexpr absl::string_view kSequences =
    "use Split, Concat and Gather instead of sequences";
constexpr absl::string_view kOptional =
    "export with optional values resolved: given or absent";
constexpr absl::string_view kStrings =
    "turn text into numbers before the network";
constexpr absl::string_view kTraining =
    "export in evaluation mode, without loss and gradients";
constexpr absl::string_view kPositions =
    "if it is computed from positions, export it as a constant";

// Rows of operators that have a converter by now do no harm.
constexpr Replacement kStandard[] = {
    {"AffineGrid", "use a constant grid"},
    {"Attention",
     "use MatMul, Mul, Softmax and MatMul; op sets before 23 export "
     "it so"},
    {"Bernoulli", kRandom},
    {"BlackmanWindow", "use a constant"},
    {"Celu", "use Elu, with Div and Mul by alpha around it"},
    {"CenterCropPad", "use Slice and Pad of constant extents"},
    {"Col2Im", "use ConvTranspose or DepthToSpace"},
    {"Compress", "use Gather with constant indices"},
    {"ConcatFromSequence", kSequences},
    {"Cos", kPositions},
    {"DFT", kFeatures},
    {"DeformConv", "use Conv"},
    {"Det", "compute it outside the network"},
    {"EyeLike", "use a constant"},
    {"GatherND", "use Reshape and Gather"},
    {"GlobalLpPool", "use ReduceL1 or ReduceL2 over the last axes"},
    {"GridSample", "use Resize, if the grid is regular"},
    {"GroupNormalization",
     "use Reshape, InstanceNormalization, Reshape, Mul and "
     "Add"},
    {"HammingWindow", "use a constant"},
    {"HannWindow", "use a constant"},
    {"Hardmax", "use ArgMax, and Equal with a constant range"},
    {"ImageDecoder", "decode pictures before the network"},
    {"IsInf", "leave the check out"},
    {"IsNaN", "leave the check out"},
    {"LpNormalization", "use ReduceL1 or ReduceL2, and Div"},
    {"LpPool", "use Pow, AveragePool and Pow"},
    {"MaxRoiPool", kAfterwards},
    {"MaxUnpool", "use Resize or ConvTranspose"},
    {"MeanVarianceNormalization",
     "use ReduceMean, Sub, Mul, ReduceMean, Sqrt and "
     "Div"},
    {"MelWeightMatrix", "use a constant"},
    {"Mish", "use Softplus, Tanh and Mul"},
    {"Mod", "use Div, Floor, Mul and Sub"},
    {"Multinomial", kRandom},
    {"NegativeLogLikelihoodLoss", kTraining},
    {"NonMaxSuppression", kAfterwards},
    {"NonZero", "use Where with a mask: the result has no fixed shape"},
    {"OneHot", "use Gather from a constant identity matrix"},
    {"Optional*", kOptional},
    {"RMSNormalization", "use Mul, ReduceMean, Add, Sqrt, Div and Mul"},
    {"RNN", "use LSTM or GRU"},
    {"Random*", kRandom},
    {"ReduceLogSum", "use ReduceSum and Log"},
    {"ReduceLogSumExp", "use Exp, ReduceSum and Log"},
    {"ReduceSumSquare", "use Mul and ReduceSum"},
    {"RegexFullMatch", kStrings},
    {"ReverseSequence",
     "use Slice with step -1, if all sequences are of one "
     "length"},
    {"RoiAlign", kAfterwards},
    {"RotaryEmbedding",
     "use Slice, Mul, Sub, Add and Concat with constant tables"},
    {"STFT", kFeatures},
    {"Scan", "unroll it before exporting"},
    {"Scatter*", "use Where with a constant mask, or Slice and Concat"},
    {"Sequence*", kSequences},
    {"Shrink", "use Abs, Greater and Where"},
    {"Sin", kPositions},
    {"SoftmaxCrossEntropyLoss", kTraining},
    {"SplitToSequence", kSequences},
    {"String*", kStrings},
    {"Swish", "use Sigmoid and Mul"},
    {"TensorScatter", "use Slice and Concat"},
    {"TfIdfVectorizer", kStrings},
    {"Trilu", "use Mul or Where with a constant mask"},
    {"Unique", "compute it outside the network"},
};

// Operators of other domains, by "DOMAIN.OPERATOR".
constexpr Replacement kOthers[] = {
    {"ai.onnx.ml.*",
     "trees and other classical models are no networks; export "
     "the network alone"},
    {"ai.onnx.preview.training.*", kTraining},
    {"ai.onnx.training.*", kTraining},
    {"com.microsoft.*",
     "made by ONNX Runtime's optimizations; save the model without them "
     "(ORT_DISABLE_ALL)"},
};

}  // namespace

absl::string_view FindReplacement(absl::string_view domain,
                                  absl::string_view op_type) {
  if (domain.empty()) return FindAdvice(kStandard, op_type);
  return FindAdvice(kOthers, absl::StrCat(domain, ".", op_type));
}

}  // namespace edgekiln::compiler::onnx_import
