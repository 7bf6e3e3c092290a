"""The table of docs/tflite_coverage.md, from the cases that passed."""

COLUMNS = ("float32", "int8", "uint8", "int16")

# The operators that must be covered, in the order of the table.
REQUIRED = """
    ABS ADD ADD_N ARG_MAX ARG_MIN AVERAGE_POOL_2D BATCH_TO_SPACE_ND CAST
    CONCATENATION CONV_2D DEPTH_TO_SPACE DEPTHWISE_CONV_2D DEQUANTIZE DIV ELU
    EXP EXPAND_DIMS FILL FLOOR FULLY_CONNECTED GATHER GELU GREATER HARD_SWISH
    L2_NORMALIZATION LEAKY_RELU LESS LOG LOG_SOFTMAX LOGISTIC MAX_POOL_2D
    MAXIMUM MEAN MINIMUM MIRROR_PAD MUL NEG PACK PAD PADV2 POW PRELU QUANTIZE
    REDUCE_MAX REDUCE_MIN RELU RELU6 RELU_N1_TO_1 RESHAPE RESIZE_BILINEAR
    RESIZE_NEAREST_NEIGHBOR RSQRT SHAPE SLICE SOFTMAX SPACE_TO_BATCH_ND
    SPACE_TO_DEPTH SPLIT SPLIT_V SQRT SQUARE SQUARED_DIFFERENCE SQUEEZE
    STRIDED_SLICE SUB SUM SVDF TANH TILE TRANSPOSE TRANSPOSE_CONV
    UNIDIRECTIONAL_SEQUENCE_LSTM UNPACK
    """.split()

# Why a cell has no case, by operator and element type.
_NO_FORM = "TFLite has no such form"
_INTEGERS = ("int8", "uint8", "int16")


def _reasons():
    reasons = {}
    for builtin in ("ADD_N", "CEIL", "COS", "CUMSUM", "FLOOR",
                    "LOCAL_RESPONSE_NORMALIZATION", "POW", "RNN", "ROUND",
                    "SIGN", "SIN", "UNIDIRECTIONAL_SEQUENCE_RNN"):
        for column in _INTEGERS:
            reasons[builtin, column] = _NO_FORM
    for builtin in ("LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "REDUCE_ALL",
                    "REDUCE_ANY"):
        for column in COLUMNS:
            reasons[builtin, column] = "bool only"
    for column in ("int8", "int16"):
        reasons["REDUCE_PROD", column] = "refused, by name"
    reasons["REDUCE_PROD", "uint8"] = _NO_FORM
    for column in _INTEGERS:
        reasons["SCATTER_ND", column] = "refused, by name"
    for builtin in ("BITWISE_XOR", "RIGHT_SHIFT"):
        reasons[builtin, "float32"] = _NO_FORM
    reasons["DEQUANTIZE", "float32"] = "nothing to dequantize"
    for builtin in ("SVDF", "UNIDIRECTIONAL_SEQUENCE_LSTM"):
        reasons[builtin, "uint8"] = _NO_FORM
    reasons["SVDF", "int16"] = "int16 for its state only"
    return reasons


REASONS = _reasons()

_HEAD = """# TensorFlow Lite operators

Made by `tests/tflite/coverage.py --write`; a test keeps it up to date. Do not
edit.

Each `ok` stands for models of that one operator, written by
`tests/tflite/model.py`, imported, run by the reference interpreter and compared
with a formula in numpy: exact where values move or are compared, and where
TensorFlow Lite computes by tables or in fixed point (LSTM, SVDF, DIV, MEAN,
SQRT, RSQRT, L2_NORMALIZATION, LOG_SOFTMAX in 8 bits; SOFTMAX, LOGISTIC, TANH,
EXP, LOG, RSQRT, SQRT in int16); within one step of the output's scale where
else they are computed in integers (RESIZE_BILINEAR in int16: what 10-bit
weights cost), within 1e-5 of the range in float32. *Other* lists further
element types, and forms of weights. What each operator computes is
`numerics.md`.

Refused, by name: LSTMs of 12 intermediates, of cell scales that are no power of
two, and of int16 with peepholes, projection or layer normalization (TensorFlow
Lite has no such kernel); products of quantized values; custom operators; shapes
that depend on values other than constants and shapes; a dimension besides the
batch that is left open.

"""


def _row(builtin, cases, failures):
    cells = []
    for column in COLUMNS:
        own = [c for c in cases if c.etype == column]
        bad = [c for c in own if c.name in failures]
        if bad:
            cells.append("FAILS")
        elif own:
            cells.append("ok")
        else:
            cells.append(REASONS.get((builtin, column), "MISSING"))
    other = {c.etype for c in cases} - set(COLUMNS)
    other |= {c.note.replace("_", " ") for c in cases
              if c.note.endswith("_weights")}
    other -= {c.etype for c in cases if c.name in failures}
    return "| %s | %s |\n" % (builtin, " | ".join(
        cells + [", ".join(sorted(other)) or "-"]))


def render(cases, failures):
    by_builtin = {}
    for case in cases:
        by_builtin.setdefault(case.builtin, []).append(case)
    head = "| operator | %s | other |\n|%s\n" % (
        " | ".join(COLUMNS), "---|" * (len(COLUMNS) + 2))
    text = _HEAD + head
    for builtin in REQUIRED:
        text += _row(builtin, by_builtin.get(builtin, []), failures)
    text += "\nBesides those that every user may rely on:\n\n" + head
    for builtin in sorted(set(by_builtin) - set(REQUIRED)):
        text += _row(builtin, by_builtin[builtin], failures)
    return text


def update(path, cases, failures, write):
    """0 if nothing failed, no cell is without a reason and the page says so."""
    text = render(cases, failures)
    missing = [line for line in text.splitlines() if "MISSING" in line]
    for line in missing:
        print("no case and no reason: " + line)
    if write:
        with open(path, "w") as f:
            f.write(text)
    else:
        with open(path) as f:
            if f.read() != text:
                print("%s is out of date: run coverage.py --write" % path)
                return 1
    return 1 if failures or missing else 0
