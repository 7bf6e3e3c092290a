#include "reports/headline.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "client/render/model.h"
#include "client/render/report.h"

namespace edgekiln::client {
namespace {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

TEST(CommonReasonTest, LeavesOutWhatIsOfOneLayer) {
  const struct {
    const char* reason;
    const char* common;
  } kCases[] = {
      {"", ""},
      {"dla needs symmetric weights", "dla needs symmetric weights"},
      {"dla needs int8 tensors (conv1/out is float32)",
       "dla needs int8 tensors"},
      {"a needs batch 1 (here 4); b needs int8 tensors (x is bool)",
       "a needs batch 1; b needs int8 tensors"},
      {"nested (a (b) c) ends", "nested ends"},
      {"closed) twice) (", "closed twice"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(CommonReason(test.reason), test.common);
  }
}

// Two convolutions and a depthwise one on the host, a pool on the engine.
v1::Report Report(int engine_macs, int host_cycles) {
  auto report = Parse<v1::Report>(R"pb(
    model_name: "net"
    target_name: "chip"
    engines { name: "dla" }
    engines { name: "cpu" host: true }
    layers {
      op: "conv2d"
      engine: "cpu"
      cycles: 400
      reason: "dla needs extents up to 8 (a has 9)"
    }
    layers {
      op: "depthwise_conv2d"
      engine: "cpu"
      cycles: 300
      reason: "dla needs extents up to 8 (b has 12)"
    }
    layers {
      op: "softmax"
      engine: "cpu"
      cycles: 200
      reason: "no engine of this target has softmax"
    }
    layers { op: "max_pool2d" engine: "dla" cycles: 100 reason: "dla runs" }
    totals { cycles: 1000 macs: 100 io: IO_INTEGER }
  )pb");
  report.mutable_totals()->set_engine_macs(engine_macs);
  report.mutable_totals()->set_host_cycles(host_cycles);
  return report;
}

TEST(HeadlineTest, NamesTheCostliestReasonOfAllLayersThatShareIt) {
  const std::string reason =
      "dla needs extents up to 8 (conv2d, depthwise_conv2d: 2 layers, 70 % of "
      "cycles)";
  EXPECT_EQ(Headline(Report(3, 900)),
            "chip runs 3 % of this network's MACs; the host does the rest: " +
                reason);
  EXPECT_EQ(Headline(Report(0, 900)),
            "chip runs none of this network's MACs; the host does the rest: " +
                reason);
  EXPECT_EQ(
      Headline(Report(50, 900)),
      "the host takes 90 % of the cycles on chip; what costs most: " + reason);
  EXPECT_EQ(Headline(Report(50, 500)), "");
}

TEST(HeadlineTest, IsTheFirstLineOfTheReport) {
  const std::string text = RenderReport(Report(3, 900), Style::Plain());
  EXPECT_EQ(text.substr(0, text.find(':')),
            "chip runs 3 % of this network's MACs; the host does the rest");
  EXPECT_NE(text.find("host share  90.0 % of cycles   97.0 % of MACs\n"),
            std::string::npos)
      << text;
}

TEST(HeadlineTest, ReportsOfOlderDaemonsDoNotTell) {
  auto report = Report(0, 0);
  report.mutable_totals()->clear_io();
  EXPECT_EQ(Headline(report), "");
  const std::string text = RenderReport(report, Style::Plain());
  EXPECT_EQ(text.find("host share"), std::string::npos) << text;
}

TEST(HeadlineTest, ATargetWithoutEnginesIsNoNews) {
  auto report = Report(0, 900);
  report.clear_engines();
  auto* host = report.add_engines();
  host->set_name("cpu");
  host->set_host(true);
  EXPECT_EQ(Headline(report), "");
}

TEST(HeadlineTest, NothingOnEnginesAsAskedIsNoNews) {
  auto report = Report(0, 900);
  report.set_offload("none");
  EXPECT_EQ(Headline(report), "");
  report.set_offload("paying");
  EXPECT_NE(Headline(report), "");
}

TEST(HeadlineTest, OfAPlacedModelCountsMacsOrLayers) {
  auto model = Parse<v1::ModelDescription>(R"pb(
    macs: 100
    layers {
      op: "conv2d"
      macs: 90
      engine: "host"
      reason: "dla needs symmetric weights"
    }
    layers { op: "conv2d" macs: 10 engine: "dla" }
    layers { op: "tanh" engine: "host" reason: "no engine has tanh" }
  )pb");
  const std::string text =
      "the target runs 10 % of this network's MACs; the host does the rest: "
      "dla needs symmetric weights (conv2d: 1 layer, 90 % of MACs)";
  EXPECT_EQ(Headline(model, ""), text);
  EXPECT_EQ(RenderModel(model, "m", Style::Plain()).substr(0, text.size() + 1),
            text + "\n");
  EXPECT_EQ(RenderModel(model, "m", Style::Plain(), "chip").substr(0, 13),
            "chip runs 10 ");
  model.clear_macs();
  EXPECT_EQ(Headline(model, ""),
            "the target runs 1 of 3 layers; the host does the rest: dla needs "
            "symmetric weights (conv2d: 1 layer)");
  // What the caller does is no work of the target.
  for (int i = 0; i < 3; ++i) model.add_layers()->set_engine("caller");
  EXPECT_EQ(Headline(model, "").substr(0, 29), "the target runs 1 of 3 layers");
  for (auto& layer : *model.mutable_layers()) layer.clear_engine();
  EXPECT_EQ(Headline(model, ""), "");
}

}  // namespace
}  // namespace edgekiln::client
