#include "server/daemon/stages/stage_key.h"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "gtest/gtest.h"
#include "server/stage_versions.h"

namespace edgekiln::server {
namespace {

v1::BlobRef Blob(const std::string& role, char digit, int64_t size = 3) {
  v1::BlobRef ref;
  ref.set_role(role);
  ref.mutable_digest()->set_hash(std::string(64, digit));
  ref.mutable_digest()->set_size_bytes(size);
  return ref;
}

std::string Key(const v1::StageOptions& options,
                const std::vector<v1::BlobRef>& inputs,
                const std::string& version = "v1") {
  const absl::StatusOr<std::string> key = StageKey(version, options, inputs);
  EXPECT_TRUE(key.ok()) << key.status();
  return key.value_or("");
}

// A change here means that nobody's cache is found again.
TEST(StageKeyTest, IsStable) {
  v1::StageOptions tile;
  tile.mutable_tile();
  EXPECT_EQ(Key(tile, {Blob("partition", 'a'), Blob("machine", 'b')}),
            "516ba763d86911fa5acd19f8b4baa857905d9513a7209d1f0429ac60fd67b7ec");
  v1::StageOptions convert;
  v1::InputTransform& transform =
      *convert.mutable_convert_data()->add_transforms();
  transform.set_input("x");
  transform.add_scale(0.5);
  transform.add_offset(-1);
  transform.set_order(v1::InputTransform::BGR);
  convert.mutable_convert_data()->set_chunk_samples(16);
  EXPECT_EQ(Key(convert, {Blob("data", 'c')}),
            "82c6e57047dd84b7e38c8a653d1eb7e5b6b73166eff287b0da262677db6095a2");
}

TEST(StageKeyTest, EveryPartCounts) {
  v1::StageOptions tile;
  tile.mutable_tile();
  v1::StageOptions emit;
  emit.mutable_emit();
  const v1::BlobRef a = Blob("partition", 'a');
  const v1::BlobRef b = Blob("machine", 'b');
  const std::set<std::string> keys = {
      Key(tile, {a, b}),
      Key(emit, {a, b}),
      Key(tile, {b, a}),
      Key(tile, {a}),
      Key(tile, {a, b}, "v2"),
      Key(tile, {a, Blob("machine", 'c')}),
      Key(tile, {a, Blob("engine", 'b')}),
      Key(tile, {a, Blob("machine", 'b', 4)}),
  };
  EXPECT_EQ(keys.size(), 8u);
}

TEST(StageKeyTest, OffloadCounts) {
  std::set<std::string> keys;
  for (const v1::Offload offload :
       {v1::OFFLOAD_UNSPECIFIED, v1::PAYING, v1::NONE}) {
    v1::StageOptions options;
    options.mutable_partition()->set_offload(offload);
    keys.insert(Key(options, {}));
    options.mutable_place()->set_offload(offload);
    keys.insert(Key(options, {}));
    options.mutable_check_fit()->set_offload(offload);
    keys.insert(Key(options, {}));
  }
  EXPECT_EQ(keys.size(), 9u);
}

TEST(StageKeyTest, WhatARecipeHasForPartitioningCounts) {
  std::set<std::string> keys;
  v1::StageOptions options;
  options.mutable_partition()->mutable_recipe();
  v1::StageOptions plain;
  plain.mutable_partition();
  EXPECT_EQ(Key(options, {}), Key(plain, {}));
  for (const v1::Offload offload : {v1::OFFLOAD_UNSPECIFIED, v1::PAYING}) {
    for (const std::vector<int>& engines :
         std::vector<std::vector<int>>{{}, {0}, {1}, {0, 1}}) {
      v1::PartitionRecipe recipe;
      for (const int engine : engines) {
        recipe.add_separate_requantization(engine);
      }
      options.mutable_partition()->set_offload(offload);
      *options.mutable_partition()->mutable_recipe() = recipe;
      keys.insert(Key(options, {}));
      options.mutable_place()->set_offload(offload);
      *options.mutable_place()->mutable_recipe() = recipe;
      keys.insert(Key(options, {}));
    }
  }
  EXPECT_EQ(keys.size(), 16u);
  v1::StageOptions choose;
  choose.mutable_choose();
  std::set<std::string> of_choose;
  of_choose.insert(Key(choose, {}));
  choose.mutable_choose()->mutable_recipe()->set_narrowest_weights(true);
  of_choose.insert(Key(choose, {}));
  choose.mutable_choose()->mutable_recipe()->add_separate_requantization(1);
  of_choose.insert(Key(choose, {}));
  EXPECT_EQ(of_choose.size(), 3u);
}

// That a chip has no needs, and that there is no chip, is the same.
TEST(StageKeyTest, NeedsOfNumericsCount) {
  v1::StageOptions options;
  options.mutable_quantize();
  std::set<std::string> keys = {Key(options, {})};
  v1::QuantizationNeeds& needs = *options.mutable_quantize()->mutable_needs();
  keys.insert(Key(options, {}));
  EXPECT_EQ(keys.size(), 1u);
  needs.set_power_of_two_scales(true);
  keys.insert(Key(options, {}));
  needs.set_symmetric_activations(true);
  keys.insert(Key(options, {}));
  needs.clear_power_of_two_scales();
  keys.insert(Key(options, {}));
  needs.add_per_tensor("conv2d");
  keys.insert(Key(options, {}));
  needs.add_per_tensor("fully_connected");
  keys.insert(Key(options, {}));
  EXPECT_EQ(keys.size(), 6u);
  needs.set_activations(v1::UINT8);
  keys.insert(Key(options, {}));
  needs.set_rounding(v1::FLOOR);
  keys.insert(Key(options, {}));
  needs.set_equal_addends(true);
  keys.insert(Key(options, {}));
  v1::QuantizationNeeds::Op& op = *needs.add_ops();
  keys.insert(Key(options, {}));
  op.set_op("conv2d");
  keys.insert(Key(options, {}));
  op.set_weight_values(v1::WEIGHTS_TERNARY);
  keys.insert(Key(options, {}));
  op.mutable_converter();
  keys.insert(Key(options, {}));
  op.mutable_converter()->set_min(-32);
  keys.insert(Key(options, {}));
  op.mutable_converter()->set_max(31);
  keys.insert(Key(options, {}));
  op.mutable_converter()->set_max_gain(9);
  keys.insert(Key(options, {}));
  op.mutable_converter()->set_max_shift(3);
  keys.insert(Key(options, {}));
  v1::QuantizationNeeds::Op::Form& form = *op.add_narrower();
  keys.insert(Key(options, {}));
  form.set_weight_values(v1::WEIGHTS_TERNARY);
  keys.insert(Key(options, {}));
  form.mutable_converter();
  keys.insert(Key(options, {}));
  form.mutable_converter()->set_max_gain(9);
  keys.insert(Key(options, {}));
  EXPECT_EQ(keys.size(), 21u);
}

// Everything that a user can ask of quantization.
TEST(StageKeyTest, TheQuantizationFileCounts) {
  v1::StageOptions options;
  options.mutable_quantize();
  std::set<std::string> keys = {Key(options, {})};
  size_t count = 1;
  const auto set = [&](auto&& change) {
    change(*options.mutable_quantize()->mutable_config());
    keys.insert(Key(options, {}));
    EXPECT_EQ(keys.size(), ++count);
  };
  set([](auto& c) {
    c.mutable_ranges()->set_method(v1::CalibrateOptions::KL);
  });
  set([](auto& c) { c.mutable_ranges()->set_percentile_ppm(999'000); });
  const auto set_scheme = [&](auto&& scheme) {
    set([&](auto& c) { scheme(c)->set_weights(v1::LayerScheme::INT4); });
    set([&](auto& c) { scheme(c)->set_per_tensor(v1::ON); });
    set([&](auto& c) { scheme(c)->set_weight_range(v1::LARGEST_WEIGHT); });
    set([&](auto& c) { scheme(c)->set_rounding(v1::NEAREST); });
    set([&](auto& c) { scheme(c)->set_keep_float(v1::ON); });
    set([&](auto& c) { scheme(c)->set_channels_per_scale(2); });
    set([&](auto& c) { scheme(c)->set_accumulator_bits(16); });
  };
  set_scheme([](auto& c) { return c.mutable_scheme(); });
  set([](auto& c) { c.add_layers()->set_layer("conv"); });
  set_scheme([](auto& c) { return c.mutable_layers(0)->mutable_scheme(); });
  set([](auto& c) { c.set_equalization(v1::OFF); });
  set([](auto& c) { c.set_bias_correction(v1::OFF); });
  set([](auto& c) { c.set_symmetric_activations(v1::ON); });
  set([](auto& c) { c.set_samples(7); });
  set([](auto& c) { c.set_accuracy_budget_ppm(5000); });
  set([](auto& c) {
    c.set_activations(v1::QuantizationConfig::ACTIVATIONS_UINT8);
  });
  set([](auto& c) { c.set_requantize(v1::OFF); });
  options.mutable_quantize()->set_rank(true);
  keys.insert(Key(options, {}));
  options.mutable_export_onnx();
  keys.insert(Key(options, {}));
  EXPECT_EQ(keys.size(), count + 2);
}

TEST(StageKeyTest, WhatSchemesAreChosenForCounts) {
  v1::StageOptions options;
  std::set<std::string> keys;
  const auto insert = [&] { keys.insert(Key(options, {})); };
  v1::ChooseOptions& choose = *options.mutable_choose();
  insert();
  choose.mutable_config()->set_samples(7);
  insert();
  choose.mutable_needs()->set_rounding(v1::FLOOR);
  insert();
  choose.set_offload(v1::PAYING);
  insert();
  choose.mutable_recipe()->add_separate_requantization(1);
  insert();
  options.mutable_unquantize();
  insert();
  options.mutable_unquantize()->set_requantize(v1::ON);
  insert();
  EXPECT_EQ(keys.size(), 7u);
}

TEST(StageKeyTest, KernelsAndTheCompilersFilesCount) {
  v1::StageOptions options;
  std::set<std::string> keys;
  const auto insert = [&] { keys.insert(Key(options, {})); };
  options.mutable_emit_c();
  insert();
  options.mutable_emit_c()->mutable_recipe()->set_kernels(v1::CRecipe::PLAIN);
  insert();
  v1::Compiler& compiler =
      *options.mutable_build_firmware()->mutable_compiler();
  compiler.set_family(v1::GCC);
  insert();
  compiler.set_family(v1::CLANG);
  insert();
  compiler.set_digest("d1");
  insert();
  EXPECT_EQ(keys.size(), 5u);
  compiler.set_version("what it calls itself");
  compiler.set_program("gcc");
  insert();
  EXPECT_EQ(keys.size(), 5u);
}

// Results from before there were hot spots are still found.
TEST(StageKeyTest, HotSpotsCountOnlyWhereTheyAreAskedFor) {
  v1::StageOptions build;
  build.mutable_build_firmware()->mutable_compiler()->set_digest("d1");
  const std::string plain = Key(build, {});
  EXPECT_EQ(plain,
            "05183352fbdb4703134bc37674fc0b776b7199bb7f7f731a2de7a55b3fa83c60");
  build.mutable_build_firmware()->set_debug_info(true);
  EXPECT_NE(Key(build, {}), plain);
  v1::StageOptions count;
  count.mutable_count_cycles()->set_timing_only(true);
  const std::string counted = Key(count, {});
  EXPECT_EQ(counted,
            "5de58f7cccf8fd52c88aeab53a9a6c5f094942eece404b7a2f9a05280ba7d436");
  count.mutable_count_cycles()->set_hot_spots(true);
  EXPECT_NE(Key(count, {}), counted);
}

TEST(StageKeyTest, WhatIsScoredCounts) {
  v1::StageOptions options;
  std::set<std::string> keys;
  for (const bool first_only : {false, true}) {
    for (int measure = 0; v1::ScoreOptions::Measure_IsValid(measure);
         ++measure) {
      options.mutable_score()->set_measure(
          static_cast<v1::ScoreOptions::Measure>(measure));
      options.mutable_score()->set_first_only(first_only);
      keys.insert(Key(options, {}));
    }
  }
  EXPECT_EQ(keys.size(), 8u);
}

TEST(StageKeyTest, RealInputsAreOtherChunks) {
  v1::StageOptions options;
  options.mutable_convert_data()->set_chunk_samples(16);
  const std::string converted = Key(options, {});
  options.mutable_convert_data()->set_real(true);
  EXPECT_NE(Key(options, {}), converted);
}

TEST(StageKeyTest, RefusesWhatIsNoStageOrNoDigest) {
  EXPECT_FALSE(StageKey("v", v1::StageOptions(), {}).ok());
  v1::StageOptions tile;
  tile.mutable_tile();
  EXPECT_TRUE(StageKey("v", tile, {}).ok());
  EXPECT_FALSE(StageKey("", tile, {}).ok());
  v1::BlobRef bad = Blob("partition", 'a');
  bad.mutable_digest()->set_hash("ABC");
  EXPECT_FALSE(StageKey("v", tile, {bad}).ok());
}

TEST(StageVersionTest, EveryStageHasOne) {
  const StageVersions versions = StageVersions::OfThisBuild();
  const google::protobuf::OneofDescriptor& stages =
      *v1::StageOptions::descriptor()->FindOneofByName("options");
  for (int i = 0; i < stages.field_count(); ++i) {
    const auto stage = static_cast<Stage>(stages.field(i)->number());
    EXPECT_EQ(StageName(stage), stages.field(i)->name());
    EXPECT_EQ(versions.Of(stage, {}).size(), 64u) << StageName(stage);
  }
  EXPECT_EQ(versions.Of(v1::StageOptions::OPTIONS_NOT_SET, {}), "");
  EXPECT_EQ(BuildDigest().size(), 64u);
}

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// Gives the field a value other than its default.
void Change(Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  const bool repeated = field.is_repeated();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return repeated ? reflection.AddInt32(&message, &field, 7)
                      : reflection.SetInt32(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_INT64:
      return reflection.SetInt64(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection.SetUInt64(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.SetBool(&message, &field, true);
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection.SetEnumValue(&message, &field, 1);
    case FieldDescriptor::CPPTYPE_STRING:
      return repeated ? reflection.AddString(&message, &field, "seven")
                      : reflection.SetString(&message, &field, "seven");
    case FieldDescriptor::CPPTYPE_DOUBLE:
      ASSERT_TRUE(repeated);
      return reflection.AddDouble(&message, &field, 7);
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (!repeated) {
        return Change(*reflection.MutableMessage(&message, &field),
                      *field.message_type()->field(0));
      }
      reflection.AddMessage(&message, &field);
      return;
    default:
      FAIL() << field.full_name() << ": teach this test its type";
  }
}

// A field added to an options message and forgotten in stage_key.cc would make
// different requests share a result.
TEST(StageKeyTest, EveryFieldOfEveryStageCounts) {
  const Descriptor& stages = *v1::StageOptions::descriptor();
  int fields = 0;
  for (int i = 0; i < stages.field_count(); ++i) {
    const FieldDescriptor& stage = *stages.field(i);
    v1::StageOptions plain;
    plain.GetReflection()->MutableMessage(&plain, &stage);
    const std::string key = Key(plain, {});
    for (int j = 0; j < stage.message_type()->field_count(); ++j) {
      v1::StageOptions changed = plain;
      Message& options =
          *changed.GetReflection()->MutableMessage(&changed, &stage);
      Change(options, *stage.message_type()->field(j));
      EXPECT_NE(Key(changed, {}), key)
          << stage.message_type()->field(j)->full_name();
      ++fields;
    }
  }
  EXPECT_GE(fields, 15);
}

// Fields of `part` and below whose values do not count, "tile.recipe.engines".
void FindIgnored(const v1::StageOptions& options, Message& part,
                 const std::string& path, std::vector<std::string>& ignored) {
  const Descriptor& type = *part.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string name = path + std::string(field.name());
    const std::string before = Key(options, {});
    if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
      Change(part, field);
      if (Key(options, {}) == before) ignored.push_back(name);
    } else {
      Message& below =
          field.is_repeated()
              ? *part.GetReflection()->AddMessage(&part, &field)
              : *part.GetReflection()->MutableMessage(&part, &field);
      FindIgnored(options, below, name + ".", ignored);
    }
    part.GetReflection()->ClearField(&part, &field);
  }
}

// The same for messages in messages.
TEST(StageKeyTest, EveryFieldAtAnyDepthCounts) {
  const Descriptor& stages = *v1::StageOptions::descriptor();
  std::vector<std::string> ignored;
  for (int i = 0; i < stages.field_count(); ++i) {
    const FieldDescriptor& stage = *stages.field(i);
    v1::StageOptions options;
    Message& part = *options.GetReflection()->MutableMessage(&options, &stage);
    FindIgnored(options, part, std::string(stage.name()) + ".", ignored);
  }
  // A compiler counts by its files.
  EXPECT_EQ(ignored,
            (std::vector<std::string>{"build_firmware.compiler.program",
                                      "build_firmware.compiler.version"}));
}

TEST(StageKeyTest, EveryFieldOfATransformCounts) {
  v1::StageOptions plain;
  plain.mutable_pack_outputs()->add_transforms();
  const std::string key = Key(plain, {});
  const Descriptor& transform = *v1::InputTransform::descriptor();
  for (int i = 0; i < transform.field_count(); ++i) {
    v1::StageOptions changed = plain;
    Change(*changed.mutable_pack_outputs()->mutable_transforms(0),
           *transform.field(i));
    EXPECT_NE(Key(changed, {}), key) << transform.field(i)->full_name();
  }
}

TEST(StageKeyTest, EveryPartOfARecipeCounts) {
  const auto key = [](int engine, const std::string& type,
                      const std::string& value) {
    v1::StageOptions options;
    v1::TileRecipe::Engine& part =
        *options.mutable_tile()->mutable_recipe()->add_engines();
    part.set_engine(engine);
    part.mutable_decisions()->set_type_url(type);
    part.mutable_decisions()->set_value(value);
    return Key(options, {});
  };
  v1::StageOptions plain;
  plain.mutable_tile();
  v1::StageOptions empty;
  empty.mutable_tile()->mutable_recipe();
  EXPECT_EQ(Key(plain, {}), Key(empty, {}));
  const std::set<std::string> keys = {
      Key(plain, {}),  key(0, "", ""),   key(1, "", ""),   key(0, "a", ""),
      key(0, "", "a"), key(0, "a", "b"), key(0, "ab", ""),
  };
  EXPECT_EQ(keys.size(), 7u);
}

// What the manifest and the document of a bundle say.
TEST(StageKeyTest, EveryPartOfANetworkCounts) {
  v1::StageOptions plain;
  plain.mutable_bundle()->mutable_network();
  std::set<std::string> keys = {Key(plain, {})};
  const Descriptor& network = *v1::NetworkOrigin::descriptor();
  for (int i = 0; i < network.field_count(); ++i) {
    v1::StageOptions changed = plain;
    Change(*changed.mutable_bundle()->mutable_network(), *network.field(i));
    keys.insert(Key(changed, {}));
  }
  // Needs that are empty are not the same as none.
  plain.mutable_bundle()->mutable_network()->mutable_quantized_for();
  keys.insert(Key(plain, {}));
  plain.mutable_bundle()->mutable_network()->mutable_model()->set_size_bytes(7);
  keys.insert(Key(plain, {}));
  EXPECT_EQ(keys.size(), static_cast<size_t>(network.field_count()) + 3);
}

TEST(StageKeyTest, EveryPartOfABindingCounts) {
  const auto key = [](const std::string& dimension, int64_t extent,
                      const std::string& input, const std::string& data) {
    v1::StageOptions options;
    v1::ImportOptions& import = *options.mutable_import();
    import.add_dimensions()->set_name(dimension);
    import.mutable_dimensions(0)->set_extent(extent);
    if (!input.empty()) import.add_bound_inputs(input);
    if (!data.empty()) import.add_external_data(data);
    return Key(options, {});
  };
  const std::set<std::string> keys = {
      key("N", 1, "", ""),  key("M", 1, "", ""),   key("N", 2, "", ""),
      key("N", 1, "x", ""), key("N", 1, "", "x"),  key("N", 1, "y", ""),
      key("N", 1, "", "y"), key("N", 1, "x", "x"),
  };
  EXPECT_EQ(keys.size(), 8u);
}

}  // namespace
}  // namespace edgekiln::server
