#include "client/check/cell_names.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>
#include <vector>

namespace edgekiln::client {
namespace {

v1::SweepRow Row(const std::string& text) {
  v1::SweepRow row;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &row));
  return row;
}

std::vector<CellNames> Named(const std::vector<std::string>& rows) {
  v1::Project project;
  project.add_groups();
  project.add_groups()->set_name("tight");
  project.add_groups();
  std::vector<v1::SweepRow> parsed;
  for (const std::string& text : rows) parsed.push_back(Row(text));
  return NameCells(parsed, project);
}

TEST(CellNamesTest, SayWhatTellsCellsApart) {
  const struct {
    const char* row;
    const char* name;
    const char* file;
  } kCases[] = {
      {"model: 'resnet8' target: 'dla-64' recipe: 'default'",
       "resnet8 on dla-64", "resnet8@dla-64.baseline.json"},
      {"model: 'resnet8' target: 'dla-64' recipe: 'serial'",
       "resnet8 on dla-64, recipe serial",
       "resnet8@dla-64+serial.baseline.json"},
      {"group: 1 model: 'net' target: 't' values { key: 'pes' value: '32' } "
       "values { key: 'seed' dropped: true }",
       "tight: net on t, pes=32, seed=-",
       "tight+net@t+pes=32+seed=-.baseline.json"},
  };
  for (const auto& row : kCases) {
    const std::vector<CellNames> names = Named({row.row});
    EXPECT_EQ(names[0].name, row.name);
    EXPECT_EQ(names[0].file, row.file);
    EXPECT_TRUE(IsBaselineName(names[0].file));
  }
}

TEST(CellNamesTest, HostileNamesAreLettersAndTheirDigest) {
  const std::vector<std::string> models = {
      "a/b", "a b", "../../etc/x", ".hidden",
      "",    "-rf", "\\n::error",  "a@b",
      "ü",   "CON", "a+b=c",       std::string(500, 'x')};
  std::vector<std::string> rows;
  for (const std::string& model : models) {
    rows.push_back("model: '" + model + "' target: 't'");
  }
  std::set<std::string> files;
  for (const CellNames& one : Named(rows)) {
    EXPECT_TRUE(IsBaselineName(one.file)) << one.file;
    EXPECT_LE(one.file.size(), 150u);
    EXPECT_EQ(one.file.find('/'), std::string::npos);
    EXPECT_NE(one.file[0], '.');
    EXPECT_TRUE(files.insert(one.file).second) << one.file;
  }
}

TEST(CellNamesTest, AreUniqueAlsoWithoutCase) {
  const std::vector<CellNames> names = Named(
      {"model: 'Net' target: 't'", "model: 'net' target: 't'",
       "group: 2 model: 'net' target: 't'", "group: 2 model: 'net' target: 't'",
       "model: 'other' target: 't'"});
  std::set<std::string> shown;
  std::set<std::string> files;
  for (const CellNames& one : names) {
    EXPECT_TRUE(shown.insert(one.name).second) << one.name;
    std::string lower = one.file;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    EXPECT_TRUE(files.insert(lower).second) << one.file;
  }
  EXPECT_EQ(names[2].name, "net on t, group 3");
  EXPECT_EQ(names[4].file, "other@t.baseline.json");
}

TEST(CellNamesTest, DoNotDependOnTheirOrder) {
  const std::vector<std::string> rows = {"model: 'Net' target: 't'",
                                         "model: 'net' target: 't'",
                                         "model: 'a b' target: 't'"};
  const std::vector<CellNames> forth = Named(rows);
  const std::vector<CellNames> back = Named({rows[2], rows[1], rows[0]});
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(forth[i].file, back[rows.size() - 1 - i].file);
  }
}

TEST(CellNamesTest, OtherFilesAreNotBaselines) {
  for (const char* name :
       {"", "x.json", ".baseline.json", "a/b.baseline.json", "..baseline.json",
        ".x.baseline.json", "a b.baseline.json", "a\n.baseline.json"}) {
    EXPECT_FALSE(IsBaselineName(name)) << name;
  }
}

}  // namespace
}  // namespace edgekiln::client
