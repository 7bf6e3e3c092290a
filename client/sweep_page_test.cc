#include "client/sweep_page.h"

#include <google/protobuf/util/json_util.h>

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/error.h"
#include "google/protobuf/struct.pb.h"
#include "gtest/gtest.h"

namespace edgekiln::client {
namespace {

void Add(int cell, const std::string& model, int64_t cycles, SweepRows& rows) {
  v1::JobEvent event;
  v1::SweepRow& row = *event.mutable_row();
  row.set_cell(cell);
  row.set_model(model);
  row.set_target("dla");
  row.set_recipe("default");
  v1::SweepRow::Value& value = *row.add_values();
  value.set_key("sram");
  value.set_value(absl::StrCat(cell, "KiB"));
  if (cycles > 0) {
    row.set_state(v1::SweepRow::DONE);
    row.mutable_report()->mutable_totals()->set_cycles(cycles);
    v1::MemoryUse& use =
        *row.mutable_report()->mutable_memory()->add_memories();
    use.set_name("sram");
    use.set_used_bytes(100 * cell);
  } else {
    row.set_state(v1::SweepRow::REFUSED);
    row.mutable_error()->set_what("</script><script>alert(1)");
  }
  rows.Apply(event);
}

SweepRows Planned() {
  SweepRows rows{v1::SweepRequest()};
  v1::JobEvent event;
  event.mutable_planned()->add_keys("sram");
  rows.Apply(event);
  return rows;
}

TEST(SweepPageTest, HoldsTheRowsWithTheirMarks) {
  SweepRows rows = Planned();
  Add(1, "net", 500, rows);
  Add(0, "net", 900, rows);
  Add(2, "net", 700, rows);  // Slower than 1, and larger.
  Add(3, "net", 0, rows);
  const absl::StatusOr<std::string> page = SweepPage("j1", rows, {});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_TRUE(absl::StrContains(*page, "<title>net on dla</title>"));
  EXPECT_FALSE(absl::StrContains(*page, "<script>alert"));
  const std::string mark = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page->find(mark) + mark.size();
  google::protobuf::Struct data;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(
          page->substr(begin, page->find("</script>", begin) - begin), &data)
          .ok());
  const auto& lists = data.fields().at("rows").list_value();
  ASSERT_EQ(lists.values_size(), 4);
  const auto field = [&](int row, int i) {
    return lists.values(row).list_value().values(i);
  };
  for (int cell = 0; cell < 4; ++cell) {
    EXPECT_EQ(field(cell, 0).number_value(), cell);
    EXPECT_EQ(field(cell, 12).bool_value(), cell == 1) << "best";
    EXPECT_EQ(field(cell, 13).bool_value(), cell < 2) << "front";
  }
  EXPECT_EQ(field(1, 6).number_value(), 500);
  EXPECT_EQ(field(1, 8).list_value().values(0).number_value(), 100);
  EXPECT_TRUE(field(3, 6).has_null_value());
  const auto& texts = data.fields().at("texts").list_value();
  EXPECT_EQ(
      texts.values(static_cast<int>(field(3, 1).number_value())).string_value(),
      "refused");
  EXPECT_EQ(texts.values(static_cast<int>(field(3, 14).number_value()))
                .string_value(),
            "</script><script>alert(1)");
}

TEST(SweepPageTest, ThousandsOfCellsFit) {
  SweepRows rows = Planned();
  for (int cell = 0; cell < 10'000; ++cell) Add(cell, "net", 1 + cell, rows);
  EXPECT_TRUE(SweepPage("j1", rows, {}).ok());
  for (int cell = 10'000; cell < 60'000; ++cell) Add(cell, "net", 5, rows);
  const absl::Status large = SweepPage("j1", rows, {}).status();
  EXPECT_TRUE(absl::StrContains(GetErrorDetail(large)->fix, "--csv")) << large;
}

}  // namespace
}  // namespace edgekiln::client
