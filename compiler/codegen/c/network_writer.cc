#include "compiler/codegen/c/network_writer.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "compiler/codegen/c/c_text.h"

namespace edgekiln::compiler {

std::string NetworkWriter::AddArray(v1::ElementType type,
                                    absl::string_view bytes) {
  const std::string name = absl::StrCat(prefix_, "_c", arrays_++);
  const int64_t element = ElementBytes(type);
  const int64_t elements = static_cast<int64_t>(bytes.size()) / element;
  constant_bytes_ += static_cast<int64_t>(bytes.size());
  if (counts_only_) return name;
  // C has no empty arrays.
  absl::StrAppend(&constants_text_, "static const ", CTypeOf(type), " ", name,
                  "[", std::max<int64_t>(elements, 1), "] = {\n");
  if (elements == 0) {
    constants_text_.append("  0,\n");
  } else {
    AppendInitialiser(type, bytes, constants_text_);
  }
  constants_text_.append("};\n");
  return name;
}

std::string NetworkWriter::UseConstant(TensorId id) {
  // Bytes that others keep are where they keep them.
  if (graph_.tensors[id].data.is_borrowed()) {
    return absl::StrCat("(const ", CTypeOf(graph_.tensors[id].type), " *)",
                        TensorName(id));
  }
  std::string& name = constants_[id];
  if (name.empty()) {
    name = AddArray(graph_.tensors[id].type, *graph_.tensors[id].data);
  }
  return name;
}

std::string NetworkWriter::TensorName(TensorId id) const {
  return absl::StrCat(prefix_, "_t", id);
}

std::string NetworkWriter::OffsetName(TensorId id) const {
  return absl::StrCat(prefix_, "_o", id);
}

std::string NetworkWriter::TensorAddress(TensorId id) const {
  return absl::StrCat(prefix_, "_arena.bytes + ", OffsetName(id));
}

int64_t NetworkWriter::AddEntry(std::string entry) {
  entries_.push_back(std::move(entry));
  return std::ssize(entries_) - 1;
}

std::string NetworkWriter::ScratchName(int64_t number) const {
  return absl::StrCat(prefix_, "_s", number);
}

}  // namespace edgekiln::compiler
