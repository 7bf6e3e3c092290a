#!/usr/bin/env python3
"""TypeScript types of messages in the form that they have in JSON.

usage: proto_types.py DESCRIPTORS OUT INT64 MESSAGE...

DESCRIPTORS: written by protoc --descriptor_set_out, with --include_imports and
--include_source_info. OUT: the file to write. INT64: what 64-bit integers are:
"string" in proto3's JSON, "number" in the data of our pages. Each MESSAGE is
written with all messages that its fields hold. JSON leaves out default values,
so every field is optional.
"""

import sys
import textwrap

from google.protobuf import descriptor_pb2

PACKAGE = ".edgekiln.v1."
KNOWN = {".google.protobuf.Timestamp": "string",
         ".google.protobuf.Duration": "string"}
F = descriptor_pb2.FieldDescriptorProto
INT64 = {F.TYPE_INT64, F.TYPE_UINT64, F.TYPE_SINT64, F.TYPE_FIXED64,
         F.TYPE_SFIXED64}
SCALARS = {F.TYPE_BOOL: "boolean", F.TYPE_STRING: "string",
           F.TYPE_BYTES: "string"}
# Numbers of fields in descriptor.proto, of which paths of comments are made.
MESSAGE, ENUM, NESTED, NESTED_ENUM, FIELD = 4, 5, 3, 4, 2


class Node:
    """A message or an enum, where it stands, and what it contains."""

    def __init__(self, proto, name, path, comments):
        self.proto, self.name, self.comments = proto, name, comments
        self.path = path
        self.children = []
        self.is_enum = isinstance(proto, descriptor_pb2.EnumDescriptorProto)
        if self.is_enum:
            return
        for i, inner in enumerate(proto.nested_type):
            self.add(inner, path + (NESTED, i))
        for i, inner in enumerate(proto.enum_type):
            self.add(inner, path + (NESTED_ENUM, i))

    def add(self, proto, path):
        self.children.append(
            Node(proto, f"{self.name}.{proto.name}", path, self.comments))

    def all(self):
        yield self
        for child in self.children:
            yield from child.all()


def comments_of(file):
    return {tuple(at.path): (at.leading_comments + at.trailing_comments).strip()
            for at in file.source_code_info.location}


def top_nodes(descriptors):
    nodes = []
    for file in descriptors.file:
        if f".{file.package}." != PACKAGE:
            continue
        comments = comments_of(file)
        for i, proto in enumerate(file.message_type):
            nodes.append(Node(proto, proto.name, (MESSAGE, i), comments))
        for i, proto in enumerate(file.enum_type):
            nodes.append(Node(proto, proto.name, (ENUM, i), comments))
    return nodes


def named(field):
    """The message or enum of a field, without its package."""
    if not field.type_name or field.type_name in KNOWN:
        return None
    if not field.type_name.startswith(PACKAGE):
        sys.exit(f"proto_types.py: {field.type_name} has no form in JSON here")
    return field.type_name[len(PACKAGE):]


def needed(nodes, roots):
    by_name = {node.name: node for top in nodes for node in top.all()}
    found, left = set(), list(roots)
    while left:
        name = left.pop()
        if name in found:
            continue
        if name not in by_name:
            sys.exit(f"proto_types.py: there is no message {name}")
        found.add(name)
        node = by_name[name]
        if not node.is_enum:
            left += filter(None, map(named, node.proto.field))
    return found


class Writer:
    def __init__(self, int64, found):
        self.int64, self.found, self.lines = int64, found, []

    def line(self, depth, text):
        self.lines.append("  " * depth + text)

    def comment(self, depth, text):
        if not text:
            return
        lines = textwrap.wrap(" ".join(text.split()), 74 - 2 * depth)
        lines = [line.replace("*/", "* /") for line in lines]
        self.line(depth, f"/** {lines[0]}" + (" */" if len(lines) == 1 else ""))
        for i, line in enumerate(lines[1:], 2):
            self.line(depth, f" * {line}" + (" */" if i == len(lines) else ""))

    def type_of(self, field):
        kind = (named(field) or KNOWN.get(field.type_name)
                or SCALARS.get(field.type)
                or (self.int64 if field.type in INT64 else "number"))
        return kind + ("[]" if field.label == F.LABEL_REPEATED else "")

    def write(self, node, depth):
        short = node.proto.name
        if node.name in self.found:
            self.comment(depth, node.comments.get(node.path, ""))
            if node.is_enum:
                values = " | ".join(f'"{v.name}"' for v in node.proto.value)
                self.line(depth, f"export type {short} = {values};")
                return
            self.line(depth, f"export interface {short} {{")
            for i, field in enumerate(node.proto.field):
                self.comment(depth + 1,
                             node.comments.get(node.path + (FIELD, i), ""))
                self.line(depth + 1, f"{field.name}?: {self.type_of(field)};")
            self.line(depth, "}")
        inner = [child for child in node.children
                 if any(one.name in self.found for one in child.all())]
        if inner:
            self.line(depth, f"export namespace {short} {{")
            for child in inner:
                self.write(child, depth + 1)
            self.line(depth, "}")


def main():
    if len(sys.argv) < 5 or sys.argv[3] not in ("string", "number"):
        sys.exit(__doc__)
    path, out, int64 = sys.argv[1:4]
    descriptors = descriptor_pb2.FileDescriptorSet()
    with open(path, "rb") as file:
        descriptors.ParseFromString(file.read())
    nodes = top_nodes(descriptors)
    writer = Writer(int64, needed(nodes, sys.argv[4:]))
    for node in nodes:
        writer.write(node, 0)
    with open(out, "w", encoding="utf-8") as file:
        file.write("// Made from proto/ by web/proto_types.py.\n" +
                   "\n".join(writer.lines) + "\n")


if __name__ == "__main__":
    main()
