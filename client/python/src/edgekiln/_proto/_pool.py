"""Message classes out of descriptors.pb, in a pool of this package's own: other
packages bring their own editions of google/rpc/status.proto and the like, and
one pool takes only one of them."""

from __future__ import annotations

import pathlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import enum_type_wrapper


def _load() -> Any:
    pool = descriptor_pool.DescriptorPool()
    # The files come in the order of their imports.
    data = (pathlib.Path(__file__).parent / "descriptors.pb").read_bytes()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


POOL = _load()
_FACTORY = None if hasattr(message_factory, "GetMessageClass") else (
    message_factory.MessageFactory(POOL))


def _class_of(descriptor: Any) -> Any:
    if _FACTORY is not None:  # protobuf before 4.22.
        made = _FACTORY.GetPrototype(descriptor)
    else:
        made = message_factory.GetMessageClass(descriptor)
    # protobuf's C++ implementation leaves these to the modules of protoc.
    for nested in descriptor.nested_types:
        if not hasattr(made, nested.name):
            setattr(made, nested.name, _class_of(nested))
    for enum in descriptor.enum_types:
        if not hasattr(made, enum.name):
            setattr(made, enum.name, enum_type_wrapper.EnumTypeWrapper(enum))
    return made


def messages_of(file: str) -> dict[str, Any]:
    """What protoc's module of `file` holds: messages, enums and their values."""
    descriptor = POOL.FindFileByName(file)
    names: dict[str, Any] = {"DESCRIPTOR": descriptor}
    for name, message in descriptor.message_types_by_name.items():
        names[name] = _class_of(message)
    for name, enum in descriptor.enum_types_by_name.items():
        names[name] = enum_type_wrapper.EnumTypeWrapper(enum)
        names.update({value.name: value.number for value in enum.values})
    return names
