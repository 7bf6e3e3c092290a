#include "server/sweep/quantized_models.h"

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "server/executor.h"
#include "server/sweep/kept_models.h"

namespace edgekiln::server {
namespace {

// Is over at once.
class OverStage final : public PendingStage {
 public:
  explicit OverStage(absl::StatusOr<v1::StageResult> result)
      : result_(std::move(result)) {}
  const absl::StatusOr<v1::StageResult>* Result() override { return &result_; }
  bool PostOnceOver(Executor::Work&, Executor&) override { return false; }
  v1::Report::Stage Record() override { return {}; }

 private:
  const absl::StatusOr<v1::StageResult> result_;
};

v1::StageResult Left(const std::string& role, const std::string& hash) {
  v1::StageResult result;
  v1::BlobRef& output = *result.add_outputs();
  output.set_role(role);
  output.mutable_digest()->set_hash(hash);
  return result;
}

// Models are what they are called: "int8..", "bad..", or float; those with
// "anew" in their name are quantized anew on targets with "shift" in theirs.
class FakeStages final : public JobContext {
 public:
  std::shared_ptr<PendingStage> Start(StageCall call) override {
    return std::make_shared<OverStage>(Run(call));
  }
  std::optional<v1::Compiler> FindCompiler(v1::CompilerFamily,
                                           const std::string&) override {
    return std::nullopt;
  }
  void OnSamples(const v1::JobEvent::Samples&) override {}
  void OnCounted(const v1::JobEvent::Counted&) override {}

  std::vector<std::string> imported;
  int resolved = 0;
  int decided = 0;

 private:
  absl::StatusOr<v1::StageResult> Run(const StageCall& call) {
    const std::string& first = call.inputs[0].digest().hash();
    if (call.name == "import") {
      imported.push_back(first);
      if (absl::StartsWith(first, "bad")) {
        return absl::InvalidArgumentError("bad");
      }
      v1::StageResult result = Left("graph", first);
      result.mutable_summary()->mutable_import()->set_quantized(
          absl::StartsWith(first, "int8"));
      return result;
    }
    if (call.name == "simplify") return Left("graph", first);
    if (call.name == "resolve_target") {
      ++resolved;
      if (absl::StrContains(first, "bad")) {
        return absl::InvalidArgumentError("bad");
      }
      v1::StageResult result = Left("capabilities", first);
      result.mutable_summary()->mutable_target()->add_parts("engine/x");
      return result;
    }
    EXPECT_EQ(call.name, "unquantize");
    EXPECT_EQ(call.parts, std::vector<std::string>{"engine/x"});
    ++decided;
    return absl::StrContains(first, "anew") &&
                   absl::StrContains(call.inputs[1].digest().hash(), "shift")
               ? Left("graph", "float")
               : v1::StageResult();
  }
};

class FakeBlobs final : public SweepBlobs {
 public:
  absl::StatusOr<v1::Digest> Store(absl::string_view bytes) override {
    v1::Digest digest;
    digest.set_hash(std::string(bytes));
    return digest;
  }
  absl::StatusOr<std::string> Load(const v1::Digest&) override {
    return absl::UnimplementedError("not asked for");
  }
  void AskHas(const v1::Digest& digest,
              const std::function<void(bool)>& told) override {
    told(lost.count(digest.hash()) == 0);
  }

  std::set<std::string> lost;
};

class QuantizedModelsTest : public testing::Test {
 protected:
  // Of a group with these models, named by their digests, and the rest.
  std::vector<std::string> Quantized(const std::vector<std::string>& models,
                                     const std::string& rest) {
    v1::SweepRequest request;
    v1::SweepGroup& group = *request.add_groups();
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(rest, &group));
    for (const std::string& model : models) {
      group.add_models()->mutable_digest()->set_hash(model);
    }
    const std::unique_ptr<Executor> executor = *Executor::New(1);
    const auto found =
        RunToEnd(*executor, QuantizedModels(request, blobs_, stages_));
    EXPECT_TRUE(found.ok()) << found.status();
    std::vector<std::string> names;
    for (const v1::SweepModel& model : found->models()) {
      names.push_back(model.digest().hash());
    }
    return names;
  }

  FakeBlobs blobs_;
  FakeStages stages_;
};

using Names = std::vector<std::string>;

TEST_F(QuantizedModelsTest, AsTheirImportSays) {
  const std::string rest =
      "vary { key: 'calibration-method' values: ['mse', 'kl'] }";
  EXPECT_EQ(Quantized({"int8 a", "float b", "bad c", "int8 d"}, rest),
            (Names{"int8 a", "int8 d"}));
  // More than are asked about at once.
  Names many;
  for (int i = 0; i < 100; ++i) many.push_back("int8 " + std::to_string(i));
  EXPECT_EQ(Quantized(many, rest), many);
}

TEST_F(QuantizedModelsTest, OnlyWhereAKeyDependsOnIt) {
  EXPECT_EQ(Quantized({"int8 a"}, "vary { key: 'offload' values: 'all' }"),
            Names());
  EXPECT_EQ(Quantized({"int8 a"}, "vary { key: 'seed' values: '1' }"), Names());
  EXPECT_TRUE(stages_.imported.empty());
  EXPECT_EQ(Quantized({"int8 a"},
                      "goal: SWEEP_TIMING vary { key: 'seed' values: '1' }"),
            Names{"int8 a"});
}

// A worker that is handed what is not there would be thought to be at fault.
TEST_F(QuantizedModelsTest, NothingIsImportedThatIsNotThere) {
  blobs_.lost = {"int8 a"};
  EXPECT_EQ(Quantized({"int8 a", "int8 b"},
                      "vary { key: 'quantization' values: 'default' "
                      "quantizations { } }"),
            Names{"int8 b"});
  EXPECT_EQ(stages_.imported, Names{"int8 b"});
}

// A plan as if each model had two cells on each target, that differ in the key.
class KeptModelsTest : public testing::Test {
 protected:
  KeptModelsTest() {
    v1::SweepGroup& group = *request_.add_groups();
    v1::SweepVary& vary = *group.add_vary();
    vary.set_key("calibration-method");
    vary.add_values("mse");
    vary.add_values("kl");
  }

  void AddModel(const std::string& name) {
    v1::SweepModel& model = *request_.mutable_groups(0)->add_models();
    model.mutable_digest()->set_hash(name);
  }

  void AddTarget(const std::string& name) {
    v1::SweepPlan::Variant& variant = *plan_.add_variants();
    variant.set_name(name);
    variant.set_tail(name);
    variant.set_text(0);
    if (plan_.texts().empty()) plan_.add_texts("");
  }

  void MakeCells() {
    plan_.clear_cells();
    for (int model = 0; model < request_.groups(0).models_size(); ++model) {
      for (int variant = 0; variant < plan_.variants_size(); ++variant) {
        for (int value = 0; value < 2; ++value) {
          v1::SweepPlan::Cell& cell = *plan_.add_cells();
          cell.set_state(v1::SweepPlan::VALID);
          cell.set_model(model);
          cell.set_variant(variant);
          cell.add_values(value);
        }
      }
    }
  }

  // "MODEL on VARIANT".
  std::vector<std::string> Kept() {
    const std::unique_ptr<Executor> executor = *Executor::New(1);
    const auto kept = RunToEnd(
        *executor,
        KeptModels(request_, request_.groups(0), plan_, blobs_, stages_));
    EXPECT_TRUE(kept.ok()) << kept.status();
    std::vector<std::string> names;
    for (const v1::SweepPlan::Cell& cell : kept->cells()) {
      names.push_back(
          absl::StrCat(request_.groups(0).models(cell.model()).digest().hash(),
                       " on ", kept->variants(cell.variant()).name()));
    }
    return names;
  }

  v1::SweepRequest request_;
  v1::SweepPlan plan_;
  FakeBlobs blobs_;
  FakeStages stages_;
};

TEST_F(KeptModelsTest, AsTheStageOfTheirJobsDecides) {
  for (const char* model : {"int8 a", "int8 anew", "bad"}) AddModel(model);
  for (const char* target : {"dla", "shift", "bad chip"}) AddTarget(target);
  MakeCells();
  EXPECT_EQ(Kept(),
            (Names{"int8 a on dla", "int8 a on shift", "int8 anew on dla"}));
  // What cells have in common is asked once.
  EXPECT_EQ(stages_.imported.size(), 3u);
  EXPECT_EQ(stages_.resolved, 3);
  EXPECT_EQ(stages_.decided, 4);
}

TEST_F(KeptModelsTest, NothingIsAskedThatIsKnownOrMattersToNoCell) {
  AddModel("int8 a");
  AddTarget("dla");
  MakeCells();
  for (v1::SweepPlan::Cell& cell : *plan_.mutable_cells()) {
    cell.mutable_options()->set_offload(v1::NONE);
  }
  EXPECT_EQ(Kept(), Names());
  MakeCells();
  for (v1::SweepPlan::Cell& cell : *plan_.mutable_cells()) {
    cell.mutable_options()->mutable_quantization()->set_requantize(v1::ON);
  }
  EXPECT_EQ(Kept(), Names());
  MakeCells();
  for (v1::SweepPlan::Cell& cell : *plan_.mutable_cells()) cell.add_dropped(0);
  EXPECT_EQ(Kept(), Names());
  MakeCells();
  request_.mutable_groups(0)->mutable_vary(0)->mutable_values()->RemoveLast();
  EXPECT_EQ(Kept(), Names());
  EXPECT_EQ(stages_.resolved, 0);
}

TEST_F(KeptModelsTest, AboutTooManyNothingIsAsked) {
  AddModel("int8 a");
  for (size_t i = 0; i < kMaxAsked; ++i) AddTarget("dla " + std::to_string(i));
  MakeCells();
  EXPECT_EQ(Kept().size(), kMaxAsked);
  AddTarget("one more");
  MakeCells();
  EXPECT_EQ(Kept(), Names());
  EXPECT_EQ(stages_.decided, static_cast<int>(kMaxAsked));
}

}  // namespace
}  // namespace edgekiln::server
