"""Networks for check_test.py: edits of the example, and small ones.

Needs protoc, ONNX's own .proto file and Python's protobuf: all of Debian's, and
all there where edgekiln is built.
"""
import importlib
import random
import shutil
import struct
import subprocess
import sys

ONNX_PROTO = "/usr/include/onnx/onnx.proto"


def load_onnx(folder):
    """The messages of ONNX; generated into `folder`."""
    out = folder / "onnx_messages"
    out.mkdir()
    shutil.copy(ONNX_PROTO, out / "ek_onnx.proto")
    subprocess.run(["protoc", f"--proto_path={out}", f"--python_out={out}",
                    str(out / "ek_onnx.proto")], check=True)
    sys.path.insert(0, str(out))
    return importlib.import_module("ek_onnx_pb2")


def _floats(onnx, name, shape, scale, chance):
    tensor = onnx.TensorProto(name=name, dims=shape, data_type=1)
    count = 1
    for extent in shape:
        count *= extent
    tensor.raw_data = struct.pack(
        f"<{count}f", *(chance.uniform(-scale, scale) for _ in range(count)))
    return tensor


def _value(onnx, name, shape):
    info = onnx.ValueInfoProto(name=name)
    info.type.tensor_type.elem_type = 1
    for extent in shape:
        info.type.tensor_type.shape.dim.add(dim_value=extent)
    return info


def small(onnx, channels, seed):
    """Two convolutions and a dense layer; conv2 has `channels` outputs."""
    chance = random.Random(seed)
    graph = onnx.GraphProto(name="small")
    graph.input.append(_value(onnx, "image", [1, 4, 12, 12]))
    graph.output.append(_value(onnx, "scores", [1, 5]))

    def node(op, name, inputs, output, **attributes):
        made = graph.node.add(op_type=op, name=name, input=inputs, output=[output])
        for key, value in attributes.items():
            attribute = made.attribute.add(name=key)
            if isinstance(value, list):
                attribute.type = 7
                attribute.ints.extend(value)
            else:
                attribute.type = 2
                attribute.i = value

    for name, shape in (("conv1_w", [8, 4, 3, 3]), ("conv2_w", [channels, 8, 3, 3]),
                        ("fc_w", [5, channels]), ("fc_b", [5])):
        graph.initializer.append(_floats(onnx, name, shape, 0.3, chance))
    node("Conv", "conv1", ["image", "conv1_w"], "a", kernel_shape=[3, 3], pads=[1] * 4)
    node("Relu", "relu1", ["a"], "b")
    node("Conv", "conv2", ["b", "conv2_w"], "c", kernel_shape=[3, 3], pads=[1] * 4)
    node("GlobalAveragePool", "pool", ["c"], "d")
    node("Flatten", "flatten", ["d"], "e", axis=1)
    node("Gemm", "fc", ["e", "fc_w", "fc_b"], "scores", transB=1)
    model = onnx.ModelProto(ir_version=7, graph=graph)
    model.opset_import.add(version=13)
    return model.SerializeToString()


def spoiled(onnx, path):
    """The example with the weights of its last layer partly negated: the same
    layers, and less accuracy."""
    model = onnx.ModelProto.FromString(path.read_bytes())
    for tensor in model.graph.initializer:
        if tensor.name != "fc_weight":
            continue
        values = list(struct.unpack(f"<{len(tensor.raw_data) // 4}f", tensor.raw_data))
        half = len(values) // 2
        values[:half] = [-value for value in values[:half]]
        tensor.raw_data = struct.pack(f"<{len(values)}f", *values)
        return model.SerializeToString()
    raise AssertionError("the example has no fc_weight")
