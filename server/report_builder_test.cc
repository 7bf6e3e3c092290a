#include "server/report_builder.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "gtest/gtest.h"

namespace edgekiln::server {
namespace {

v1::StageSummary::Target Target() {
  v1::StageSummary::Target target;
  target.mutable_machine()->set_clock_hz(2'000'000);
  target.mutable_machine()->add_engine_names("array");
  target.mutable_machine()->add_engine_macs_per_cycle(10);
  target.mutable_machine()->add_engine_bytes_per_cycle(4);
  target.mutable_machine()->set_host_name("cpu");
  return target;
}

TEST(ReportBuilderTest, JoinsStaticAndMeasuredLayers) {
  v1::StageSummary::Emit emit;
  v1::SimReport simulated;
  const struct {
    int engine;
    int64_t macs;
    int64_t cycles;
    v1::Fidelity fidelity;
    const char* name;
    double utilization;
    int64_t job_cycles = 0;
  } kLayers[] = {
      {0, 500, 100, v1::EXACT, "array", 0.5, 90},
      {0, 5000, 100, v1::CYCLE_APPROXIMATE, "array", 1},  // Never above 1.
      {-1, 500, 100, v1::EXACT, "cpu", 0},
      {0, 0, 0, v1::ESTIMATE, "array", 0},         // No cycles: taints no sum.
      {7, 10, 10, v1::EXACT, "cpu", 0},            // Unknown engine.
      {0, 500, 0, v1::EXACT, "array", 0.25, 200},  // Beside another layer.
  };
  for (const auto& layer : kLayers) {
    v1::Program::Layer& fixed = *emit.add_layers();
    fixed.set_engine(layer.engine);
    fixed.set_kind(layer.cycles == 10 ? v1::REQUANT : v1::CONV);
    fixed.set_tiles(2);
    fixed.set_macs(layer.macs);
    v1::SimReport::LayerCycles& measured = *simulated.add_layers();
    measured.set_cycles(layer.cycles);
    measured.set_job_cycles(layer.job_cycles);
    measured.set_fidelity(layer.fidelity);
    measured.set_dma_bytes_read(layer.macs + 1);
    measured.mutable_stalls()->set_control_cycles(layer.macs + 2);
    fixed.set_predicted_cycles(layer.macs + 3);
    fixed.set_bound_cycles(layer.macs + 4);
    fixed.set_compulsory_bytes(layer.macs + 5);
  }
  simulated.set_cycles(310);
  simulated.set_dma_bytes_read(3);
  simulated.add_engines()->set_busy_cycles(250);
  simulated.add_engines()->set_busy_cycles(10);
  simulated.mutable_engines(0)->add_units("pe");
  simulated.mutable_engines(0)->add_segments()->set_end(9);
  for (const int engine : {0, 9}) {
    emit.add_bounds()->set_engine(engine);
    emit.mutable_bounds()->rbegin()->set_cycles(240);
  }
  emit.add_tensors()->set_name("x");
  emit.set_ram_bytes(5);
  for (const char* name : {"rom", "dtcm"}) emit.add_memories()->set_name(name);
  v1::Report report;
  AddProgram(Target(), emit, simulated, v1::IO_INTEGER, report);
  ASSERT_EQ(report.layers_size(), 6);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(report.layers(i).engine(), kLayers[i].name) << i;
    EXPECT_DOUBLE_EQ(report.layers(i).utilization(), kLayers[i].utilization)
        << i;
    EXPECT_EQ(report.layers(i).dma_bytes_read(), kLayers[i].macs + 1);
    EXPECT_EQ(report.layers(i).stalls().control_cycles(), kLayers[i].macs + 2);
    EXPECT_EQ(report.layers(i).predicted_cycles(), kLayers[i].macs + 3);
    EXPECT_EQ(report.layers(i).bound_cycles(), kLayers[i].macs + 4);
    EXPECT_EQ(report.layers(i).compulsory_bytes(), kLayers[i].macs + 5);
  }
  EXPECT_EQ(report.engines(0).bound_cycles(), 240);
  EXPECT_EQ(report.engines(1).bound_cycles(), 0);
  // About one MAC per byte, at 4 bytes a cycle of 10 MACs; none on the host.
  EXPECT_NEAR(report.layers(1).macs_per_byte(), 1, 0.01);
  EXPECT_NEAR(report.layers(1).roofline_macs_per_cycle(), 4, 0.01);
  EXPECT_EQ(report.layers(2).roofline_macs_per_cycle(), 0);
  // The second is of an engine that the machine does not know: the host.
  ASSERT_EQ(report.kinds_size(), 3);
  int64_t cycles = 0;
  for (const v1::Report::Kind& kind : report.kinds()) cycles += kind.cycles();
  EXPECT_EQ(cycles, 310);
  for (const auto& [engine, kind, layers] :
       {std::tuple("array", v1::CONV, 4), std::tuple("cpu", v1::CONV, 1),
        std::tuple("cpu", v1::REQUANT, 1)}) {
    const auto found = std::find_if(
        report.kinds().begin(), report.kinds().end(), [&](const auto& each) {
          return each.engine() == engine && each.kind() == kind;
        });
    ASSERT_NE(found, report.kinds().end()) << engine;
    EXPECT_EQ(found->layers(), layers) << engine;
    EXPECT_EQ(found->tiles(), 2 * layers) << engine;
  }
  EXPECT_EQ(report.engines(0).units(0), "pe");
  EXPECT_EQ(report.engines(0).segments(0).end(), 9);
  EXPECT_EQ(report.tensors(0).name(), "x");
  EXPECT_EQ(report.totals().cycles(), 310);
  EXPECT_EQ(report.totals().macs(), 6510);
  EXPECT_EQ(report.totals().engine_macs(), 6000);
  EXPECT_EQ(report.totals().host_cycles(), 110);
  EXPECT_DOUBLE_EQ(report.totals().latency_ms(), 0.155);
  EXPECT_EQ(report.totals().fidelity(), v1::CYCLE_APPROXIMATE);
  EXPECT_EQ(report.totals().dma_bytes_read(), 3);
  EXPECT_EQ(report.engines(0).busy_cycles(), 250);
  EXPECT_FALSE(report.engines(0).host());
  EXPECT_TRUE(report.engines(1).host());
  EXPECT_EQ(report.memory().ram_bytes(), 5);
  ASSERT_EQ(report.memory().memories_size(), 2);
  EXPECT_EQ(report.memory().memories(0).name(), "rom");
  EXPECT_EQ(report.memory().memories(1).name(), "dtcm");
}

TEST(ReportBuilderTest, NamesTheChoiceThatKeepsALayerOnTheHost) {
  v1::SchemeChoice choice;
  // By layer: the engines of its forms, and which was chosen.
  const std::tuple<const char*, const char*, const char*, int> kRows[] = {
      {"kept", "", "array", 0}, {"moved", "", "array", 1}, {"host", "", "", 1}};
  v1::Report report;
  for (const auto& [id, first, second, chosen] : kRows) {
    v1::SchemeChoice::Layer& layer = *choice.add_layers();
    layer.set_id(id);
    layer.set_chosen(chosen);
    layer.set_reason("others alone exceed the budget");
    layer.add_options()->set_engine(first);
    layer.mutable_options(0)->set_weights(v1::LayerScheme::INT8);
    layer.add_options()->set_engine(second);
    report.add_layers()->set_id(id);
    report.mutable_layers()->rbegin()->set_reason("array needs a converter");
  }
  NameChoices(choice, report);
  EXPECT_EQ(report.layers(0).reason(),
            "int8 weights were chosen: others alone exceed the budget; array "
            "needs a converter");
  EXPECT_EQ(report.layers(1).reason(), "array needs a converter");
  EXPECT_EQ(report.layers(2).reason(), "array needs a converter");
}

TEST(ReportBuilderTest, SurvivesFewerMeasurementsThanLayers) {
  v1::StageSummary::Emit emit;
  emit.add_layers();
  emit.add_layers();
  v1::Report report;
  AddProgram({}, emit, {}, v1::IO_INTEGER, report);
  EXPECT_EQ(report.layers_size(), 2);
  EXPECT_EQ(report.totals().latency_ms(), 0);
}

TEST(ReportBuilderTest, SumsChunks) {
  v1::StageSummary::Samples total;
  v1::StageSummary::Samples chunk;
  chunk.set_samples(16);
  chunk.set_labelled(10);
  chunk.set_correct(9);
  chunk.set_outputs_compared(1000);
  Add(chunk, total);
  chunk.set_mismatches(2);
  chunk.set_first_mismatch("layer conv1");
  Add(chunk, total);
  chunk.set_first_mismatch("layer conv2");
  Add(chunk, total);
  v1::Report report;
  AddBitExact(total, report);
  EXPECT_EQ(report.bit_exact().outputs_compared(), 3000);
  EXPECT_EQ(report.bit_exact().mismatches(), 4);
  EXPECT_EQ(report.bit_exact().first_mismatch(), "layer conv1");
  EXPECT_EQ(total.labelled(), 30);
  EXPECT_EQ(total.correct(), 27);
}

TEST(ReportBuilderTest, AppendsWhatIsBySample) {
  v1::StageSummary::Samples total;
  for (const int sample : {3, 4}) {
    v1::StageSummary::Samples chunk;
    chunk.add_predicted(sample);
    chunk.add_label(-sample);
    chunk.add_score(0.5 * sample);
    Add(chunk, total);
  }
  EXPECT_EQ(total.ShortDebugString(),
            "predicted: 3 predicted: 4 label: -3 label: -4 score: 1.5 score: "
            "2");
}

// Of published tables of the score interval, with z = 1.96.
TEST(ReportBuilderTest, AccuracyHasTheWilsonInterval) {
  const struct {
    int64_t correct, labelled;
    double low, high;
  } kCases[] = {
      {8, 10, 0.4902, 0.9433},
      {0, 5, 0, 0.4345},
      {5, 5, 0.5655, 1},
      {85, 100, 0.7672, 0.9069},
      {9000, 10000, 0.8940, 0.9057},
      {1, 2, 0.0945, 0.9055},
  };
  for (const auto& one : kCases) {
    const v1::AccuracyInterval interval = IntervalOf(one.correct, one.labelled);
    EXPECT_NEAR(interval.low(), one.low, 5e-5) << one.correct;
    EXPECT_NEAR(interval.high(), one.high, 5e-5) << one.correct;
    EXPECT_DOUBLE_EQ(interval.value(), static_cast<double>(one.correct) /
                                           static_cast<double>(one.labelled));
  }
}

TEST(ReportBuilderTest, RunningTotalsHaveAccuracyOnceThereAreLabels) {
  v1::StageSummary::Samples samples;
  samples.set_samples(16);
  EXPECT_FALSE(ProgressOf(samples, 40, 1, v1::METRIC_TOP1).has_accuracy());
  samples.set_labelled(16);
  samples.set_correct(12);
  samples.set_mismatches(3);
  samples.set_correct_top5(14);
  const v1::JobEvent::Samples progress =
      ProgressOf(samples, 40, 1, v1::METRIC_TOP1);
  EXPECT_DOUBLE_EQ(progress.accuracy().value(), 0.75);
  EXPECT_EQ(progress.done(), 16);
  EXPECT_EQ(progress.total(), 40);
  EXPECT_EQ(progress.mismatches(), 3);
  EXPECT_EQ(progress.target(), 1);
  const v1::JobEvent::Samples top5 =
      ProgressOf(samples, 40, 1, v1::METRIC_TOP5);
  EXPECT_EQ(top5.correct(), 14);
  EXPECT_DOUBLE_EQ(top5.accuracy().value(), 0.875);
  // Not known before the end: top1 would be taken for it.
  const v1::JobEvent::Samples auc = ProgressOf(samples, 40, 1, v1::METRIC_AUC);
  EXPECT_EQ(auc.labelled(), 0);
  EXPECT_FALSE(auc.has_accuracy());
  EXPECT_EQ(auc.done(), 16);
}

TEST(ReportBuilderTest, WhatIsCountedIsBounded) {
  v1::Report report;
  report.mutable_totals()->set_cycles(7);
  report.add_tensors()->set_name("x");
  report.add_engines()->add_segments();
  for (int layer = 0; layer < 100; ++layer) {
    report.add_layers()->set_id(std::string(200, 'x'));
  }
  v1::JobEvent::Counted counted = CountedOf(2, report);
  EXPECT_EQ(counted.target(), 2);
  EXPECT_EQ(counted.report().totals().cycles(), 7);
  EXPECT_EQ(counted.report().layers_size(), 100);
  EXPECT_EQ(counted.layers_left_out(), 0);
  EXPECT_EQ(counted.report().tensors_size(), 0);
  EXPECT_EQ(counted.report().engines(0).segments_size(), 0);
  for (int layer = 0; layer < 100; ++layer) {
    report.add_layers()->set_id(std::string(200, 'x'));
  }
  counted = CountedOf(2, report);
  EXPECT_EQ(counted.report().layers_size(), 0);
  EXPECT_EQ(counted.layers_left_out(), 200);
  EXPECT_LE(counted.report().ByteSizeLong(), kMaxCountedBytes);
}

TEST(ReportBuilderTest, SaysNothingAboutNothing) {
  v1::Report report;
  AddBitExact({}, report);
  EXPECT_FALSE(report.has_bit_exact());
}

TEST(ReportBuilderTest, SaysHowTheTargetIsQuantizedFor) {
  v1::QuantizationNeeds needs;
  EXPECT_EQ(QuantizationText(needs, {}), "");
  needs.add_per_tensor("conv2d");
  needs.set_symmetric_activations(true);
  needs.set_power_of_two_scales(true);
  needs.set_equal_addends(true);
  needs.set_rounding(v1::FLOOR);
  EXPECT_EQ(QuantizationText(needs, {}),
            "one weight scale per layer in conv2d; zero points 0; power-of-two "
            "scales; one scale for what is added; results rounded down");
  v1::QuantizationNeeds::Op op;
  op.set_op("conv2d");
  op.set_accumulator_bits(16);
  v1::QuantizationNeeds sums;
  *sums.add_ops() = op;
  EXPECT_EQ(QuantizationText(sums, {}),
            "sums of products within 16 bits in conv2d");
}

}  // namespace
}  // namespace edgekiln::server
