"""One-operator TensorFlow Lite models and what they should compute."""

import numpy as np

from flatbuffer import Bool, F32, I8, I32, U8, U32, Vec, finish

# Numbers of the published schema, version 3.
TENSOR_TYPES = {
    "float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6,
    "int16": 7, "int8": 9, "int4": 17,
}
CODES = {name: code for code, name in enumerate("""
    ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE
    DEQUANTIZE EMBEDDING_LOOKUP FLOOR FULLY_CONNECTED HASHTABLE_LOOKUP
    L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC
    LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE
    RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH SVDF TANH CONCAT_EMBEDDINGS
    SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN
    GATHER BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE
    UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE BIDIRECTIONAL_SEQUENCE_RNN EXP
    TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU
    MAXIMUM ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL
    SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE TILE EXPAND_DIMS EQUAL
    NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD
    REDUCE_MAX PACK LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN
    FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL FLOOR_MOD RANGE
    RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V
    UNIQUE CEIL REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE
    MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND HARD_SWISH IF WHILE
    NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY
    SEGMENT_SUM BATCH_MATMUL PLACEHOLDER CUMSUM CALL_ONCE BROADCAST_TO
    """.split())}
CODES.update(REDUCE_ALL=140, GELU=150, SIGN=158, BITWISE_XOR=160,
             RIGHT_SHIFT=161)

LIMITS = {"int4": (-8, 7), "int8": (-128, 127), "uint8": (0, 255),
          "int16": (-32768, 32767), "int32": (-2**31, 2**31 - 1)}


class Tensor:
    """`data` as stored. `scale` and `zero` are numbers, or one each per extent
    of dimension `axis`; None where the tensor is not quantized."""

    def __init__(self, etype, data, scale=None, zero=0, axis=0, const=False,
                 variable=False, sparsity=None, packed=None, signature=None):
        self.etype = etype
        self.data = np.asarray(data)
        self.scale = scale
        self.zero = zero
        self.axis = axis
        self.const = const
        self.variable = variable
        self.sparsity = sparsity
        self.packed = packed  # Bytes in the file, where not those of `data`.
        self.signature = signature

    @property
    def shape(self):
        return self.data.shape

    @property
    def real(self):
        """The values as float64, dequantized."""
        if self.scale is None:
            return self.data.astype(np.float64)
        shape = [1] * self.data.ndim
        if np.ndim(self.scale):
            shape[self.axis] = len(self.scale)
        # Scales are stored as float32.
        scale = np.float32(self.scale).astype(np.float64).reshape(shape)
        zero = np.asarray(self.zero).reshape(shape if np.ndim(self.zero) else ())
        return scale * (self.data.astype(np.float64) - zero)

    def bytes(self):
        if self.packed is not None:
            return self.packed
        dtype = {"bool": np.uint8, "int4": np.int8}.get(self.etype, self.etype)
        return np.ascontiguousarray(self.data, dtype).tobytes()


class Output(Tensor):
    """What is expected, in `want` as real values. `steps` is how far a
    quantized output may be off, in steps of its scale; 0 for exact ones."""

    def __init__(self, etype, want, steps=1.0, tolerance=1e-5, **more):
        self.want = np.asarray(want)
        super().__init__(etype, np.zeros(self.want.shape), **more)
        self.steps = steps
        self.tolerance = tolerance


class Case:
    def __init__(self, builtin, etype, inputs, outputs, options=None, note="",
                 samples=1, intermediates=None, form=""):
        self.builtin = builtin
        self.etype = etype
        self.inputs = inputs  # None for an absent one.
        self.outputs = outputs
        self.options = options  # (number in the union, table)
        self.note = note
        self.samples = samples  # Inferences; values along the first axis.
        self.intermediates = intermediates
        self.name = "_".join(filter(None, [builtin, etype, note])).lower()


def _quantization(tensor):
    if tensor.scale is None:
        return None
    scale = np.atleast_1d(np.float32(tensor.scale))
    zero = np.broadcast_to(np.atleast_1d(tensor.zero), scale.shape)
    return {2: Vec("f", scale.tolist()), 3: Vec("q", zero.tolist()),
            6: I32(tensor.axis)}


def model_bytes(case):
    buffers = [{}]
    tensors = []

    def add(tensor, name, stored_shape):
        buffer = 0
        if tensor.const:
            buffer = len(buffers)
            buffers.append({0: tensor.bytes()})
        tensors.append({
            0: Vec("i", stored_shape), 1: I8(TENSOR_TYPES[tensor.etype]),
            2: U32(buffer), 3: name, 4: _quantization(tensor),
            5: Bool(tensor.variable) if tensor.variable else None,
            6: tensor.sparsity,
            7: Vec("i", tensor.signature) if tensor.signature else None})
        return len(tensors) - 1

    def shape_of(tensor, fed):
        shape = list(tensor.shape)
        if fed and case.samples > 1:
            shape[0] //= case.samples
        return shape

    seen = {}
    inputs = []
    for i, tensor in enumerate(case.inputs):
        if tensor is None:
            inputs.append(-1)
            continue
        if id(tensor) not in seen:
            fed = not tensor.const and not tensor.variable
            seen[id(tensor)] = add(tensor, "in%d" % i, shape_of(tensor, fed))
        inputs.append(seen[id(tensor)])
    outputs = [add(t, "out%d" % i, shape_of(t, True))
               for i, t in enumerate(case.outputs)]
    intermediates = [add(t, "mid%d" % i, [1])
                     for i, t in enumerate(case.intermediates or [])]
    code = CODES[case.builtin]
    union, table = case.options or (0, None)
    operator = {0: U32(0), 1: Vec("i", inputs), 2: Vec("i", outputs),
                3: U8(union) if union else None, 4: table,
                8: Vec("i", intermediates) if intermediates else None}
    fed = [seen[id(t)] for t in fed_tensors(case)]
    subgraph = {0: tensors, 1: Vec("i", fed), 2: Vec("i", outputs),
                3: [operator], 4: "main"}
    root = {0: U32(3), 1: [{0: I8(min(code, 127)), 2: I32(1), 3: I32(code)}],
            2: [subgraph], 3: "test", 4: buffers}
    return finish(root, b"TFL3")


def fed_tensors(case):
    """The inputs of the model in their order, each once."""
    fed = []
    for tensor in case.inputs:
        if tensor is None or tensor.const or tensor.variable:
            continue
        if all(tensor is not other for other in fed):
            fed.append(tensor)
    return fed


__all__ = ["Bool", "Case", "CODES", "F32", "I8", "I32", "LIMITS", "Output",
           "Tensor", "U8", "Vec", "fed_tensors", "model_bytes"]
