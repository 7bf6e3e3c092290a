"""The result of Client.inspect()."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from . import _html
from ._proto.edgekiln.v1 import model_pb2
from ._rows import row_of
from ._status import detail_of
from ._text import clean, group_digits
from .errors import ErrorDetail

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Port:
    """An input or an output."""

    name: str
    shape: tuple[int, ...]
    type: str  # "int8", "float32"; numpy's names.


@dataclass(frozen=True)
class ModelLayer:
    id: str
    op: str
    name: str
    macs: int
    parameters: int
    output_shape: tuple[int, ...]
    output_type: str
    engine: str  # With a target: where it would run, or "host".
    reason: str  # With a target: why there.
    weight_type: str


class ModelDescription:
    """A described model; wraps `message`, an edgekiln.v1.ModelDescription."""

    def __init__(self, message: model_pb2.ModelDescription) -> None:
        self.message = message

    @property
    def name(self) -> str:
        return str(self.message.name)

    @property
    def format(self) -> str:
        """"tflite" or "onnx"."""
        return str(self.message.format)

    @property
    def macs(self) -> int:
        return int(self.message.macs)

    @property
    def parameters(self) -> int:
        return int(self.message.parameters)

    @property
    def quantized(self) -> bool:
        return bool(self.message.quantized)

    @cached_property
    def inputs(self) -> tuple[Port, ...]:
        return tuple(row_of(Port, one, shape=tuple(one.shape))
                     for one in self.message.inputs)

    @cached_property
    def outputs(self) -> tuple[Port, ...]:
        return tuple(row_of(Port, one, shape=tuple(one.shape))
                     for one in self.message.outputs)

    @cached_property
    def layers(self) -> tuple[ModelLayer, ...]:
        return tuple(row_of(ModelLayer, one, output_shape=tuple(one.output_shape))
                     for one in self.message.layers)

    @cached_property
    def problems(self) -> tuple[ErrorDetail, ...]:
        """Layers that would not compile, with the reasons."""
        return tuple(detail_of(one) for one in self.message.problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(self.message.warnings)

    def rows(self) -> list[dict[str, Any]]:
        """The layers as dicts, in order."""
        return [asdict(layer) for layer in self.layers]

    def to_pandas(self) -> pandas.DataFrame:
        """The layers as a frame with their ids as index. Needs pandas."""
        import pandas

        columns = [field.name for field in fields(ModelLayer)]
        return pandas.DataFrame(self.rows(), columns=columns).set_index("id")

    def __repr__(self) -> str:
        return (f"<ModelDescription {clean(self.name)}: {len(self.layers)} layers, "
                f"{group_digits(self.macs)} MACs>")

    def _repr_html_(self) -> str:
        rows = [[layer.id, layer.op, layer.engine or "-", group_digits(layer.macs),
                 group_digits(layer.parameters), str(list(layer.output_shape))]
                for layer in self.layers]
        layers = _html.table(["layer", "op", "engine", "MACs", "parameters", "output"],
                             rows, 3)
        return f"<div><p><b>{_html.escape(self.name)}</b></p>{layers}</div>"
