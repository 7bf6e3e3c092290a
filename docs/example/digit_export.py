"""ONNX out and in, and a simulation of int8 quantization.

`write_onnx` names the graph's input `image` (float32 [1, 1, 28, 28], pixels
0..1) and its output `logits` (float32 [1, 10]). `run` evaluates the file that
was written, not the network it came from, so it checks the export too.
"""

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper
from torch.nn import functional as F

OPSET = 13
IR_VERSION = 7  # The one that came with opset 13.


class _Builder:
    """Collects nodes and weights; every value is named like the node it comes from."""

    def __init__(self, layers):
        self._layers = layers
        self.nodes, self.weights = [], []

    def _constants(self, name):
        for kind, value in zip(("weight", "bias"), self._layers[name]):
            self.weights.append(numpy_helper.from_array(np.ascontiguousarray(value), f"{name}_{kind}"))
        return [f"{name}_weight", f"{name}_bias"]

    def add(self, op, name, inputs, **attributes):
        self.nodes.append(helper.make_node(op, inputs, [name], name, **attributes))
        return name

    def relu(self, value):
        return self.add("Relu", f"{value}_relu", [value])

    def conv(self, name, value, stride=1, group=1):
        kernel = self._layers[name][0].shape[2]
        return self.add(
            "Conv", name, [value] + self._constants(name),
            kernel_shape=[kernel, kernel], pads=[kernel // 2] * 4, strides=[stride, stride],
            dilations=[1, 1], group=group,
        )

    def gemm(self, name, value, output):
        self.nodes.append(helper.make_node("Gemm", [value] + self._constants(name), [output], name, transB=1))


def write_onnx(layers, path):
    """Writes digit_network.folded_layers() as a checked float ONNX file."""
    b = _Builder(layers)
    x = b.relu(b.conv("conv1", "image"))
    x = b.relu(b.conv("conv2", x, stride=2))
    branch = b.conv("block1_conv2", b.relu(b.conv("block1_conv1", x)))
    x = b.relu(b.add("Add", "block1_add", [x, branch]))
    x = b.relu(b.conv("block2_dw", x, stride=2, group=layers["block2_dw"][0].shape[0]))
    x = b.relu(b.conv("block2_pw", x))
    x = b.relu(b.conv("conv3", x))
    x = b.add("GlobalAveragePool", "pool", [x])
    x = b.add("Flatten", "flatten", [x], axis=1)
    b.gemm("fc", x, "logits")
    graph = helper.make_graph(
        b.nodes, "digits",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 28, 28])],
        [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])],
        b.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="make_digits.py")
    model.ir_version = IR_VERSION
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


def read_onnx(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    return model


def _apply(node, inputs, weights):
    """The result of one node on torch tensors."""
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "Conv":
        return F.conv2d(
            inputs[0], weights[0], weights[1], attributes["strides"], attributes["pads"][:2],
            attributes["dilations"], attributes["group"],
        )
    if node.op_type == "Gemm":
        return F.linear(inputs[0], weights[0], weights[1])
    simple = {
        "Relu": lambda a: F.relu(a),
        "Add": lambda a, b: a + b,
        "GlobalAveragePool": lambda a: a.mean((2, 3), keepdim=True),
        "Flatten": lambda a: a.flatten(1),
    }
    return simple[node.op_type](*inputs)


def _walk(model, x, weights, seen):
    """Evaluates the graph on a batch; `seen(name, value)` may replace every value."""
    values = {"image": seen("image", x)}
    for node in model.graph.node:
        constants = [weights[name] for name in node.input if name in weights]
        inputs = [values[name] for name in node.input if name not in weights]
        values[node.output[0]] = seen(node.output[0], _apply(node, inputs, constants))
    return values["logits"]


def _in_batches(x, function):
    with torch.no_grad():
        parts = [function(torch.from_numpy(x[i : i + 500].astype(np.float32))) for i in range(0, len(x), 500)]
    return torch.cat(parts).numpy()


def _weights(model):
    return {w.name: torch.from_numpy(numpy_helper.to_array(w).copy()) for w in model.graph.initializer}


def run(model, x):
    """Logits [n, 10] of pictures x [n, 1, 28, 28] in float32."""
    weights = _weights(model)
    return _in_batches(x, lambda batch: _walk(model, batch, weights, lambda name, value: value))


class Quantized:
    """Post-training int8, simulated in float: weights symmetric per output
    channel, activations asymmetric per tensor from the calibration's min and
    max, biases in int32. A Relu is fused into the node before it.
    """

    def __init__(self, model, calibration):
        self._model = model
        weights, low, high = _weights(model), {}, {}

        def widen(name, value):
            low[name] = min(low.get(name, 0.0), float(value.min()))
            high[name] = max(high.get(name, 0.0), float(value.max()))
            return value

        _in_batches(calibration, lambda batch: _walk(model, batch, weights, widen))
        self._scale = {name: max(high[name] - low[name], 1e-9) / 255 for name in low}
        self._zero = {name: round(-128 - low[name] / self._scale[name]) for name in low}
        self._fused = {node.input[0] for node in model.graph.node if node.op_type == "Relu"}
        self._weights = {}
        for node in model.graph.node:
            if node.op_type in ("Conv", "Gemm"):
                self._quantize_weights(node, weights)

    def _quantize_weights(self, node, weights):
        weight, bias = weights[node.input[1]], weights[node.input[2]]
        shape = [-1] + [1] * (weight.dim() - 1)
        scale = weight.flatten(1).abs().amax(1).clamp(min=1e-9) / 127
        self._weights[node.input[1]] = torch.round(weight / scale.view(shape)) * scale.view(shape)
        unit = scale * self._scale[node.input[0]]
        self._weights[node.input[2]] = torch.round(bias / unit) * unit

    def _round(self, name, value):
        if name in self._fused:
            return value
        scale, zero = self._scale[name], self._zero[name]
        return (torch.clamp(torch.round(value / scale) + zero, -128, 127) - zero) * scale

    def run(self, x):
        """Logits [n, 10], as `run`."""
        return _in_batches(x, lambda batch: _walk(self._model, batch, self._weights, self._round))
