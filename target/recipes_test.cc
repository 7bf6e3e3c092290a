#include "target/recipes.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "target/builtin.h"
#include "target/resolve.h"

namespace edgekiln::target {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kSerial[] =
    "tile { engine: \"dla\" provenance: ASSUMED decisions { "
    "[type.googleapis.com/edgekiln.v1.dla.TileRecipe] { serial: true } } }";

// The built-in DLA with `recipes` instead of its own.
std::string With(const std::string& recipes) {
  std::string text = BuiltinTargets().front().text;
  const size_t begin = text.find("\nrecipes {");
  const size_t end = text.find("\nclock_hz_expr:");
  EXPECT_NE(begin, std::string::npos);
  EXPECT_NE(end, std::string::npos);
  text.replace(begin, end - begin, "\n" + recipes + "\n");
  return text;
}

v1::ResolvedTarget Resolve(const std::string& text) {
  const auto resolved = ResolveTarget(text);
  EXPECT_TRUE(resolved.ok()) << resolved.status();
  return resolved.ok() ? *resolved : v1::ResolvedTarget();
}

std::vector<std::string> Names(const v1::ResolvedTarget& target) {
  std::vector<std::string> names;
  for (const v1::ResolvedRecipe& recipe : target.recipes()) {
    names.push_back(recipe.name());
  }
  return names;
}

TEST(RecipesTest, DefaultIsThereWithoutBeingListed) {
  const v1::ResolvedTarget target = Resolve(With(""));
  EXPECT_THAT(Names(target), ElementsAre("default"));
  EXPECT_EQ(target.recipes(0).tile().engines_size(), 0);
  EXPECT_FALSE(target.recipes(0).doc().empty());
}

TEST(RecipesTest, NameAndDocAreEnough) {
  const v1::ResolvedTarget target =
      Resolve(With("recipes { name: \"x\" doc: \"An x.\" }"));
  EXPECT_THAT(Names(target), ElementsAre("default", "x"));
  EXPECT_EQ(target.recipes(1).doc(), "An x.");
  EXPECT_EQ(target.recipes(1).tile().engines_size(), 0);
}

TEST(RecipesTest, AListedDefaultIsFirstAndKeepsWhatItSays) {
  const v1::ResolvedTarget target =
      Resolve(With(absl::StrCat("recipes { name: \"x\" doc: \"An x.\" }\n"
                                "recipes { name: \"default\" doc: \"Ours.\" ",
                                kSerial, " }")));
  EXPECT_THAT(Names(target), ElementsAre("default", "x"));
  EXPECT_EQ(target.recipes(0).doc(), "Ours.");
  ASSERT_EQ(target.recipes(0).tile().engines_size(), 1);
}

TEST(RecipesTest, AnEnginesPartIsItsOwnMessage) {
  const v1::ResolvedTarget target = Resolve(With(
      absl::StrCat("recipes { name: \"s\" doc: \"Serial.\" ", kSerial, " }")));
  ASSERT_EQ(target.recipes_size(), 2);
  ASSERT_EQ(target.recipes(1).tile().engines_size(), 1);
  const v1::TileRecipe::Engine& part = target.recipes(1).tile().engines(0);
  EXPECT_EQ(part.engine(), 0);
  EXPECT_EQ(part.decisions().type_url(),
            "type.googleapis.com/edgekiln.v1.dla.TileRecipe");
  EXPECT_EQ(part.decisions().value(), "\010\001");  // serial: true.
}

// Equal decisions are equal bytes, so that a look-up finds them again.
TEST(RecipesTest, WhatDecidesNothingIsAsNothing) {
  const v1::ResolvedTarget target = Resolve(With(absl::StrReplaceAll(
      absl::StrCat("recipes { name: \"s\" doc: \"Serial.\" ", kSerial, " }"),
      {{"serial: true", "serial: false"}})));
  ASSERT_EQ(target.recipes_size(), 2);
  EXPECT_EQ(target.recipes(1).tile().engines_size(), 0);
}

// The same as bytes, with the one field encoded twice.
TEST(RecipesTest, PartsAreInOneForm) {
  const std::string raw = absl::StrCat(
      "recipes { name: \"s\" doc: \"Serial.\" tile { engine: \"dla\" "
      "provenance: ASSUMED decisions { "
      "type_url: \"type.googleapis.com/edgekiln.v1.dla.TileRecipe\" "
      "value: \"\\010\\000\\010\\001\" } } }");
  EXPECT_EQ(Resolve(With(raw)).recipes(1).SerializeAsString(),
            Resolve(With(absl::StrCat("recipes { name: \"s\" doc: \"Serial.\" ",
                                      kSerial, " }")))
                .recipes(1)
                .SerializeAsString());
}

TEST(RecipesTest, EnginesThatGiveSumsAreNamedOnce) {
  const auto recipe = [](const std::string& engines) {
    return With(
        absl::StrCat("recipes { name: \"s\" doc: \"Sums.\" ", engines, " }"));
  };
  const v1::ResolvedTarget target =
      Resolve(recipe("separate_requantization: \"dla\""));
  EXPECT_THAT(target.recipes(1).partition().separate_requantization(),
              ElementsAre(0));
  EXPECT_FALSE(target.recipes(0).has_partition());
  for (const auto& [engines, want] :
       {std::pair("separate_requantization: \"dlb\"", "did you mean \"dla\""),
        std::pair("separate_requantization: [\"dla\", \"dla\"]",
                  "the engine occurs twice")}) {
    const auto refused = ResolveTarget(recipe(engines));
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(want));
  }
}

TEST(RecipesTest, HostRoomsAreOfOpsThatThereAre) {
  const auto recipe = [](const std::string& rooms) {
    return With(
        absl::StrCat("recipes { name: \"s\" doc: \"Rooms.\" ", rooms, " }"));
  };
  const v1::ResolvedTarget target = Resolve(recipe(
      "ports_stay: true host_rooms { op: \"conv2d\" bytes_expr: \"pes * macs\" "
      "provenance: ASSUMED }"));
  const v1::TileRecipe& tile = target.recipes(1).tile();
  EXPECT_TRUE(tile.ports_stay());
  ASSERT_EQ(tile.host_rooms_size(), 1);
  EXPECT_EQ(tile.host_rooms(0).op(), "conv2d");
  EXPECT_EQ(tile.host_rooms(0).bytes_expr(), "pes * macs");
  const std::string add =
      "host_rooms { op: \"add\" bytes_expr: \"1\" "
      "provenance: ASSUMED } ";
  for (const auto& [rooms, want] :
       {std::pair(std::string("host_rooms { op: \"con\" bytes_expr: \"1\" "
                              "provenance: ASSUMED }"),
                  "no op is called \"con\""),
        std::pair(add + add, "the op occurs twice"),
        std::pair(std::string("host_rooms { op: \"add\" bytes_expr: \"1\" }"),
                  "provenance is missing"),
        std::pair(std::string("host_rooms { op: \"add\" provenance: READ }"),
                  "it keeps nothing"),
        std::pair(std::string("host_rooms { op: \"add\" provenance: READ "
                              "bytes_expr: \"1 +\" }"),
                  "host_rooms \"add\": bytes_expr"),
        std::pair(std::string("host_rooms { op: \"add\" provenance: READ "
                              "code_bytes_expr: \"rows\" }"),
                  "host_rooms \"add\": code_bytes_expr")}) {
    const auto refused = ResolveTarget(recipe(rooms));
    ASSERT_FALSE(refused.ok()) << rooms;
    EXPECT_THAT(std::string(refused.status().message()), HasSubstr(want));
  }
}

TEST(RecipesTest, TouchNeitherMachineNorCapabilities) {
  const v1::ResolvedTarget with = Resolve(BuiltinTargets().front().text);
  const v1::ResolvedTarget without = Resolve(With(""));
  EXPECT_GT(with.recipes_size(), 1);
  EXPECT_EQ(with.machine().SerializeAsString(),
            without.machine().SerializeAsString());
  EXPECT_EQ(with.capabilities().SerializeAsString(),
            without.capabilities().SerializeAsString());
}

TEST(RecipesTest, AreThoseOfTheExtendedTarget) {
  const v1::ResolvedTarget target =
      Resolve("extends: \"dla-64-o-512k\" set { name: \"pes\" value: 96 }");
  EXPECT_EQ(Names(target), Names(Resolve(BuiltinTargets().front().text)));
}

TEST(RecipesTest, BuiltinTargetsListWhatTheyResolveTo) {
  for (const BuiltinTarget& target : BuiltinTargets()) {
    const v1::ResolvedTarget resolved = Resolve(target.text);
    ASSERT_EQ(resolved.recipes_size(), static_cast<int>(target.recipes.size()))
        << target.name;
    for (int i = 0; i < resolved.recipes_size(); ++i) {
      EXPECT_EQ(resolved.recipes(i).name(), target.recipes[i].name);
      EXPECT_EQ(resolved.recipes(i).doc(), target.recipes[i].doc);
    }
  }
}

struct BadRecipe {
  std::string name;
  std::string recipes;
  std::string message;
};

class BadRecipeTest : public testing::TestWithParam<BadRecipe> {};

TEST_P(BadRecipeTest, IsRefused) {
  const auto resolved = ResolveTarget(With(GetParam().recipes));
  ASSERT_FALSE(resolved.ok());
  EXPECT_THAT(std::string(resolved.status().message()),
              HasSubstr(GetParam().message));
}

std::string Named(const std::string& name) {
  return absl::StrCat("recipes { name: \"", name, "\" doc: \"D.\" }");
}

std::string Doc(const std::string& doc) {
  return absl::StrCat("recipes { name: \"x\" doc: \"", doc, "\" }");
}

std::string Tile(const std::string& from, const std::string& to) {
  return absl::StrReplaceAll(
      absl::StrCat("recipes { name: \"x\" doc: \"D.\" ", kSerial, " }"),
      {{from, to}});
}

std::string Many(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    absl::StrAppend(&text, Named(absl::StrCat("r", i)), "\n");
  }
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    All, BadRecipeTest,
    testing::ValuesIn(std::vector<BadRecipe>{
        {"NoName", Named(""),
         "recipe \"\": not a name for a recipe; where: "
         "name; limit: 1 to 64 bytes"},
        {"LongName", Named(std::string(65, 'a')), "limit: 1 to 64 bytes"},
        {"Capitals", Named("Serial"), "lower-case letters"},
        {"BeginsWithADash", Named("-x"), "lower-case letters"},
        {"Space", Named("a b"), "lower-case letters"},
        {"ControlCharacter", Named("a\\033[31m"), "lower-case letters"},
        {"NewLine", Named("a\\n"), "lower-case letters"},
        {"NotAscii", Named("\xC3\xA9"), "lower-case letters"},
        {"NotUtf8", Named("\\377"), "a text is not UTF-8; where: recipes.name"},
        {"Twice", Named("x") + Named("x"),
         "two recipes have the same name; where: recipe \"x\"; fix: rename"},
        {"NoDoc", Doc(""),
         "recipe \"x\": a recipe needs a one-line `doc` that says what it "
         "is for; where: doc; limit: 1 to 200 bytes"},
        {"LongDoc", Doc(std::string(201, 'a')), "need: 201 bytes"},
        {"TwoLines", Doc("a\\nb"), "one-line"},
        {"TooMany", Many(65), "where: recipes; limit: 64; need: 65"},
        {"UnknownKey", "recipes { nam: \"x\" }", "did you mean \"name\"?"},
        {"NoSuchEngine", Tile("\"dla\"", "\"dlb\""),
         "recipe \"x\": tile of \"dlb\": the target has no engine \"dlb\"; "
         "where: engine; fix: did you mean \"dla\"?"},
        {"EngineTwice",
         absl::StrCat("recipes { name: \"x\" doc: \"D.\" ", kSerial, kSerial,
                      " }"),
         "the engine occurs twice"},
        {"NoProvenance", Tile("provenance: ASSUMED", ""),
         "provenance is missing; where: provenance; fix: PUBLISHED, READ"},
        {"NoDecisions",
         "recipes { name: \"x\" doc: \"D.\" tile { engine: \"dla\" "
         "provenance: ASSUMED } }",
         "decides nothing for the engine; where: decisions"},
        {"UnknownDecision", Tile("serial: true", "seral: true"),
         "did you mean \"serial\"?"},
        {"AnotherMessage",
         Tile("edgekiln.v1.dla.TileRecipe] { serial: true }",
              "edgekiln.v1.Setting] { name: \"x\" }"),
         "the engine model cannot read the decisions; where: decisions; need: "
         "edgekiln.v1.dla.TileRecipe; fix: write decisions {"},
        {"NoSuchMessage", Tile("dla.TileRecipe", "dla.TileRecipes"), "line"},
        {"NotAMessage",
         Tile("[type.googleapis.com/edgekiln.v1.dla.TileRecipe] { serial: true "
              "}",
              "type_url: \"type.googleapis.com/edgekiln.v1.dla.TileRecipe\" "
              "value: \"\\377\""),
         "the decisions are not in the form of the message; where: decisions; "
         "need: edgekiln.v1.dla.TileRecipe"},
        {"UnknownField",
         Tile("[type.googleapis.com/edgekiln.v1.dla.TileRecipe] { serial: true "
              "}",
              "type_url: \"type.googleapis.com/edgekiln.v1.dla.TileRecipe\" "
              "value: \"\\030\\001\""),
         "the decisions are not in the form of the message; where: decisions; "
         "need: edgekiln.v1.dla.TileRecipe"}}),
    [](const auto& info) { return info.param.name; });

TEST(RecipesTest, UpToTheLimitsIsFine) {
  EXPECT_EQ(Resolve(With(Many(64))).recipes_size(), 65);
  const v1::ResolvedTarget target = Resolve(With(Named(std::string(64, 'a'))));
  EXPECT_EQ(target.recipes(1).name().size(), 64u);
  EXPECT_EQ(Resolve(With(Named("0a_b-c"))).recipes(1).name(), "0a_b-c");
  EXPECT_EQ(Resolve(With(Doc(std::string(200, 'a')))).recipes(1).doc().size(),
            200u);
}

TEST(UnknownRecipeTest, NamesTargetRecipesAndTheNearest) {
  const std::vector<std::string> names = {"default", "serial"};
  const absl::Status near = UnknownRecipe("seriell", "chip", names);
  EXPECT_EQ(near.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(near.message(),
            "the target has no recipe \"seriell\"; where: target 'chip'; need: "
            "one of: default, serial; fix: did you mean \"serial\"?");
  EXPECT_THAT(std::string(UnknownRecipe("fast", "chip", names).message()),
              HasSubstr("fix: leave --recipe out for \"default\""));
  // Of hostile origin.
  EXPECT_THAT(std::string(UnknownRecipe("\x1b[31m\n", "chip", names).message()),
              HasSubstr("no recipe \"?[31m?\""));
}

}  // namespace
}  // namespace edgekiln::target
