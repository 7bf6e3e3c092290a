#include "compiler/frontend/onnx/replacements.h"

#include "absl/strings/str_cat.h"
#include "compiler/frontend/unsupported_operators.h"

namespace edgekiln::compiler::onnx_import {
namespace {

constexpr absl::string_view kRandom =
    "random values; export in evaluation mode, or make them an input";
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

constexpr absl::string_view kOptimizations =
    "made by ONNX Runtime's optimizations; save the model without them "
    "(ORT_DISABLE_ALL)";

constexpr Replacement kStandard[] = {
    {"AffineGrid", "use a constant grid"},
    {"Attention",
     "use MatMul, Mul, Softmax and MatMul; op sets before 23 export "
     "it so"},
    {"Bernoulli", kRandom},
    {"CenterCropPad", "use Slice and Pad of constant extents"},
    {"Col2Im", "use ConvTranspose or DepthToSpace"},
    {"ConcatFromSequence", kSequences},
    {"DeformConv", "use Conv"},
    {"Det", "compute it outside the network"},
    {"ImageDecoder", "decode pictures before the network"},
    {"MaxRoiPool", kAfterwards},
    {"Multinomial", kRandom},
    {"NonMaxSuppression", kAfterwards},
    {"Optional*", kOptional},
    {"RMSNormalization", "use Mul, ReduceMean, Add, Sqrt, Div and Mul"},
    {"Random*", kRandom},
    {"RegexFullMatch", kStrings},
    {"RoiAlign", kAfterwards},
    {"RotaryEmbedding",
     "use Slice, Mul, Sub, Add and Concat with constant tables"},
    {"Scan", "unroll it before exporting"},
    {"Sequence*", kSequences},
    {"SimplifiedLayerNormalization", kOptimizations},
    {"SplitToSequence", kSequences},
    {"String*", kStrings},
    {"Swish", "use Sigmoid and Mul"},
    {"TensorScatter", "use Slice and Concat"},
    {"TfIdfVectorizer", kStrings},
};

// Operators of other domains, by "DOMAIN.OPERATOR".
constexpr Replacement kOthers[] = {
    {"ai.onnx.ml.*",
     "trees and other classical models are no networks; export "
     "the network alone"},
    {"ai.onnx.preview.training.*", kTraining},
    {"ai.onnx.training.*", kTraining},
    {"com.microsoft.MatMulNBits",
     "its weights were packed by a quantizer; give the model from before that"},
    {"com.microsoft.*", kOptimizations},
};

}  // namespace

absl::string_view FindReplacement(absl::string_view domain,
                                  absl::string_view op_type) {
  if (domain.empty()) return FindAdvice(kStandard, op_type);
  return FindAdvice(kOthers, absl::StrCat(domain, ".", op_type));
}

}  // namespace edgekiln::compiler::onnx_import
