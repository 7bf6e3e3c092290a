#include "tests/chaos/hostile_models.h"

#include <zlib.h>

#include <cstdlib>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compiler/frontend/onnx/testing/test_model.h"

namespace edgekiln::chaos {
namespace {

using compiler::onnx_import::TestModel;

constexpr int64_t kWidth = 16;
constexpr size_t kZerosBytes = size_t{16} << 20;

// What makes a model differ from that of another seed.
std::string Bytes(TestModel& model, uint64_t seed) {
  // Not a remark alone: an importer would leave that out of the graph.
  model.proto().mutable_graph()->set_name(absl::StrCat("g", seed));
  return model.bytes();
}

float Slope(uint64_t seed) {
  return 1e-3F + static_cast<float>(seed % 65'521) * 1e-6F;
}

// Little-endian, as zip has it.
void Append(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    out += static_cast<char>(value >> (8 * i));
  }
}

// One piece of a raw deflate stream, which may be put anywhere in one.
std::string Deflated(const std::string& bytes, int flush) {
  z_stream stream = {};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    std::abort();
  }
  std::string out(compressBound(bytes.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, flush);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

uint32_t Crc(const std::string& bytes) {
  return static_cast<uint32_t>(
      crc32(0, reinterpret_cast<const Bytef*>(bytes.data()),
            static_cast<uInt>(bytes.size())));
}

std::string NpyHeader(int64_t samples) {
  std::string text =
      absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                   samples, ", ", kWidth, "), }");
  text.resize(117, ' ');
  std::string header("\x93NUMPY\x01\x00", 8);
  Append(header, text.size() + 1, 2);
  return header + text + "\n";
}

}  // namespace

std::string ChainModel(int layers, uint64_t seed) {
  return LongNamesModel(layers, 0, seed);
}

std::string LongNamesModel(int layers, int name_bytes, uint64_t seed) {
  TestModel model;
  model.Input("t0", {1, kWidth});
  for (int i = 0; i < layers; ++i) {
    model.Node("LeakyRelu", {absl::StrCat("t", i)}, {absl::StrCat("t", i + 1)})
        .Float("alpha", Slope(seed + static_cast<uint64_t>(i)));
    if (name_bytes > 0) {
      model.Name(absl::StrCat(
          "n", i, std::string(static_cast<size_t>(name_bytes), 'x')));
    }
  }
  model.Output(absl::StrCat("t", layers));
  return Bytes(model, seed);
}

std::string SlowModel(uint64_t seed) {
  constexpr int64_t kChannels = 96;
  TestModel model;
  model.Input("t0", {1, kChannels, 160, 160});
  constexpr int kLayers = 6;
  for (int i = 0; i < kLayers; ++i) {
    const std::string weights = absl::StrCat("w", i);
    model
        .Floats(
            weights, {kChannels, kChannels, 3, 3},
            std::vector<float>(size_t{kChannels} * kChannels * 9, Slope(seed)))
        .Node("Conv", {absl::StrCat("t", i), weights},
              {absl::StrCat("t", i + 1)})
        .Ints("pads", {1, 1, 1, 1});
  }
  model.Output(absl::StrCat("t", kLayers));
  return Bytes(model, seed);
}

std::string NestedModel(int depth, uint64_t seed) {
  TestModel body;
  body.Node("Relu", {"x"}, {"y"}).Output("y");
  for (int i = 0; i < depth; ++i) {
    TestModel outer;
    TestModel other;
    other.Node("Neg", {"x"}, {"y"}).Output("y");
    outer.Node("If", {"c"}, {"y"})
        .Graph("then_branch", body)
        .Graph("else_branch", other)
        .Output("y");
    body = outer;
  }
  body.Input("x", {1, kWidth}).TypedInput("c", onnx::TensorProto::BOOL, {});
  return Bytes(body, seed);
}

std::string HugeInputModel(uint64_t seed) {
  TestModel model;
  model.Input("t0", {1, 1, 32'000, 32'000})
      .Node("LeakyRelu", {"t0"}, {"t1"})
      .Float("alpha", Slope(seed))
      .Node("MaxPool", {"t1"}, {"t2"})
      .Ints("kernel_shape", {2, 2})
      .Output("t2");
  return Bytes(model, seed);
}

std::string DoublingModel(uint64_t seed) {
  constexpr int kDoublings = 24;
  TestModel model;
  model.Input("x", {1}).Floats("t0", {64}, std::vector<float>(64, Slope(seed)));
  for (int i = 0; i < kDoublings; ++i) {
    const std::string from = absl::StrCat("t", i);
    model.Node("Concat", {from, from}, {absl::StrCat("t", i + 1)})
        .Int("axis", 0);
  }
  const std::string last = absl::StrCat("t", kDoublings);
  model.Node("Add", {last, "x"}, {"y"}).Output("y");
  return Bytes(model, seed);
}

std::string NpzBomb(int64_t bytes, uint64_t seed) {
  const std::string zeros(kZerosBytes, '\0');
  const int64_t repeats = bytes / static_cast<int64_t>(kZerosBytes);
  const int64_t data_bytes = repeats * static_cast<int64_t>(kZerosBytes);
  const std::string header = NpyHeader(data_bytes / (4 * kWidth));
  // Ends at a byte, and refers to nothing before it: the same piece again and
  // again is a stream.
  const std::string piece = Deflated(zeros, Z_FULL_FLUSH);
  std::string packed = Deflated(header, Z_FULL_FLUSH);
  uint32_t crc = Crc(header);
  const uint32_t piece_crc = Crc(zeros);
  for (int64_t i = 0; i < repeats; ++i) {
    packed += piece;
    crc = static_cast<uint32_t>(
        crc32_combine(crc, piece_crc, static_cast<z_off_t>(kZerosBytes)));
  }
  packed += Deflated("", Z_FINISH);
  const uint64_t size = header.size() + static_cast<uint64_t>(data_bytes);

  const std::string name = "x.npy";
  std::string common;  // Of both headers of the member.
  Append(common, 20, 2);
  Append(common, 0, 2);
  Append(common, 8, 2);  // Deflate.
  Append(common, 0, 4);
  Append(common, crc, 4);
  Append(common, packed.size(), 4);
  Append(common, size, 4);
  Append(common, name.size(), 2);
  Append(common, 0, 2);
  std::string zip = "PK\x03\x04" + common + name + packed;
  const size_t directory = zip.size();
  zip += std::string("PK\x01\x02", 4);
  Append(zip, 20, 2);
  zip += common;
  Append(zip, 0, 2);  // No comment,
  Append(zip, 0, 2);  // on this disk,
  Append(zip, 0, 2);
  Append(zip, 0, 4);
  Append(zip, 0, 4);  // at the start.
  zip += name;
  const size_t directory_bytes = zip.size() - directory;
  const std::string comment = absl::StrCat(seed);
  zip += std::string("PK\x05\x06", 4);
  Append(zip, 0, 4);
  Append(zip, 1, 2);
  Append(zip, 1, 2);
  Append(zip, directory_bytes, 4);
  Append(zip, directory, 4);
  Append(zip, comment.size(), 2);
  return zip + comment;
}

}  // namespace edgekiln::chaos
