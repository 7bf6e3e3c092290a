#include "compiler/frontend/tflite/replacements.h"

#include "compiler/frontend/unsupported_operators.h"

namespace edgekiln::compiler::tflite_import {
namespace {

constexpr absl::string_view kLstm = "use UNIDIRECTIONAL_SEQUENCE_LSTM";
constexpr absl::string_view kAfterwards =
    "end the network before it, and do it on the network's outputs";
constexpr absl::string_view kFeatures =
    "compute features before the network and feed them to it";
constexpr absl::string_view kControl = "unroll it before converting";
constexpr absl::string_view kVariables =
    "convert with frozen variables; states of recurrent ops are supported";
constexpr absl::string_view kRandom =
    "random values; convert in inference mode, or make them an input";
constexpr absl::string_view kTables =
    "turn text into numbers before the network";
constexpr absl::string_view kBuiltins =
    "convert with TFLITE_BUILTINS or TFLITE_BUILTINS_INT8 alone";

constexpr Replacement kBuiltin[] = {
    {"ASSIGN_VARIABLE", kVariables},
    {"ATAN2", "compute it outside the network"},
    {"BIDIRECTIONAL_SEQUENCE_LSTM", "use two UNIDIRECTIONAL_SEQUENCE_LSTM"},
    {"BIDIRECTIONAL_SEQUENCE_RNN", kLstm},
    {"BROADCAST_ARGS", "use static shapes"},
    {"BUCKETIZE", kTables},
    {"CALL*", kControl},
    {"COMPLEX_ABS", kFeatures},
    {"CONCAT_EMBEDDINGS", "use GATHER and CONCATENATION"},
    {"CONV_3D*", "use CONV_2D"},
    {"DELEGATE",
     "use the model as it was before it was compiled for a delegate"},
    {"DYNAMIC_UPDATE_SLICE", "use SLICE and CONCATENATION"},
    {"EMBEDDING_LOOKUP*", "use GATHER"},
    {"FAKE_QUANT", "convert to full integer int8"},
    {"HASHTABLE*", kTables},
    {"IF", kControl},
    {"IMAG", kFeatures},
    {"L2_POOL_2D", "use SQUARE, AVERAGE_POOL_2D and SQRT"},
    {"LSH_PROJECTION", kTables},
    {"LSTM", kLstm},
    {"MATRIX_*", "use MUL with a constant mask"},
    {"MULTINOMIAL", kRandom},
    {"NON_MAX_SUPPRESSION*", kAfterwards},
    {"RANDOM_*", kRandom},
    {"RANGE", "use a constant"},
    {"READ_VARIABLE", kVariables},
    {"REAL", kFeatures},
    {"RFFT*", kFeatures},
    {"SEGMENT_SUM", "use SUM"},
    {"SKIP_GRAM", kTables},
    {"SPARSE_TO_DENSE", "use a dense constant"},
    {"STABLEHLO_*", kBuiltins},
    {"UNIQUE", "compute it outside the network"},
    {"UNSORTED_SEGMENT_*", "use SUM or REDUCE_MAX"},
    {"VAR_HANDLE", kVariables},
    {"WHERE", "use SELECT_V2: the result has no fixed shape"},
    {"WHILE", kControl},
};

constexpr Replacement kCustom[] = {
    {"AudioSpectrogram", kFeatures},
    {"Flex*", kBuiltins},
    {"Mfcc", kFeatures},
    {"TFLite_Detection_PostProcess", kAfterwards},
    {"edgetpu-custom-op",
     "use the model as it was before it was compiled for another accelerator"},
    {"ethos-u",
     "use the model as it was before it was compiled for another accelerator"},
};

}  // namespace

absl::string_view FindReplacement(absl::string_view name, bool custom) {
  if (custom) return FindAdvice(kCustom, name);
  return FindAdvice(kBuiltin, name);
}

}  // namespace edgekiln::compiler::tflite_import
