#include "client/lsp/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/lsp/hover.h"
#include "client/lsp/testing/sample.h"

namespace edgekiln::client::lsp {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

const Schema& TheSchema() {
  static const Schema& schema = *new Schema();
  return schema;
}

KnownTargets Known() {
  KnownTargets known;
  known.list = {{"npu", "A small one."}, {"npu-2", "A larger one."}};
  known.parameters["npu"] = ParametersOf(kSampleTarget);
  return known;
}

// `marked` with "|" where the cursor is.
struct Place {
  std::string text;
  size_t offset;
};
Place PlaceOf(const std::string& marked) {
  const size_t offset = marked.find('|');
  return {marked.substr(0, offset) + marked.substr(offset + 1), offset};
}

std::vector<CompletionItem> Complete(const std::string& marked, int kind = 0,
                                     bool snippets = false) {
  const Place place = PlaceOf(marked);
  return CompleteAt(place.text, ParseSyntax(place.text), place.offset,
                    TheSchema().kinds()[kind], TheSchema(), Known(), snippets);
}

std::vector<std::string> Labels(const std::string& marked, int kind = 0) {
  std::vector<std::string> labels;
  for (const CompletionItem& item : Complete(marked, kind)) {
    labels.push_back(item.label);
  }
  return labels;
}

// The text once the item of that label is taken.
std::string Taken(const std::string& marked, const std::string& label,
                  bool snippets = false) {
  std::string text = PlaceOf(marked).text;
  for (const CompletionItem& item : Complete(marked, 0, snippets)) {
    if (item.label != label) continue;
    text.replace(item.span.begin, item.span.end - item.span.begin, item.text);
    return text;
  }
  return "no such item";
}

TEST(CompletionTest, Keys) {
  EXPECT_THAT(Labels("|"), IsSupersetOf({"extends", "set", "memories"}));
  EXPECT_THAT(Labels("set { | }"), ElementsAre("name", "value"));
  // What is there once is not offered again; what may be repeated is.
  EXPECT_THAT(Labels("name: \"x\"\nset { }\n|"), Contains("set"));
  EXPECT_THAT(Labels("name: \"x\"\n|"), Not(Contains("name")));
  EXPECT_THAT(Labels("engines { patterns { numerics { | } } }"),
              Contains("accumulator_bits"));
  EXPECT_THAT(Labels("recipes { tile { decisions {\n"
                     "[type.googleapis.com/edgekiln.v1.dla.TileRecipe] { | }"),
              ElementsAre("serial", "channels_only"));
  EXPECT_THAT(Labels("# |"), ElementsAre());
  EXPECT_THAT(Labels("nothing { | }"), ElementsAre());
  EXPECT_THAT(Labels("groups { models { | } }", 1), Contains("calibration"));
  EXPECT_THAT(Labels("|", 2), ElementsAre("groups", "baselines", "regression"));
}

TEST(CompletionTest, KeysReplaceTheWord) {
  EXPECT_EQ(Taken("ext|", "extends"), "extends: \"");
  EXPECT_EQ(Taken("ext|", "extends", true), "extends: \"$0\"");
  EXPECT_EQ(Taken("set { na|me: \"x\" }", "value"), "set { value: \"x\" }");
  EXPECT_EQ(Taken("me|", "memories", true), "memories {\n  $0\n}");
  EXPECT_EQ(Taken("|", "set", true), "set { name: \"$1\" value: $0 }");
  EXPECT_EQ(Taken("schema_v|", "schema_version"), "schema_version: ");
}

TEST(CompletionTest, Values) {
  EXPECT_THAT(Labels("parameters { provenance: | }"),
              ElementsAre("PUBLISHED", "READ", "FITTED", "ASSUMED"));
  EXPECT_EQ(Taken("parameters { provenance: PU|B }", "READ"),
            "parameters { provenance: READ }");
  EXPECT_THAT(Labels("recipes { round_trips: | }"),
              ElementsAre("true", "false"));
  EXPECT_THAT(Labels("extends: \"|\""), ElementsAre("npu", "npu-2"));
  EXPECT_EQ(Taken("extends: |", "npu"), "extends: \"npu\"");
  EXPECT_EQ(Taken("extends: \"n|", "npu-2"), "extends: \"npu-2");
  const std::string named =
      "engines { name: \"e\" } memories { name: \"m\" reached_by: \"|\" }";
  EXPECT_THAT(Labels(named), ElementsAre("e", "host"));
  EXPECT_THAT(Labels("memories { name: \"m\" } links { from: \"|\" }"),
              ElementsAre("m"));
  EXPECT_THAT(Labels("groups { targets { name: \"|\" } }", 1),
              ElementsAre("npu", "npu-2"));
}

TEST(CompletionTest, Parameters) {
  const std::string base = "extends: \"npu\"\n";
  EXPECT_THAT(Labels(base + "set { name: \"|\" }"),
              ElementsAre("pes", "sram_bytes"));
  // One that is set already is not offered.
  EXPECT_THAT(Labels(base + "set { name: \"pes\" value: 1 }\n"
                            "set { name: \"|\" }"),
              ElementsAre("sram_bytes"));
  EXPECT_THAT(Labels(base + "set { name: \"pes\" value: | }"),
              ElementsAre("64", "1", "1024"));
  const auto items = Complete(base + "set { name: \"|\" }");
  ASSERT_FALSE(items.empty());
  EXPECT_EQ(items[0].detail, "1 to 1024 elements, default 64");
  EXPECT_THAT(items[0].doc, HasSubstr("Processing elements"));
  EXPECT_THAT(items[0].doc, HasSubstr("PUBLISHED: The paper."));
  const std::string escaped = "doc: \"a \\\"b\\\"\" 'c' # d\n";
  const Syntax syntax = ParseSyntax(escaped);
  EXPECT_EQ(DecodedString(escaped, syntax.fields[0]), "a \"b\"c");
  // Of the file itself, in its expressions.
  const std::string own =
      "parameters { name: \"lanes\" } clock_hz_expr: \"2 * la|\"";
  EXPECT_THAT(Labels(own), IsSupersetOf({"lanes", "ceildiv"}));
  EXPECT_EQ(Taken(own, "lanes"),
            "parameters { name: \"lanes\" } clock_hz_expr: \"2 * lanes\"");
}

// Everywhere, in texts as they are while people type.
TEST(CompletionTest, TakesEveryPlace) {
  const std::string sample = kSampleTarget;
  for (size_t length = 0; length <= sample.size(); length += 3) {
    const std::string text = sample.substr(0, length);
    const Syntax syntax = ParseSyntax(text);
    for (size_t at = length > 60 ? length - 60 : 0; at <= length; ++at) {
      for (const CompletionItem& item :
           CompleteAt(text, syntax, at, TheSchema().kinds()[0], TheSchema(),
                      Known(), true)) {
        ASSERT_LE(item.span.begin, at);
        ASSERT_GE(item.span.end, at);
        ASSERT_LE(item.span.end, text.size());
      }
      HoverAt(text, syntax, at, TheSchema().kinds()[0], TheSchema(), Known());
    }
  }
}

std::string Hover(const std::string& marked) {
  const Place place = PlaceOf(marked);
  const auto hover = HoverAt(place.text, ParseSyntax(place.text), place.offset,
                             TheSchema().kinds()[0], TheSchema(), Known());
  return hover.has_value()
             ? absl::StrCat(hover->span.In(place.text), ": ", hover->markdown)
             : "";
}

TEST(HoverTest, SaysWhatIsKnown) {
  EXPECT_THAT(Hover("ext|ends: \"npu\""),
              HasSubstr("extends: **extends**: string\n\nStart from a"));
  EXPECT_THAT(Hover("extends: \"n|pu\""), HasSubstr("A small one."));
  EXPECT_THAT(Hover("parameters { provenance: FIT|TED }"),
              HasSubstr("Chosen so that"));
  EXPECT_THAT(Hover("parameters { prov|enance: FITTED }"),
              HasSubstr("- `READ`: Read from public sources"));
  EXPECT_THAT(Hover("extends: \"npu\" set { name: \"pes\" value: 9|6 }"),
              HasSubstr("96: **pes** (parameter)\n\nProcessing elements\n\n"
                        "1 to 1024 elements, default 64"));
  EXPECT_THAT(Hover("extends: \"npu\" set { name: \"p|es\" value: 96 }"),
              HasSubstr("Processing elements"));
  EXPECT_THAT(Hover("parameters { name: \"lanes\" doc: \"L.\" } "
                    "clock_hz_expr: \"2 * la|nes + 1\""),
              HasSubstr("lanes: **lanes** (parameter)\n\nL."));
  EXPECT_EQ(Hover("unknown|: 3"), "");
  EXPECT_EQ(Hover("# com|ment"), "");
  EXPECT_EQ(Hover("doc: \"te|xt\""), "");
}

TEST(SymbolsTest, AreTheEntries) {
  const std::string text = kSampleTarget;
  const std::vector<Symbol> symbols = SymbolsOf(text, ParseSyntax(text));
  std::vector<std::string> names;
  for (const Symbol& symbol : symbols) {
    names.push_back(absl::StrCat(symbol.detail, " ", symbol.name));
  }
  EXPECT_THAT(names,
              ElementsAre("parameters pes", "parameters sram_bytes",
                          "constraints pes * 16 <= sram_bytes", "memories sram",
                          "engines npu", "recipes serial"));
  ASSERT_EQ(symbols[4].children.size(), 2u);
  EXPECT_EQ(symbols[4].children[0].name, "conv2d");
  EXPECT_EQ(symbols[4].children[1].children[0].name, "MAC");
}

}  // namespace
}  // namespace edgekiln::client::lsp
