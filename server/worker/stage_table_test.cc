// Every stage through the table: what it needs, whose fault what is, and a
// whole job by hand.

#include "server/worker/stage_table.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "compiler/dataset/npz.h"
#include "edgekiln/v1/graph.pb.h"
#include "edgekiln/v1/target.pb.h"
#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "proto/convert.h"
#include "server/kept_integers.h"
#include "server/stage_versions.h"
#include "server/worker_limits.h"
#include "target/builtin.h"
#include "tests/support/shared_data.h"

namespace edgekiln::server {
namespace {

using compiler::NpyArray;
using compiler::NpyType;

void Ignore(const v1::StageProgress&) {}

// Blobs of a job by role; runs stages on them.
class Bench {
 public:
  void Put(const std::string& role, std::string bytes) {
    blobs_.emplace(role, std::move(bytes));
  }
  void Drop(const std::string& role) { blobs_.erase(role); }
  std::string Get(const std::string& role) const {
    const auto it = blobs_.find(role);
    return it == blobs_.end() ? std::string() : it->second;
  }
  size_t Count(const std::string& role) const { return blobs_.count(role); }

  // Runs a stage on all blobs with these roles; its outputs replace blobs of
  // their roles.
  v1::StageSummary Run(const v1::StageOptions& options,
                       const std::vector<std::string>& roles) {
    StageInputs inputs;
    for (const std::string& role : roles) {
      const auto range = blobs_.equal_range(role);
      for (auto it = range.first; it != range.second; ++it) {
        inputs.Add(role, it->second);
      }
    }
    absl::StatusOr<StageOutput> output = RunStage(options, inputs, Ignore);
    EXPECT_TRUE(output.ok())
        << StageName(options.options_case()) << ": " << output.status();
    if (!output.ok()) return {};
    for (const auto& [role, bytes] : output->blobs) Drop(role);
    for (auto& [role, bytes] : output->blobs) Put(role, bytes);
    warnings_.insert(warnings_.end(), output->warnings.begin(),
                     output->warnings.end());
    return output->summary;
  }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::multimap<std::string, std::string> blobs_;
  std::vector<std::string> warnings_;
};

std::vector<v1::StageOptions> AllStages() {
  std::vector<v1::StageOptions> stages;
  const auto* oneof =
      v1::StageOptions::descriptor()->FindOneofByName("options");
  for (int i = 0; i < oneof->field_count(); ++i) {
    v1::StageOptions& options = stages.emplace_back();
    options.GetReflection()->MutableMessage(&options, oneof->field(i));
  }
  return stages;
}

v1::StageOptions Stage(void (*choose)(v1::StageOptions&)) {
  v1::StageOptions options;
  choose(options);
  return options;
}

TEST(StageTableTest, NoOptionsIsABug) {
  EXPECT_EQ(RunStage({}, {}, Ignore).status().code(),
            absl::StatusCode::kInternal);
}

TEST(StageTableTest, WithoutInputsEveryStageBlamesUs) {
  for (const v1::StageOptions& options : AllStages()) {
    const auto output = RunStage(options, {}, Ignore);
    ASSERT_FALSE(output.ok());
    // Packing nothing is the one thing that is not about a missing blob.
    if (options.has_pack_outputs()) continue;
    EXPECT_EQ(ErrorToProto(output.status()).fault(), v1::ErrorDetail::INFRA)
        << StageName(options.options_case()) << ": " << output.status();
  }
}

TEST(StageTableTest, NoiseIsAnErrorEverywhere) {
  StageInputs inputs;
  const std::string noise = "\xff\xfe noise \x01\x02";
  for (const char* role :
       {"model", "graph", "outline", "target", "data", "chunk", "labels",
        "statistics", "capabilities", "machine", "partition", "tiling",
        "program", "constants", "document", "outputs", "reference"}) {
    inputs.Add(role, noise);
  }
  for (const v1::StageOptions& options : AllStages()) {
    const auto output = RunStage(options, inputs, Ignore);
    ASSERT_FALSE(output.ok()) << StageName(options.options_case());
    const bool users = options.has_import() || options.has_resolve_target() ||
                       options.has_open_document();
    EXPECT_EQ(ErrorToProto(output.status()).fault() == v1::ErrorDetail::USER,
              users)
        << StageName(options.options_case()) << ": " << output.status();
  }
}

// Two int8 values in, limited to 0 .. 100, out.
v1::Graph ClipGraph() {
  v1::Graph graph;
  for (const char* name : {"in", "out"}) {
    v1::TensorType& type = *graph.add_tensors()->mutable_type();
    type.set_name(name);
    type.set_element_type(v1::INT8);
    type.add_shape(1);
    type.add_shape(2);
    type.mutable_quantization()->add_scale(1);
    type.mutable_quantization()->add_zero_point(0);
  }
  v1::Op& op = *graph.add_ops();
  op.set_id("clip_0");
  op.mutable_attributes()->mutable_clip()->mutable_clamp()->set_min(0);
  op.mutable_attributes()->mutable_clip()->mutable_clamp()->set_max(100);
  op.add_inputs(0);
  op.add_outputs(1);
  graph.add_inputs(0);
  graph.add_outputs(1);
  return graph;
}

v1::StageOptions Convert(bool raw, int chunk) {
  v1::StageOptions options;
  options.mutable_convert_data()->set_raw(raw);
  options.mutable_convert_data()->set_chunk_samples(chunk);
  return options;
}

TEST(StageTableTest, DataGoesInAndComesOut) {
  Bench bench;
  bench.Put("graph", ClipGraph().SerializeAsString());
  const auto npz = compiler::WriteNpz(
      {{"x", NpyArray{NpyType::kInt8, {2, 2}, "\x7f\xff\x05\x06"}}});
  ASSERT_TRUE(npz.ok());
  bench.Put("data", *npz);
  const auto data = bench.Run(Convert(true, 16), {"data", "graph"});
  EXPECT_EQ(data.data().samples(), 2);
  EXPECT_EQ(bench.Count("labels"), 0u);
  v1::StageOptions interpret;
  interpret.mutable_interpret();
  const auto samples = bench.Run(interpret, {"graph", "chunk"});
  EXPECT_EQ(samples.samples().samples(), 2);
  EXPECT_EQ(samples.samples().labelled(), 0);
  v1::StageOptions pack;
  pack.mutable_pack_outputs();
  bench.Run(pack, {"graph", "chunk"});
  const std::string packed = bench.Get("npz");
  const auto file = compiler::NpzFile::Open(packed);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto out = file->Read("out");
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->data, std::string("\x64\x00\x05\x06", 4));
}

// Arrays are of the model's types on both sides, chunks of the chip's.
TEST(StageTableTest, ConvertedPortsAreTheModelsOutside) {
  v1::Graph graph = ClipGraph();
  graph.add_converted_inputs()->set_element_type(v1::FLOAT32);
  graph.add_converted_outputs()->set_element_type(v1::FLOAT32);
  Bench bench;
  bench.Put("graph", graph.SerializeAsString());
  const float values[] = {126.5f, -3, 7.25f, 0.5f};
  const auto npz = compiler::WriteNpz(
      {{"x", NpyArray{NpyType::kFloat32,
                      {2, 2},
                      std::string(reinterpret_cast<const char*>(values),
                                  sizeof(values))}}});
  ASSERT_TRUE(npz.ok());
  bench.Put("data", *npz);
  bench.Run(Convert(true, 16), {"data", "graph"});
  v1::Chunk chunk;
  ASSERT_TRUE(chunk.ParseFromString(bench.Get("chunk")));
  EXPECT_EQ(chunk.arrays(0).type().element_type(), v1::INT8);
  EXPECT_EQ(chunk.arrays(0).data(), "\x7f\xfd\x07\x01");
  v1::StageOptions interpret;
  interpret.mutable_interpret();
  bench.Run(interpret, {"graph", "chunk"});
  v1::StageOptions pack;
  pack.mutable_pack_outputs();
  bench.Run(pack, {"graph", "chunk"});
  const std::string packed = bench.Get("npz");
  const auto file = compiler::NpzFile::Open(packed);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto out = file->Read("out");
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->type, NpyType::kFloat32);
  const float want[] = {100, 0, 7, 1};
  EXPECT_EQ(out->data,
            std::string(reinterpret_cast<const char*>(want), sizeof(want)));
}

// The network reads integers from -128 to 127, and what it makes of them is
// measured against the values that were stored.
TEST(StageTableTest, ReconstructionsAreScoredAgainstTheDataItself) {
  Bench bench;
  bench.Put("graph", ClipGraph().SerializeAsString());
  const float values[] = {126.5f, -3, 300, 0.25f};
  const int32_t labels[] = {0, 1};
  const auto npz = compiler::WriteNpz(
      {{"x", NpyArray{NpyType::kFloat32,
                      {2, 2},
                      std::string(reinterpret_cast<const char*>(values),
                                  sizeof(values))}},
       {"y", NpyArray{NpyType::kInt32,
                      {2},
                      std::string(reinterpret_cast<const char*>(labels),
                                  sizeof(labels))}}});
  ASSERT_TRUE(npz.ok());
  bench.Put("data", *npz);
  const auto integers = bench.Run(Convert(false, 16), {"data", "graph"});
  EXPECT_EQ(integers.data().ShortDebugString(),
            "samples: 2 labelled: 2 reconstructs: true largest_label: 1 "
            "chunk_samples: 2");
  v1::StageOptions interpret;
  interpret.mutable_interpret();
  const auto computed = bench.Run(interpret, {"graph", "chunk", "labels"});
  EXPECT_EQ(computed.samples().predicted_size(), 0);
  bench.Put("outputs", bench.Get("chunk"));

  v1::StageOptions real = Convert(false, 1);
  real.mutable_convert_data()->set_real(true);
  const auto floats = bench.Run(real, {"data", "graph"});
  EXPECT_EQ(floats.data().chunk_samples_size(), 2);
  ASSERT_EQ(bench.Count("chunk"), 2u);
  v1::Chunk first;
  ASSERT_TRUE(first.ParseFromString(bench.Get("chunk")));
  EXPECT_EQ(first.arrays(0).type().element_type(), v1::FLOAT32);
  bench.Put("reference", first.SerializeAsString());
  first.set_first_sample(1);
  first.mutable_arrays(0)->set_data(std::string(
      reinterpret_cast<const char*>(values + 2), 2 * sizeof(float)));
  bench.Put("reference", first.SerializeAsString());
  v1::StageOptions score;
  score.mutable_score()->set_measure(v1::ScoreOptions::SQUARED_ERROR);
  score.mutable_score()->set_first_only(true);
  const auto scored = bench.Run(score, {"outputs", "reference", "labels"});
  // Outputs are 100, 0 of both samples.
  EXPECT_EQ(scored.samples().ShortDebugString(),
            "samples: 2 label: 0 label: 1 score: 355.625 score: 20000.03125");
}

// A layer of two products, with a zero point that no engine of toy-shift has.
v1::Graph LayerGraph() {
  v1::Graph graph;
  const auto add = [&](const char* name, int32_t zero) -> v1::Tensor& {
    v1::Tensor& tensor = *graph.add_tensors();
    v1::TensorType& type = *tensor.mutable_type();
    type.set_name(name);
    type.set_element_type(v1::INT8);
    type.add_shape(1);
    type.add_shape(2);
    type.mutable_quantization()->add_scale(0.5f);
    type.mutable_quantization()->add_zero_point(zero);
    return tensor;
  };
  add("in", 7);
  add("weights", 0).set_data("\x04\xfe");
  add("out", 0).mutable_type()->set_shape(1, 1);
  v1::Op& op = *graph.add_ops();
  op.set_id("layer");
  op.mutable_attributes()->mutable_fully_connected();
  op.add_inputs(0);
  op.add_inputs(1);
  op.add_outputs(2);
  graph.add_inputs(0);
  graph.add_outputs(2);
  return graph;
}

void ResolveBuiltin(const std::string& name, Bench& bench) {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name == name) bench.Put("target", builtin.text);
  }
  v1::StageOptions options;
  options.mutable_resolve_target();
  bench.Run(options, {"target"});
  bench.Drop("target");
}

TEST(StageTableTest, IntegersThatNoEngineTakesAreQuantizedAnew) {
  Bench bench;
  const std::string came = LayerGraph().SerializeAsString();
  bench.Put("graph", came);
  bench.Put("source", came);
  ResolveBuiltin("toy-shift", bench);
  v1::StageOptions unquantize;
  unquantize.mutable_unquantize();
  const auto decided = bench.Run(unquantize, {"graph", "capabilities"});
  EXPECT_EQ(decided.unquantize().reason(),
            "shifter needs tensors with zero point 0");
  ASSERT_EQ(bench.Count("statistics"), 1u);
  v1::Graph real;
  ASSERT_TRUE(real.ParseFromString(bench.Get("graph")));
  EXPECT_EQ(real.tensors(0).type().element_type(), v1::FLOAT32);

  v1::StageOptions synthesize;
  synthesize.mutable_synthesize_data()->set_chunk_samples(16);
  bench.Run(synthesize, {"graph"});
  bench.Put("trial", bench.Get("chunk"));
  v1::StageOptions quantize;
  quantize.mutable_quantize();
  const auto quantized =
      bench.Run(quantize, {"graph", "statistics", "source", "trial"});
  ASSERT_EQ(quantized.quantization().notes_size(), 1);
  EXPECT_NE(quantized.quantization().notes(0).find("on 16 random inputs"),
            std::string::npos);
  EXPECT_EQ(quantized.quantization().layers_size(), 0);
  EXPECT_TRUE(bench.warnings().empty());
}

// Of an engine that rounds down, whose scales are powers of two.
TEST(StageTableTest, IntegersThatOnlyRoundOtherwiseStay) {
  Bench bench;
  v1::Graph came = LayerGraph();
  came.mutable_tensors(0)
      ->mutable_type()
      ->mutable_quantization()
      ->set_zero_point(0, 0);
  bench.Put("graph", came.SerializeAsString());
  bench.Put("source", came.SerializeAsString());
  ResolveBuiltin("toy-shift-floor", bench);
  v1::StageOptions unquantize;
  unquantize.mutable_unquantize();
  EXPECT_EQ(
      bench.Run(unquantize, {"graph", "capabilities"}).unquantize().reason(),
      "shifter needs rounding down");
  v1::StageOptions synthesize;
  synthesize.mutable_synthesize_data()->set_chunk_samples(16);
  bench.Run(synthesize, {"graph"});
  bench.Put("trial", bench.Get("chunk"));
  const std::string real = bench.Get("graph");
  v1::StageOptions quantize;
  v1::QuantizationNeeds& needs = *quantize.mutable_quantize()->mutable_needs();
  needs.set_power_of_two_scales(true);
  needs.set_rounding(v1::FLOOR);
  const auto kept =
      bench.Run(quantize, {"graph", "statistics", "source", "trial"});
  ASSERT_EQ(kept.quantization().notes_size(), 2);
  EXPECT_EQ(kept.quantization().notes(0), kIntegersKept);
  v1::Graph graph;
  ASSERT_TRUE(graph.ParseFromString(bench.Get("graph")));
  EXPECT_EQ(std::count_if(graph.tensors().begin(), graph.tensors().end(),
                          [&](const v1::Tensor& tensor) {
                            return tensor.data() == came.tensors(1).data();
                          }),
            1);
  // Who says how to quantize gets that.
  bench.Drop("graph");
  bench.Put("graph", real);
  quantize.mutable_quantize()->mutable_config()->set_samples(7);
  EXPECT_EQ(bench.Run(quantize, {"graph", "statistics", "source", "trial"})
                .quantization()
                .notes_size(),
            1);
}

TEST(StageTableTest, IntegersThatEnginesTakeStay) {
  Bench bench;
  const std::string came = LayerGraph().SerializeAsString();
  bench.Put("graph", came);
  ResolveBuiltin("dla-64-o-512k", bench);
  v1::StageOptions options;
  options.mutable_unquantize();
  EXPECT_EQ(bench.Run(options, {"graph", "capabilities"}).unquantize().reason(),
            "");
  EXPECT_EQ(bench.Get("graph"), came);
  EXPECT_EQ(bench.Count("statistics"), 0u);
  // Who asks for it gets it, on no target as well.
  options.mutable_unquantize()->set_requantize(v1::ON);
  bench.Run(options, {"graph"});
  EXPECT_NE(bench.Get("graph"), came);
}

// Converters have no use for scales.
TEST(StageTableTest, WhatHasNoFloatFormStaysAndIsToldOf) {
  Bench bench;
  v1::Graph graph = LayerGraph();
  v1::OpAttributes& layer = *graph.mutable_ops(0)->mutable_attributes();
  layer.set_rounding(v1::FLOOR);
  layer.mutable_converter()->set_gain(1);
  layer.mutable_converter()->set_max(15);
  layer.mutable_converter()->add_scale(1);
  layer.mutable_converter()->add_offset(0);
  bench.Put("graph", graph.SerializeAsString());
  ResolveBuiltin("toy-shift", bench);
  v1::StageOptions options;
  options.mutable_unquantize();
  bench.Run(options, {"graph", "capabilities"});
  EXPECT_EQ(bench.Get("graph"), graph.SerializeAsString());
  ASSERT_EQ(bench.warnings().size(), 1u);
  EXPECT_NE(bench.warnings()[0].find("no float form"), std::string::npos);
  EXPECT_NE(bench.warnings()[0].find("layer layer"), std::string::npos);
}

// What follows finds its results under the same keys.
TEST(StageTableTest, SetIoLeavesTheBytesOfIntegerNetworks) {
  Bench bench;
  const std::string graph = ClipGraph().SerializeAsString();
  for (const v1::IoForm form : {v1::IO_INTEGER, v1::IO_FLOAT}) {
    bench.Put("graph", graph);
    v1::StageOptions options;
    options.mutable_set_io()->set_io(form);
    bench.Run(options, {"graph"});
    EXPECT_EQ(bench.Get("graph"), graph);
    bench.Drop("graph");
  }
}

TEST(StageTableTest, SetIoNamesTheNetwork) {
  Bench bench;
  v1::Graph graph = ClipGraph();
  for (const char* name : {"", "kws"}) {
    bench.Put("graph", ClipGraph().SerializeAsString());
    v1::StageOptions options;
    options.mutable_set_io()->set_name(name);
    bench.Run(options, {"graph"});
    if (*name != '\0') graph.set_name(name);
    EXPECT_EQ(bench.Get("graph"), graph.SerializeAsString());
    bench.Drop("graph");
  }
}

TEST(StageTableTest, DataErrorsAreTheUsers) {
  StageInputs inputs;
  const std::string graph = ClipGraph().SerializeAsString();
  inputs.Add("graph", graph);
  inputs.Add("data", "noise");
  const auto output = RunStage(Convert(false, 16), inputs, Ignore);
  EXPECT_EQ(ErrorToProto(output.status()).fault(), v1::ErrorDetail::USER);
}

TEST(StageTableTest, SynthesizesAsManyAsAsked) {
  Bench bench;
  bench.Put("graph", ClipGraph().SerializeAsString());
  v1::StageOptions options;
  options.mutable_synthesize_data()->set_samples(5);
  options.mutable_synthesize_data()->set_chunk_samples(2);
  EXPECT_EQ(bench.Run(options, {"graph"}).data().samples(), 5);
  EXPECT_EQ(bench.Count("chunk"), 3u);
}

TEST(StageTableTest, SynthesizesOneSampleWithoutInputs) {
  Bench bench;
  v1::Graph graph = ClipGraph();
  graph.clear_inputs();
  bench.Put("graph", graph.SerializeAsString());
  v1::StageOptions options;
  options.mutable_synthesize_data()->set_chunk_samples(16);
  EXPECT_EQ(bench.Run(options, {"graph"}).data().samples(), 1);
}

// 2 bytes a sample, twice: as they are made and as they are handed on.
TEST(StageTableTest, SamplesBeyondTheMemoryLimitAreNotMade) {
  const std::string graph = ClipGraph().SerializeAsString();
  const auto npz = compiler::WriteNpz(
      {{"x", NpyArray{NpyType::kInt8, {100, 2}, std::string(200, 'x')}}});
  ASSERT_TRUE(npz.ok());
  v1::StageOptions synthesize;
  synthesize.mutable_synthesize_data()->set_samples(100);
  synthesize.mutable_synthesize_data()->set_chunk_samples(16);
  for (const v1::StageOptions& options : {synthesize, Convert(true, 16)}) {
    for (const int64_t limit : {399, 400}) {
      StageInputs inputs(nullptr, nullptr, limit);
      inputs.Add("graph", graph);
      inputs.Add("data", *npz);
      const absl::Status status = RunStage(options, inputs, Ignore).status();
      EXPECT_EQ(IsOverWorkerLimit(status), limit < 400) << status;
      EXPECT_EQ(status.ok(), limit >= 400) << status;
    }
  }
}

// The check asks for the outline, and for nothing as large as the graph.
TEST(StageTableTest, ChecksTheFitOfAnOutline) {
  Bench bench;
  bench.Put("graph", ClipGraph().SerializeAsString());
  bench.Put("target", target::BuiltinTargets()[0].text);
  bench.Run(Stage([](auto& o) { o.mutable_simplify(); }), {"graph"});
  bench.Run(Stage([](auto& o) { o.mutable_resolve_target(); }), {"target"});
  bench.Run(Stage([](auto& o) { o.mutable_check_fit(); }),
            {"outline", "capabilities", "machine"});
  v1::Machine machine;
  ASSERT_TRUE(machine.ParseFromString(bench.Get("machine")));
  for (auto& memory : *machine.mutable_memories()) {
    memory.set_capacity_bytes(3);
  }
  const std::string small = machine.SerializeAsString();
  const std::string outline = bench.Get("outline");
  const std::string capabilities = bench.Get("capabilities");
  StageInputs inputs;
  inputs.Add("outline", outline);
  inputs.Add("capabilities", capabilities);
  inputs.Add("machine", small);
  const auto refused =
      RunStage(Stage([](auto& o) { o.mutable_check_fit(); }), inputs, Ignore);
  ASSERT_TRUE(GetErrorDetail(refused.status()).has_value());
  EXPECT_EQ(GetErrorDetail(refused.status())->reason, "MEMORY_TOO_SMALL");
  EXPECT_EQ(GetErrorDetail(refused.status())->need, "4 bytes at least");
}

TEST(StageTableTest, ResolvesEveryBuiltinTarget) {
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    Bench bench;
    bench.Put("target", builtin.text);
    v1::StageOptions options;
    options.mutable_resolve_target();
    const auto summary = bench.Run(options, {"target"});
    EXPECT_GT(summary.target().machine().clock_hz(), 0) << builtin.name;
    EXPECT_EQ(bench.Count("machine"), 1u);
    EXPECT_EQ(bench.Count("capabilities"), 1u);
  }
}

struct JobCase {
  std::string name;
  std::string model;
  std::string data;
  std::string target;
  int64_t samples;
  int64_t correct;  // As published; -1: labels mean nothing here.
};

class JobTest : public testing::TestWithParam<JobCase> {};

// What compile_job.cc orders, one stage after the other.
TEST_P(JobTest, SimulatesExactlyWhatTheReferenceSays) {
  EK_REQUIRE_SHARED(GetParam().model);
  EK_REQUIRE_SHARED(GetParam().data);
  Bench bench;
  const auto read = [](const std::string& name) {
    return tests::ReadWholeFile(tests::SharedPath(name));
  };
  bench.Put("model", read(GetParam().model));
  bench.Put("data", read(GetParam().data));
  for (const target::BuiltinTarget& builtin : target::BuiltinTargets()) {
    if (builtin.name == GetParam().target) bench.Put("target", builtin.text);
  }
  bench.Run(Stage([](auto& o) { o.mutable_import(); }), {"model"});
  bench.Run(Stage([](auto& o) { o.mutable_simplify(); }), {"graph"});
  bench.Run(Stage([](auto& o) { o.mutable_set_io(); }), {"graph"});
  bench.Run(Convert(false, 1000), {"data", "graph"});
  bench.Run(Stage([](auto& o) { o.mutable_resolve_target(); }), {"target"});
  bench.Run(Stage([](auto& o) { o.mutable_partition(); }),
            {"graph", "capabilities"});
  bench.Run(Stage([](auto& o) { o.mutable_tile(); }), {"partition", "machine"});
  const auto emitted = bench.Run(Stage([](auto& o) { o.mutable_emit(); }),
                                 {"partition", "tiling", "machine"});
  EXPECT_EQ(emitted.emit().program().hash(),
            DigestOf(bench.Get("program")).hash);
  const auto counted =
      bench.Run(Stage([](auto& o) { o.mutable_count_cycles(); }),
                {"program", "constants", "machine"});
  EXPECT_GT(counted.sim_report().cycles(), 0);
  // The same from less.
  const auto timed = bench.Run(
      Stage([](auto& o) { o.mutable_count_cycles()->set_timing_only(true); }),
      {"program", "machine"});
  EXPECT_EQ(timed.DebugString(), counted.DebugString());
  const auto simulated = bench.Run(
      Stage([](auto& o) { o.mutable_simulate()->set_compare_layers(true); }),
      {"program", "constants", "machine", "graph", "chunk", "labels"});
  EXPECT_EQ(simulated.samples().samples(), GetParam().samples);
  EXPECT_GT(simulated.samples().outputs_compared(), GetParam().samples * 1000);
  EXPECT_EQ(simulated.samples().mismatches(), 0)
      << simulated.samples().first_mismatch();
  EXPECT_EQ(bench.warnings(), std::vector<std::string>());
  if (GetParam().correct < 0) {
    EXPECT_EQ(simulated.samples().labelled(), 0);
  } else {
    EXPECT_EQ(simulated.samples().labelled(), GetParam().samples);
    EXPECT_EQ(simulated.samples().correct(), GetParam().correct);
  }
}

// A small network on a chip, ready to be simulated.
class OnChip {
 public:
  static constexpr char kModel[] = "models/dscnn_int8.tflite";
  static constexpr char kData[] = "data/kws_500.npz";

  OnChip() {
    bench_.Put("model", tests::ReadWholeFile(tests::SharedPath(kModel)));
    bench_.Put("data", tests::ReadWholeFile(tests::SharedPath(kData)));
    bench_.Put("target", target::BuiltinTargets()[0].text);
    bench_.Run(Stage([](auto& o) { o.mutable_import(); }), {"model"});
    bench_.Run(Stage([](auto& o) { o.mutable_simplify(); }), {"graph"});
    bench_.Run(Stage([](auto& o) { o.mutable_set_io(); }), {"graph"});
    v1::StageOptions convert = Convert(false, 1000);
    convert.mutable_convert_data()->set_limit(4);
    bench_.Run(convert, {"data", "graph"});
    bench_.Run(Stage([](auto& o) { o.mutable_resolve_target(); }), {"target"});
    bench_.Run(Stage([](auto& o) { o.mutable_partition(); }),
               {"graph", "capabilities"});
    bench_.Run(Stage([](auto& o) { o.mutable_tile(); }),
               {"partition", "machine"});
    bench_.Run(Stage([](auto& o) { o.mutable_emit(); }),
               {"partition", "tiling", "machine"});
  }

  // The graph, with weights that the chip does not have.
  std::string OtherGraph() const {
    v1::Graph graph;
    EXPECT_TRUE(graph.ParseFromString(bench_.Get("graph")));
    const int32_t weights = graph.ops(graph.ops_size() / 2).inputs(1);
    std::string& data = *graph.mutable_tensors(weights)->mutable_data();
    data[data.size() / 2] = static_cast<char>(data[data.size() / 2] ^ 0x40);
    return graph.SerializeAsString();
  }

  // The digests of what `graph` computes.
  std::string Digests(const std::string& graph) const {
    StageInputs inputs;
    inputs.Add("graph", graph);
    const std::string chunk = bench_.Get("chunk");
    inputs.Add("chunk", chunk);
    auto output = RunStage(
        Stage([](auto& o) { o.mutable_interpret()->set_digest_tensors(true); }),
        inputs, Ignore);
    EXPECT_TRUE(output.ok()) << output.status();
    EXPECT_EQ(output->blobs.back().first, "digests");
    return output->blobs.back().second;
  }

  // Compared with `graph`; by value if `digests` is null.
  absl::StatusOr<StageOutput> Simulate(const std::string& graph,
                                       const std::string* digests) const {
    std::deque<std::string> kept;
    StageInputs inputs;
    for (const char* role : {"program", "constants", "machine", "chunk"}) {
      inputs.Add(role, kept.emplace_back(bench_.Get(role)));
    }
    inputs.Add("graph", graph);
    if (digests != nullptr) inputs.Add("digests", *digests);
    return RunStage(
        Stage([](auto& o) { o.mutable_simulate()->set_compare_layers(true); }),
        inputs, Ignore);
  }

  const Bench& bench() const { return bench_; }

 private:
  Bench bench_;
};

// With digests, simulating says what it says without, to the letter: also of a
// chip that computes something else than the reference.
TEST(StageTableTest, DigestsFindWhatValuesFind) {
  EK_REQUIRE_SHARED(OnChip::kModel);
  EK_REQUIRE_SHARED(OnChip::kData);
  const OnChip chip;
  const std::string right = chip.bench().Get("graph");
  const std::string wrong = chip.OtherGraph();
  for (const std::string& graph : {right, wrong}) {
    const std::string digests = chip.Digests(graph);
    const auto by_value = chip.Simulate(graph, nullptr);
    const auto by_digest = chip.Simulate(graph, &digests);
    ASSERT_TRUE(by_value.ok()) << by_value.status();
    ASSERT_TRUE(by_digest.ok()) << by_digest.status();
    EXPECT_EQ(by_digest->summary.DebugString(),
              by_value->summary.DebugString());
    EXPECT_EQ(by_digest->blobs, by_value->blobs);
    EXPECT_EQ(by_digest->warnings, by_value->warnings);
    const v1::StageSummary::Samples& found = by_digest->summary.samples();
    EXPECT_GT(found.outputs_compared(), 4000);
    EXPECT_EQ(found.mismatches() > 0, graph == wrong);
    EXPECT_EQ(found.first_mismatch().empty(), graph != wrong);
  }
  // Digests of something else are no proof that the chip is wrong.
  const std::string others = chip.Digests(wrong);
  const auto refused = chip.Simulate(right, &others);
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInternal);
  const std::string cut = others.substr(1);
  EXPECT_EQ(chip.Simulate(right, &cut).status().code(),
            absl::StatusCode::kInternal);
}

// Constants in, and nothing else.
TEST(StageTableTest, AModelWithoutInputsRuns) {
  Bench bench;
  v1::Graph graph = ClipGraph();
  graph.clear_inputs();
  graph.mutable_tensors(0)->set_data("\x7f\x05");
  bench.Put("graph", graph.SerializeAsString());
  bench.Put("target", target::BuiltinTargets()[0].text);
  v1::StageOptions convert = Convert(true, 16);
  convert.mutable_convert_data()->set_limit(3);
  EXPECT_EQ(bench.Run(convert, {"graph"}).data().samples(), 3);
  const std::string chunk = bench.Get("chunk");
  const auto interpreted = bench.Run(
      Stage([](auto& o) { o.mutable_interpret(); }), {"graph", "chunk"});
  EXPECT_EQ(interpreted.samples().samples(), 3);
  bench.Run(Stage([](auto& o) { o.mutable_pack_outputs(); }),
            {"graph", "chunk"});
  const std::string packed = bench.Get("npz");
  const auto out = compiler::NpzFile::Open(packed)->Read("out");
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(out->data, "\x64\x05\x64\x05\x64\x05");

  bench.Drop("chunk");
  bench.Put("chunk", chunk);
  bench.Run(Stage([](auto& o) { o.mutable_resolve_target(); }), {"target"});
  bench.Run(Stage([](auto& o) { o.mutable_partition(); }),
            {"graph", "capabilities"});
  bench.Run(Stage([](auto& o) { o.mutable_tile(); }), {"partition", "machine"});
  bench.Run(Stage([](auto& o) { o.mutable_emit(); }),
            {"partition", "tiling", "machine"});
  const auto simulated = bench.Run(
      Stage([](auto& o) { o.mutable_simulate()->set_compare_layers(true); }),
      {"program", "constants", "machine", "graph", "chunk"});
  EXPECT_EQ(simulated.samples().samples(), 3);
  EXPECT_GE(simulated.samples().outputs_compared(), 6);
  EXPECT_EQ(simulated.samples().mismatches(), 0);
}

INSTANTIATE_TEST_SUITE_P(
    All, JobTest,
    testing::Values(JobCase{"Resnet8", "models/resnet8_int8.tflite",
                            "data/cifar10_ic_100.npz", "dla-64-o-512k", 100,
                            83},
                    JobCase{"Resnet8Qdq", "models/resnet8_int8_qdq.onnx",
                            "data/cifar10_ic_100.npz", "dla-64-o-512k", 100,
                            85},
                    JobCase{"DscnnQdq", "models/dscnn_int8_qdq.onnx",
                            "data/kws_500.npz", "dla-64-o-512k", 500, 451},
                    JobCase{"Dscnn", "models/dscnn_int8.tflite",
                            "data/kws_500.npz", "dla-128-i-1m", 500, 449},
                    JobCase{"Autoencoder", "models/ad_int8.tflite",
                            "data/ad_windows.npz", "dla-64-o-512k", 106, -1}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace edgekiln::server
