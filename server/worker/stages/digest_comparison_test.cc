#include "server/worker/stages/digest_comparison.h"

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "compiler/ir/interpreter.h"
#include "compiler/ir/text.h"
#include "gtest/gtest.h"
#include "server/worker/stages/compare.h"

namespace edgekiln::server {
namespace {

using Verdict = DigestComparison::Verdict;

// Tensor 0 is the input, 1 what an op makes of it, 2 a constant; all are 2 rows
// of 3 columns of 2 channels.
compiler::Graph ThreeTensors() {
  compiler::Graph graph;
  for (const char* name : {"in", "out", "constant"}) {
    compiler::Tensor& tensor = graph.tensors.emplace_back();
    tensor.name = name;
    tensor.type = v1::INT8;
    tensor.shape = {1, 2, 3, 2};
  }
  graph.tensors[2].data = compiler::ConstantData("constant!!!!");
  compiler::Op& op = graph.ops.emplace_back();
  op.id = "op";
  op.inputs = {0, 2};
  op.outputs = {1};
  graph.inputs = {0};
  graph.outputs = {1};
  return graph;
}

constexpr absl::string_view kIn = "from outside";
constexpr absl::string_view kOut[] = {"0123456789ab", "ABCDEFGHIJKL"};

std::string DigestBlob() {
  std::string blob;
  for (const absl::string_view out : kOut) {
    const Fingerprint print = Fingerprinter().Of(out);
    blob.append(reinterpret_cast<const char*>(print.data()), print.size());
  }
  return blob;
}

v1::Program::Tap Tap(int tensor, std::vector<int64_t> bounds) {
  v1::Program::Tap tap;
  tap.set_tensor(tensor);
  v1::Box& box = *tap.mutable_box();
  box.add_begin(0);
  box.add_end(1);
  for (size_t i = 0; i < bounds.size(); i += 2) {
    box.add_begin(bounds[i]);
    box.add_end(bounds[i + 1]);
  }
  return tap;
}

// The part of `whole` that the tap shows.
std::string Part(const v1::Program::Tap& tap, absl::string_view whole) {
  const v1::Box& box = tap.box();
  std::string part;
  for (int64_t h = box.begin(1); h < box.end(1); ++h) {
    for (int64_t w = box.begin(2); w < box.end(2); ++w) {
      for (int64_t c = box.begin(3); c < box.end(3); ++c) {
        part += whole[static_cast<size_t>((h * 3 + w) * 2 + c)];
      }
    }
  }
  return part;
}

class DigestComparisonTest : public testing::Test {
 protected:
  DigestComparisonTest() { inputs_.Add("digests", blob_); }

  DigestComparison Create() {
    auto digests = TensorDigests::Create(inputs_, graph_, 2);
    EXPECT_TRUE(digests.ok()) << digests.status();
    return {graph_, *std::move(digests)};
  }

  // All taps show `out`, which is also the output.
  Verdict Sample(DigestComparison& comparison, int64_t index,
                 const std::vector<v1::Program::Tap>& taps,
                 absl::string_view out) {
    comparison.Begin(index, in_);
    for (const v1::Program::Tap& tap : taps) {
      comparison.AddTap(tap, Part(tap, out));
    }
    comparison.AddOutput(1, kOut[index]);
    return comparison.End();
  }

  const compiler::Graph graph_ = ThreeTensors();
  const std::string blob_ = DigestBlob();
  const std::vector<absl::string_view> in_ = {kIn};
  StageInputs inputs_;
};

// Every way in which a tensor is shown: all values are counted, and every
// single wrong one is found.
TEST_F(DigestComparisonTest, FindsEveryWrongValue) {
  const std::vector<std::vector<v1::Program::Tap>> ways = {
      {Tap(1, {0, 2, 0, 3, 0, 2})},
      {Tap(1, {0, 1, 0, 3, 0, 2}), Tap(1, {1, 2, 0, 3, 0, 2})},
      {Tap(1, {0, 2, 2, 3, 0, 2}), Tap(1, {0, 2, 0, 2, 0, 2})},
      {Tap(1, {0, 2, 0, 3, 1, 2}), Tap(1, {0, 2, 0, 3, 0, 1})},
      // Each value twice: in parts and in whole.
      {Tap(1, {0, 2, 0, 3, 1, 2}), Tap(1, {0, 2, 0, 3, 0, 2}),
       Tap(1, {0, 2, 0, 3, 0, 1})},
  };
  for (size_t way = 0; way < ways.size(); ++way) {
    DigestComparison comparison = Create();
    for (int64_t index = 0; index < 2; ++index) {
      EXPECT_EQ(Sample(comparison, index, ways[way], kOut[index]),
                Verdict::kEqual)
          << way;
      EXPECT_EQ(comparison.tapped(),
                (std::vector<int64_t>{0, way == 4 ? 24 : 12, 0}));
      EXPECT_EQ(comparison.output_values(), 12);
    }
    for (size_t i = 0; i < kOut[1].size(); ++i) {
      std::string wrong(kOut[1]);
      wrong[i] ^= 1;
      EXPECT_EQ(Sample(comparison, 1, ways[way], wrong), Verdict::kDifferent)
          << way << " " << i;
    }
    // Nothing of it is left.
    EXPECT_EQ(Sample(comparison, 0, ways[way], kOut[0]), Verdict::kEqual);
  }
}

TEST_F(DigestComparisonTest, ASampleIsNotAnother) {
  DigestComparison comparison = Create();
  EXPECT_EQ(Sample(comparison, 0, {Tap(1, {0, 2, 0, 3, 0, 2})}, kOut[1]),
            Verdict::kDifferent);
}

TEST_F(DigestComparisonTest, AWrongOutputIsFound) {
  DigestComparison comparison = Create();
  comparison.Begin(0, in_);
  comparison.AddOutput(1, kOut[1]);
  EXPECT_EQ(comparison.End(), Verdict::kDifferent);
  comparison.Begin(0, in_);
  comparison.AddOutput(1, "too short");
  EXPECT_EQ(comparison.End(), Verdict::kUnknown);
}

// No op computes them, so that they have no fingerprints.
TEST_F(DigestComparisonTest, InputsAndConstantsAreComparedThemselves) {
  const std::vector<v1::Program::Tap> taps = {Tap(0, {0, 2, 0, 3, 0, 2}),
                                              Tap(2, {0, 1, 0, 3, 0, 2}),
                                              Tap(2, {1, 2, 0, 3, 0, 2})};
  const auto run = [&](DigestComparison& comparison, absl::string_view input,
                       absl::string_view constant) {
    comparison.Begin(0, in_);
    comparison.AddTap(taps[0], Part(taps[0], input));
    comparison.AddTap(taps[1], Part(taps[1], constant));
    comparison.AddTap(taps[2], Part(taps[2], constant));
    return comparison.End();
  };
  DigestComparison comparison = Create();
  EXPECT_EQ(run(comparison, kIn, "constant!!!!"), Verdict::kEqual);
  EXPECT_EQ(run(comparison, "from OUTside", "constant!!!!"),
            Verdict::kDifferent);
  EXPECT_EQ(run(comparison, kIn, "constant!!!?"), Verdict::kDifferent);
}

// Whole tensors alone have fingerprints: what cannot be put together is never
// taken for equal.
TEST_F(DigestComparisonTest, WhatIsNoWholeTensorIsUnknown) {
  const v1::Program::Tap first = Tap(1, {0, 1, 0, 3, 0, 2});
  const v1::Program::Tap second = Tap(1, {1, 2, 0, 3, 0, 2});
  const std::vector<std::vector<v1::Program::Tap>> ways = {
      {first},
      {first, first},
      {first, second, Tap(1, {0, 1, 1, 2, 0, 2})},
      {Tap(1, {0, 3, 0, 3, 0, 2})},
      {Tap(7, {0, 2, 0, 3, 0, 2})},
      {Tap(-1, {0, 2, 0, 3, 0, 2})},
  };
  for (size_t way = 0; way < ways.size(); ++way) {
    DigestComparison comparison = Create();
    comparison.Begin(0, in_);
    for (const v1::Program::Tap& tap : ways[way]) {
      const bool fits = tap.tensor() == 1 && tap.box().end(1) < 3;
      comparison.AddTap(tap, fits ? Part(tap, kOut[0]) : std::string(18, 'x'));
    }
    EXPECT_EQ(comparison.End(), Verdict::kUnknown) << way;
  }
}

// The first sample shows that slices do not overlap. Another order later would
// mean that some came twice, and others not at all.
TEST_F(DigestComparisonTest, LaterSamplesShowTheSameTaps) {
  const std::vector<v1::Program::Tap> taps = {Tap(1, {0, 1, 0, 3, 0, 2}),
                                              Tap(1, {1, 2, 0, 3, 0, 2})};
  for (const std::vector<int>& order :
       std::vector<std::vector<int>>{{0, 0}, {1, 1}, {0}, {0, 1, 1}, {}}) {
    DigestComparison comparison = Create();
    EXPECT_EQ(Sample(comparison, 0, taps, kOut[0]), Verdict::kEqual);
    comparison.Begin(0, in_);
    for (const int tap : order) {
      comparison.AddTap(taps[static_cast<size_t>(tap)],
                        Part(taps[static_cast<size_t>(tap)], kOut[0]));
    }
    EXPECT_EQ(comparison.End(), Verdict::kUnknown);
  }
}

std::string Floats(const std::vector<uint32_t>& bits) {
  std::string bytes(4 * bits.size(), '\0');
  std::memcpy(bytes.data(), bits.data(), bytes.size());
  return bytes;
}

// By digest and by value alike.
TEST(NanComparisonTest, AnyNanIsAnyOther) {
  const auto graph = compiler::ParseGraph(
      "graph \"g\"\n%x : float32[3] = input\n"
      "%y : float32[3] = unary(%x) {function NEG} id y\nreturn %y, %x\n");
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto reference = compiler::Interpreter::Create(
      *graph, {.keep = compiler::InterpreterOptions::Keep::kAllTensors});
  ASSERT_TRUE(reference.ok()) << reference.status();
  const std::string in = Floats({0x7fc00000, 0x3f800000, 0xffc00001});
  ASSERT_TRUE((*reference)->Run({in}).ok());
  TensorDigestWriter writer(*graph);
  writer.Append(**reference);
  const std::string blob = writer.Take();
  StageInputs inputs;
  inputs.Add("digests", absl::string_view(blob));

  const auto compare = [&](const std::string& x, const std::string& y) {
    auto digests = TensorDigests::Create(inputs, *graph, 1);
    EXPECT_TRUE(digests.ok()) << digests.status();
    DigestComparison by_digest(*graph, *std::move(digests));
    const std::vector<absl::string_view> given = {in};
    by_digest.Begin(0, given);
    by_digest.AddOutput(1, y);
    by_digest.AddOutput(0, x);
    const bool equal = by_digest.End() == Verdict::kEqual;
    Comparison by_value;
    EXPECT_TRUE(
        by_value.AddWhole(graph->tensors[1], (*reference)->value(1), y, "y", 0)
            .ok());
    EXPECT_TRUE(by_value.AddWhole(graph->tensors[0], in, x, "x", 0).ok());
    EXPECT_EQ(by_value.mismatches() == 0, equal) << by_value.first_mismatch();
    return equal;
  };
  const std::string other = Floats({0xffc12345, 0x3f800000, 0x7f800001});
  const std::string negated = Floats({0x7fc00000, 0xbf800000, 0x7fc00000});
  EXPECT_TRUE(compare(in, negated));
  EXPECT_TRUE(compare(other, negated));
  EXPECT_FALSE(compare(other, Floats({0x7f800000, 0xbf800000, 0x7fc00000})));
  EXPECT_FALSE(compare(other, Floats({0x7fc00000, 0x7fc00000, 0x7fc00000})));
  EXPECT_FALSE(compare(Floats({0, 0x3f800000, 0x7fc00000}), negated));
}

TEST_F(DigestComparisonTest, DigestsOfOtherSizeAreRefused) {
  for (const int64_t samples : {0, 1, 3}) {
    EXPECT_EQ(TensorDigests::Create(inputs_, graph_, samples).status().code(),
              absl::StatusCode::kInternal);
  }
  EXPECT_FALSE(TensorDigests::Create(StageInputs(), graph_, 2).ok());
}

}  // namespace
}  // namespace edgekiln::server
