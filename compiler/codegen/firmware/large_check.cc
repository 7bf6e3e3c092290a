#include "compiler/codegen/firmware/large_check.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "base/status_macros.h"
#include "compiler/codegen/c/identifiers.h"
#include "compiler/ir/interpreter.h"

namespace edgekiln::compiler {
namespace {

// How fill() and digest() of kFunctions read a value.
struct Element {
  int64_t bytes = 0;
  char kind = 'i';  // 'f': floats, 'b': 0 or 1, 'i': integers, '0': all 0.
};

Element ElementOf(const Tensor& tensor) {
  const bool is_float = tensor.type == v1::FLOAT16 ||
                        tensor.type == v1::FLOAT32 ||
                        tensor.type == v1::FLOAT64;
  return {ElementBytes(tensor.type), is_float                  ? 'f'
                                     : tensor.type == v1::BOOL ? 'b'
                                                               : 'i'};
}

// Fill() and DigestOfValues() of this file in C: both must compute the same.
constexpr char kFunctions[] = R"(
/* Bits of a value made of random ones; floats are between 1/8 and 2. */
static uint64_t value_of(uint64_t random, unsigned bytes, char kind) {
  if (kind == '0') return 0;
  if (kind == 'b') return random >> 40 & 1;
  if (kind == 'f' && bytes == 2) {
    return (random >> 40 & 0x83ff) | (12 + (random & 3)) << 10;
  }
  if (kind == 'f' && bytes == 4) {
    return (random >> 32 & 0x807fffff) | (124 + (random & 3)) << 23;
  }
  if (kind == 'f') {
    return (random & ~((uint64_t)0x7ff << 52)) | (1020 + (random & 3)) << 52;
  }
  return random;
}

static void fill(unsigned char *to, uint64_t elements, unsigned bytes,
                 char kind, uint64_t state) {
  for (; elements > 0; --elements) {
    uint64_t value;
    unsigned i;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    value = value_of(state, bytes, kind);
    for (i = 0; i < bytes; ++i) *to++ = (unsigned char)(value >> (8 * i));
  }
}

/* Any NaN is the same as another. */
static uint64_t digest(const unsigned char *from, uint64_t elements,
                       unsigned bytes, char kind) {
  const uint64_t infinity = bytes == 2   ? 0x7c00
                            : bytes == 4 ? 0x7f800000
                                         : (uint64_t)0x7ff << 52;
  const uint64_t size = ((uint64_t)1 << (8 * bytes - 1)) - 1;
  uint64_t hash = 0xcbf29ce484222325u;
  for (; elements > 0; --elements) {
    uint64_t value = 0;
    unsigned i;
    for (i = 0; i < bytes; ++i) value |= (uint64_t)*from++ << (8 * i);
    if (kind == 'f' && (value & size) > infinity) value = size;
    hash = (hash ^ value) * 0x100000001b3u;
  }
  return hash;
}

static int wrong;

static void compare(int output, uint64_t got, uint64_t want) {
  if (got == want) return;
  printf("output %d differs from what was recorded\n", output);
  wrong = 1;
}
)";

uint64_t ValueOf(uint64_t random, const Element& element) {
  if (element.kind == '0') return 0;
  if (element.kind == 'b') return random >> 40 & 1;
  if (element.kind != 'f') return random;
  if (element.bytes == 2) {
    return (random >> 40 & 0x83ff) | (12 + (random & 3)) << 10;
  }
  if (element.bytes == 4) {
    return (random >> 32 & 0x807fffff) | (124 + (random & 3)) << 23;
  }
  return (random & ~(uint64_t{0x7ff} << 52)) | (1020 + (random & 3)) << 52;
}

// Of any value but 0, which stays 0.
uint64_t SeedOf(size_t input) { return 0x9e3779b97f4a7c15u + input; }

std::string Fill(int64_t elements, const Element& element, uint64_t state) {
  std::string bytes(static_cast<size_t>(elements * element.bytes), '\0');
  char* to = bytes.data();
  for (; elements > 0; --elements) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const uint64_t value = ValueOf(state, element);
    for (int64_t i = 0; i < element.bytes; ++i) {
      *to++ = static_cast<char>(value >> (8 * i) & 255);
    }
  }
  return bytes;
}

uint64_t DigestOfValues(absl::string_view bytes, const Element& element) {
  const uint64_t infinity = element.bytes == 2   ? 0x7c00
                            : element.bytes == 4 ? 0x7f800000
                                                 : uint64_t{0x7ff} << 52;
  const uint64_t size = (uint64_t{1} << (8 * element.bytes - 1)) - 1;
  uint64_t hash = 0xcbf29ce484222325u;
  const auto step = static_cast<size_t>(element.bytes);
  for (size_t at = 0; at + step <= bytes.size(); at += step) {
    uint64_t value = 0;
    for (size_t i = 0; i < step; ++i) {
      value |= static_cast<uint64_t>(static_cast<uint8_t>(bytes[at + i]))
               << (8 * i);
    }
    if (element.kind == 'f' && (value & size) > infinity) value = size;
    hash = (hash ^ value) * 0x100000001b3u;
  }
  return hash;
}

bool IsState(const Graph& graph, TensorId id) {
  for (const State& state : graph.states) {
    if (state.input == id) return true;
  }
  return false;
}

// Computes outputs of generated inputs, all 0 if `zeros`.
bool Computes(const Graph& graph, bool zeros, std::vector<Element>& elements,
              Interpreter& interpreter) {
  std::vector<std::string> values;
  elements.clear();
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    const Tensor& tensor = graph.tensors[graph.inputs[i]];
    Element element = ElementOf(tensor);
    if (zeros) element.kind = '0';
    elements.push_back(element);
    values.push_back(IsState(graph, graph.inputs[i])
                         ? ""
                         : Fill(tensor.num_elements(), element, SeedOf(i)));
  }
  const std::vector<absl::string_view> inputs(values.begin(), values.end());
  return interpreter.Run(inputs).ok();
}

std::string Arguments(const Tensor& tensor, const Element& element) {
  return absl::StrCat(tensor.num_elements(), "u, ", element.bytes, ", '",
                      std::string(1, element.kind), "'");
}

}  // namespace

absl::StatusOr<std::string> LargeCheckText(const Graph& graph,
                                           const std::string& prefix,
                                           const std::string& include,
                                           const std::string& start) {
  const auto created =
      Interpreter::Create(graph, {.max_buffer_bytes = kCheckBufferBytes});
  if (absl::IsResourceExhausted(created.status())) return std::string();
  EK_RETURN_IF_ERROR(created.status());
  Interpreter& interpreter = **created;
  std::vector<Element> elements;
  // What is random need not be an index: 0 mostly is one.
  if (!Computes(graph, /*zeros=*/false, elements, interpreter) &&
      !Computes(graph, /*zeros=*/true, elements, interpreter)) {
    return std::string();
  }
  const std::string macro = CMacroPrefix(prefix);
  std::string text = absl::StrCat(
      "/* Made by edgekiln: runs the network on this machine with inputs that "
      "it makes\n   itself, and compares digests of its outputs with the "
      "reference interpreter's. */\n#include <stdint.h>\n#include "
      "<stdio.h>\n\n#include \"",
      prefix, ".h\"\n",
      include.empty() ? "" : absl::StrCat("#include \"", include, "\"\n"),
      kFunctions, "\nint main(void) {\n  int code;\n  (void)fill;\n",
      start.empty() ? "" : absl::StrCat("  ", start, "\n"));
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (IsState(graph, graph.inputs[i])) continue;
    absl::StrAppend(&text, "  fill((unsigned char *)", macro, "_INPUT_", i,
                    ", ",
                    Arguments(graph.tensors[graph.inputs[i]], elements[i]),
                    absl::StrFormat(", 0x%xu", SeedOf(i)), ");\n");
  }
  absl::StrAppend(&text, "  code = ", prefix,
                  "_invoke();\n  if (code != 0) {\n    printf(\"layer %d met "
                  "an index out of range\\n\", code - 1);\n    return 1;\n"
                  "  }\n");
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const Tensor& tensor = graph.tensors[graph.outputs[i]];
    const Element element = ElementOf(tensor);
    absl::StrAppend(
        &text, "  compare(", i, ", digest((const unsigned char *)", macro,
        "_OUTPUT_", i, ", ", Arguments(tensor, element),
        absl::StrFormat(
            "), 0x%xu);\n",
            DigestOfValues(interpreter.value(graph.outputs[i]), element)));
  }
  absl::StrAppend(&text, "  if (wrong == 0) printf(\"", prefix,
                  ": one sample equals what was recorded\\n\");\n  return "
                  "wrong;\n}\n");
  return text;
}

}  // namespace edgekiln::compiler
